/* SPDX-License-Identifier: MIT */
/* aditctl doctor: a line for each thing that has to be right. */
#include <stdarg.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/clock.h"
#include "ctl/ctl.h"
#include "store/account.h"
#include "store/keyring.h"
#include "store/migrations.h"
#include "store/oauth_secret.h"
#include "store/schema.h"

/* More than this between the two clocks, and times in the log are not those of the record of
 * changes. Identifiers follow the database's. */
#define CLOCK_TOLERANCE_MS 2000

struct findings {
    int n_troubles;
};

static void line(const char *state, const char *what, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static void line(const char *state, const char *what, const char *format, ...)
{
    va_list args;

    printf("%-8s %-9s ", state, what);
    va_start(args, format);
    vprintf(format, args);
    va_end(args);
    puts("");
}

static void ok(const char *what, const char *detail)
{
    line("ok", what, "%s", detail);
}

static void trouble(struct findings *findings, const char *what, const char *detail)
{
    findings->n_troubles++;
    line("trouble", what, "%s", detail);
}

static void trouble_error(struct findings *findings, const char *what, const struct error *err)
{
    trouble(findings, what, ctl_reason(err));
}

/* What the responder's user may read, and whom the database takes it for, is not to be seen as
 * another. */
static void note_user(void)
{
    if (geteuid() == 0)
        line("note", "user",
             "root may read every file, and the database's peer authentication knows it by its own "
             "name; what the responder may do shows as its user: "
             "setpriv --reuid=USER --regid=GROUP --init-groups aditctl doctor");
    else
        ok("user", ctl_user_name());
}

static struct keyring *check_key_file(struct findings *findings, const struct conf *conf)
{
    char reason[CONF_REASON_SIZE];
    struct keyring *keyring = keyring_load(conf->key_file, reason, sizeof reason);

    if (keyring) {
        ok("secrets", conf->key_file);
    } else if (keyring_is_missing(conf->key_file)) {
        /* What to do depends on whether secrets are sealed: check_sealed() knows. */
        findings->n_troubles++;
        line("trouble", "secrets", "%s: there is no such file", conf->key_file);
    } else {
        trouble(findings, "secrets", reason);
    }
    return keyring;
}

static void trouble_lost(void *context, const char *what)
{
    trouble(context, "sealed", what);
}

/* Secrets whose key is lost cannot be opened; the other keys are needed for as long as there are
 * secrets under them. */
static void check_sealed(struct findings *findings, const struct ctl *ctl,
                         const struct keyring *keyring)
{
    int before = findings->n_troubles;
    struct oauth_secret_counts counts;
    struct error err;
    int64_t n;

    if (!oauth_secret_count(ctl->pg, keyring, &counts, &err)) {
        trouble_error(findings, "sealed", &err);
        return;
    }
    n = ctl_lost_keys(ctl, &counts, keyring, trouble_lost, findings);
    if (n > 0)
        line("note", "sealed",
             "%lld under other keys than the first, %s: 'aditctl secrets rekey' seals them anew",
             (long long)n, keyring_first(keyring));
    else if (findings->n_troubles > before)
        return;
    else if (keyring)
        line("ok", "sealed", "all under the first key, %s", keyring_first(keyring));
    else
        line("note", "sealed",
             "no secret is sealed; to make the key file, run: aditctl secrets init");
}

/* A database whose session is read-only takes no connection: see pg_connect(). */
static bool check_server(struct findings *findings, struct pg *pg)
{
    struct error err;
    int version;

    if (!schema_check_server(pg, &version, &err)) {
        trouble_error(findings, "database", &err);
        return false;
    }
    line("ok", "database", "PostgreSQL %d.%d, in a session that may write", version / 10000,
         version % 10000);
    return true;
}

static bool check_schema(struct findings *findings, struct pg *pg)
{
    struct error err;
    int version;

    if (!schema_version(pg, &version, &err)) {
        trouble_error(findings, "schema", &err);
        return false;
    }
    if (version == migrations_latest) {
        line("ok", "schema", "version %d", version);
        return true;
    }
    findings->n_troubles++;
    if (version > migrations_latest) {
        line("trouble", "schema",
             "version %d is newer than this program, which knows versions up to %d: install the "
             "version of Adit that the schema is for",
             version, migrations_latest);
        return true;
    }
    line("trouble", "schema", "version %d; this program needs %d: run 'aditctl migrate'", version,
         migrations_latest);
    return false;
}

static void note_grant(void *context, const char *what, bool is_missing)
{
    if (is_missing)
        trouble(context, "grants", what);
    else
        line("note", "grants", "%s is more than the responder needs", what);
}

static void check_grants(struct findings *findings, struct pg *pg)
{
    int before = findings->n_troubles;
    struct error err;

    if (!schema_check_grants(pg, note_grant, findings, &err))
        trouble_error(findings, "grants", &err);
    else if (findings->n_troubles == before)
        ok("grants", "the responder's role has all that it needs");
}

/* A change is somebody's: before there is a User or Bot, none can be tried. */
static void check_writes(struct findings *findings, struct pg *pg)
{
    char only[IDENT_SIZE];
    struct error err = {.code = ERR_NONE};
    int n = 0;

    if (!principal_find_only(pg, only, &n, &err) && n == 0 && err.code == ERR_NONE)
        return;
    if (err.code == ERR_NONE && schema_try_write(pg, &err))
        ok("writes", "a change was made, and taken back");
    else
        trouble_error(findings, "writes", &err);
}

static void check_clock(struct findings *findings, struct pg *pg)
{
    struct error err;
    int64_t before_ms = clock_wall_ms();
    int64_t database_ms;
    int64_t apart_ms;

    if (!schema_clock(pg, &database_ms, &err)) {
        trouble_error(findings, "clock", &err);
        return;
    }
    apart_ms = llabs(database_ms - (before_ms + clock_wall_ms()) / 2);
    line(apart_ms > CLOCK_TOLERANCE_MS ? "note" : "ok", "clock",
         "%lld ms apart from the database's, which identifiers follow", (long long)apart_ms);
}

int ctl_doctor(struct ctl *ctl)
{
    struct findings findings = {.n_troubles = 0};
    struct keyring *keyring;

    note_user();
    ok("settings", ctl->conf.path ? ctl->conf.path : "no file; all are the defaults");
    keyring = check_key_file(&findings, &ctl->conf);
    if (check_server(&findings, ctl->pg) && check_schema(&findings, ctl->pg)) {
        check_grants(&findings, ctl->pg);
        check_writes(&findings, ctl->pg);
        check_clock(&findings, ctl->pg);
        if (keyring || keyring_is_missing(ctl->conf.key_file))
            check_sealed(&findings, ctl, keyring);
    } else if (keyring_is_missing(ctl->conf.key_file)) {
        line("note", "sealed",
             "unknown without the database; if secrets are sealed, restore the key file from your "
             "copy");
    }
    keyring_free(keyring);
    return findings.n_troubles ? CTL_FAILED : CTL_OK;
}
