/* SPDX-License-Identifier: MIT */
/* aditctl doctor as root: becomes the user of each service, in a child, to see what the service
 * sees.
 */
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <limits.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/wait.h"
#include "ctl/doctor/doctor.h"
#include "ctl/open_file.h"

#define USER_SIZE 64
#define SETTINGS_MAX (1024 * 1024)

/* What a child may report: its lines are short, and a few hundred at most. */
#define REPORT_MAX (4 * 1024 * 1024)

/* ---- the service ---- */

/* Writes the user that the unit names, or else the service's own. */
static void find_user(const struct doctor_service *service, char user[USER_SIZE])
{
    char unit[64];
    char *const arguments[] = {(char[]){"/usr/bin/systemctl"},
                               (char[]){"show"},
                               (char[]){"-P"},
                               (char[]){"User"},
                               unit,
                               NULL};
    struct buf out = {0};
    size_t len = 0;

    snprintf(unit, sizeof unit, "%s", service->unit);
    if (access(arguments[0], X_OK) == 0 && machine_run(arguments, &out) && !out.failed &&
        out.len > 0)
        len = strcspn(out.data, "\n");
    if (len > 0 && len < USER_SIZE && len + 1 == out.len)
        snprintf(user, USER_SIZE, "%.*s", (int)len, out.data);
    else
        snprintf(user, USER_SIZE, "%s", service->user);
    buf_free(&out);
}

static bool read_settings(const char *path, struct buf *out)
{
    int fd = ctl_open_file(path);
    ssize_t n = fd < 0 ? -1 : 1;

    while (n > 0 && out->len < SETTINGS_MAX) {
        char *room = buf_room(out, BUFSIZ);

        n = room ? read(fd, room, BUFSIZ) : -1;
        out->len += n > 0 ? (size_t)n : 0;
    }
    if (fd >= 0)
        close(fd);
    return n == 0 && !out->failed;
}

/* A running service has the settings of its start. */
static void compare_settings(struct findings *findings, const struct doctor_service *service,
                             const char *now, const char *started_with)
{
    struct buf a = {0}, b = {0};

    if (now && read_settings(now, &a) && read_settings(started_with, &b) &&
        !text_eq(buf_text(&a), buf_text(&b)))
        doctor_line(
            findings, "note", "settings",
            "%s was changed since %s started, and is not checked; run: systemctl restart %s", now,
            service->unit, service->unit);
    buf_free(&a);
    buf_free(&b);
}

/* Returns whether systemd, which may read every file, hands the service the key file; of a service
 * that does not run, whether its unit says so. */
static bool is_handed_key_file(const struct doctor_service *service)
{
    static const char line[] = "LoadCredential=adit.key:";
    char path[PATH_MAX];
    char unit[64];
    char *const arguments[] = {(char[]){"/usr/bin/systemctl"}, (char[]){"cat"}, unit, NULL};
    struct buf out = {0};
    bool is_handed;

    snprintf(path, sizeof path, "/run/credentials/%s", service->unit);
    if (access(path, F_OK) == 0)
        return true;
    snprintf(unit, sizeof unit, "%s", service->unit);
    is_handed = access(arguments[0], X_OK) == 0 && machine_run(arguments, &out) && !out.failed &&
                out.len > 0 && memmem(out.data, out.len, line, strlen(line));
    buf_free(&out);
    return is_handed;
}

/* Reads the settings that systemd gave the service, if it runs and neither --conf nor ADIT_CONF
 * names others.  Returns false after a trouble. */
static bool take_settings(struct findings *findings, struct ctl *ctl,
                          const struct doctor_service *service)
{
    char reason[CONF_REASON_SIZE];
    char path[PATH_MAX];

    snprintf(path, sizeof path, "/run/credentials/%s/adit.conf", service->unit);
    if (!ctl->options.conf_path && !getenv("ADIT_CONF") && access(path, R_OK) == 0) {
        compare_settings(findings, service, ctl->conf.path, path);
        if (!conf_read(&ctl->conf, path, reason)) {
            doctor_trouble(findings, "settings", "%s", reason);
            return false;
        }
    }
    doctor_line(findings, "ok", "settings", "%s",
                ctl->conf.path ? ctl->conf.path
                               : "no settings file; every setting has its default");
    return true;
}

/* ---- the child ---- */

/* Gives up root, for good, and root's environment. */
static bool become(const struct passwd *entry)
{
    char *name = strdup(entry->pw_name);
    char *home = strdup(entry->pw_dir);
    bool ok = name && home && initgroups(name, entry->pw_gid) == 0 && setgid(entry->pw_gid) == 0 &&
              setuid(entry->pw_uid) == 0 && setuid(0) != 0 && clearenv() == 0 &&
              setenv("PATH", "/usr/bin:/bin", 1) == 0 && setenv("USER", name, 1) == 0 &&
              setenv("LOGNAME", name, 1) == 0 && setenv("HOME", home, 1) == 0;

    free(name);
    free(home);
    return ok;
}

static void check_as(struct findings *findings, const struct ctl *caller,
                     const struct doctor_service *service, const struct passwd *entry)
{
    struct doctor_learned *learned = findings->learned;
    struct ctl ctl = {.options = caller->options, .conf = caller->conf, .line = caller->line};

    if (!take_settings(findings, &ctl, service))
        return;
    learned->has_key_file = is_handed_key_file(service);
    if (learned->has_key_file)
        learned->keyring = keyring_load(ctl.conf.key_file, learned->reason, sizeof learned->reason);
    if (service->learn)
        service->learn(&ctl, learned);
    if (!become(entry)) {
        doctor_trouble(findings, "user", "cannot become the user %s: %s", entry->pw_name,
                       strerror(errno));
        return;
    }
    doctor_line(findings, "ok", "user", "%s, for %s", ctl_user_name(), service->unit);
    ctl.pg = pg_new(ctl.conf.conninfo, &wait_alone);
    if (ctl.pg) {
        ctl_place(ctl.pg, &ctl.conf);
        service->check(findings, &ctl);
    } else {
        doctor_trouble(findings, "user", "out of memory");
    }
    pg_free(ctl.pg);
}

static void run_child(const struct ctl *ctl, const struct doctor_service *service,
                      const struct passwd *entry, int fd)
{
    struct doctor_learned learned = {.keyring = NULL};
    struct findings findings = {.relay = fdopen(fd, "w"), .learned = &learned};
    bool ok = findings.relay != NULL;

    if (ok) {
        check_as(&findings, ctl, service, entry);
        ok = fclose(findings.relay) == 0;
    }
    keyring_free(learned.keyring);
    _exit(ok ? CTL_OK : CTL_FAILED);
}

/* ---- the parent ---- */

/* Takes a field that a NUL ends.  Returns NULL without one. */
static const char *next_field(struct text *rest)
{
    const char *field = rest->s;
    const char *end = rest->len > 0 ? memchr(rest->s, '\0', rest->len) : NULL;

    if (!end)
        return NULL;
    *rest = text_part(*rest, (size_t)(end - field) + 1, rest->len);
    return field;
}

static void read_report(int fd, struct buf *report)
{
    ssize_t n = 1;

    while (n != 0 && report->len < REPORT_MAX) {
        char *room = buf_room(report, BUFSIZ);

        n = room ? read(fd, room, BUFSIZ) : 0;
        if (n < 0 && errno != EINTR)
            return;
        report->len += n > 0 ? (size_t)n : 0;
    }
}

static void print_report(struct findings *findings, const struct buf *report)
{
    struct text rest = {report->data, report->len};
    const char *level, *what, *message;

    while ((level = next_field(&rest)) && (what = next_field(&rest)) &&
           (message = next_field(&rest)))
        doctor_relay(findings, level, what, message);
}

bool doctor_as_service(struct findings *findings, const struct ctl *ctl,
                       const struct doctor_service *service)
{
    char user[USER_SIZE];
    struct buf report = {0};
    const struct passwd *entry;
    int ends[2];
    int status = -1;
    pid_t child;

    find_user(service, user);
    entry = getpwnam(user);
    if (!entry)
        return false;
    if (pipe2(ends, O_CLOEXEC) != 0) {
        doctor_trouble(findings, "user", "%s: %s", service->unit, strerror(errno));
        return true;
    }
    fflush(NULL); /* or the child would print it again */
    child = fork();
    if (child == 0)
        run_child(ctl, service, entry, ends[1]);
    close(ends[1]);
    read_report(ends[0], &report);
    close(ends[0]);
    print_report(findings, &report);
    buf_free(&report);
    if (child < 0 || waitpid(child, &status, 0) != child || status != 0)
        doctor_trouble(findings, "user", "the checks of %s as user %s ended early", service->unit,
                       user);
    return true;
}
