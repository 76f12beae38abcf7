/* SPDX-License-Identifier: MIT */
/* aditctl doctor: does the machine bear as many SSH sessions as adit-gateway lets in?  Each is two
 * processes of sshd, which are in the unit of sshd, or in the slice of their user. */
#include <inttypes.h>
#include <pwd.h>
#include <stdio.h>
#include <unistd.h>

#include "ask/ask.h"
#include "base/number.h"
#include "ctl/doctor/doctor.h"

#define SYSTEMCTL "/usr/bin/systemctl"
#define SESSION_TASKS 2
#define MIB ((uint64_t)1024 * 1024)

/* Returns a limit of a unit, or UINT64_MAX if it has none. */
static uint64_t unit_limit(const char *unit, const char *property)
{
    char name[64], wanted[32];
    char *const arguments[] = {
        (char[]){SYSTEMCTL}, (char[]){"show"}, (char[]){"-P"}, wanted, name, NULL};
    struct buf out = {0};
    struct text rest;
    uint64_t limit = UINT64_MAX;

    snprintf(name, sizeof name, "%s", unit);
    snprintf(wanted, sizeof wanted, "%s", property);
    if (access(SYSTEMCTL, X_OK) == 0 && machine_run(arguments, &out)) {
        rest = buf_text(&out);
        if (!number_read(ask_next_line(&rest), 10, UINT64_MAX, &limit))
            limit = UINT64_MAX; /* "infinity" */
    }
    buf_free(&out);
    return limit;
}

static void check_memory(struct findings *findings, const char *whose, uint64_t bytes,
                         uint64_t needed)
{
    if (needed > bytes)
        doctor_trouble(findings, "sessions",
                       "[gateway] sessions lets in sessions of sshd that take %" PRIu64
                       " MiB, and %s is %" PRIu64 " MiB; lower it, or give more memory",
                       needed / MIB, whose, bytes / MIB);
}

/* Sessions, and where their findings go. */
struct bearing {
    struct findings *findings;
    uint64_t n;
};

static void check_unit(const struct bearing *bearing, const char *unit)
{
    const uint64_t n_tasks = bearing->n * SESSION_TASKS, tasks = unit_limit(unit, "TasksMax");
    char whose[96];

    snprintf(whose, sizeof whose, "MemoryMax= of %s", unit);
    check_memory(bearing->findings, whose, unit_limit(unit, "MemoryMax"),
                 bearing->n * CONF_SESSION_BYTES);
    if (n_tasks > tasks)
        doctor_trouble(bearing->findings, "sessions",
                       "[gateway] sessions lets in sessions of sshd with %" PRIu64
                       " processes, and TasksMax= of %s is %" PRIu64 "; raise this, or lower that",
                       n_tasks, unit, tasks);
}

static void check_slice(void *context, const char *user, struct text permit_listen)
{
    const struct passwd *entry = getpwnam(user);
    char slice[64];

    (void)permit_listen;
    if (!entry)
        return;
    snprintf(slice, sizeof slice, "user-%lu.slice", (unsigned long)entry->pw_uid);
    check_unit(context, slice);
}

void session_doctor_check(struct findings *findings, const struct conf *conf)
{
    struct bearing bearing = {findings, (uint64_t)conf->gateway.sessions};
    const uint64_t needed = bearing.n * CONF_SESSION_BYTES;
    const int before = findings->n_troubles;

    if (bearing.n == 0) {
        doctor_line(findings, "note", "sessions",
                    "[gateway] sessions is 0: SSH sessions may take all memory of the machine");
        return;
    }
    /* The rest is for the system. */
    check_memory(findings, "three quarters of the machine's memory", conf_machine_bytes() / 4 * 3,
                 needed);
    check_unit(&bearing, "ssh.service");
    sshd_doctor_offers(check_slice, &bearing);
    if (findings->n_troubles == before)
        doctor_line(findings, "ok", "sessions",
                    "adit-gateway lets in %" PRIu64 " SSH sessions at most, which take %" PRIu64
                    " MiB",
                    bearing.n, needed / MIB);
}
