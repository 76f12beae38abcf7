/* SPDX-License-Identifier: MIT */
/* Checks the responder: the key file, the database and its schema, rights, the clock; and the
 * rights of the roles of other programs. */
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/wait.h"
#include "ctl/accounts.h"
#include "ctl/doctor/doctor.h"
#include "keyring/keyring.h"
#include "store/migrations.h"
#include "store/oauth_secret.h"
#include "store/principal.h"
#include "store/schema.h"

/* Beyond this difference, times in the log do not match those of audit events. */
#define CLOCK_TOLERANCE_MS 2000

static void ok(struct findings *findings, const char *what, const char *detail)
{
    doctor_line(findings, "ok", what, "%s", detail);
}

/* What to do about some of PostgreSQL's failures. */
static const char *const remedies[][2] = {
    {"42501", "a right is missing: run 'aditctl migrate' as the owner of the tables, which grants "
              "adit_responder its rights, and make this role a member of it"},
    {"53100", "the database's disk is full: make room there"},
    {"53300", "the server has no connection left: raise max_connections, or lower the number of "
              "workers"},
    {"55P03", "another session holds a lock on the tables: wait for it, or end it"},
};

static void trouble_error(struct findings *findings, const char *what, const struct error *err)
{
    for (size_t i = 0; i < sizeof remedies / sizeof remedies[0]; i++) {
        if (strcmp(err->sqlstate, remedies[i][0]) == 0) {
            doctor_trouble(findings, what, "%s (%s)", remedies[i][1], ctl_reason(err));
            return;
        }
    }
    doctor_trouble(findings, what, "%s", ctl_reason(err));
}

/* Returns the keyring, which the caller frees, or NULL. */
static struct keyring *check_key_file(struct findings *findings, const struct conf *conf)
{
    char reason[CONF_REASON_SIZE];
    struct keyring *keyring;

    if (findings->learned && findings->learned->has_key_file) {
        keyring = findings->learned->keyring;
        findings->learned->keyring = NULL;
        snprintf(reason, sizeof reason, "%s", findings->learned->reason);
    } else {
        keyring = keyring_load(conf->key_file, reason, sizeof reason);
    }
    if (keyring) {
        ok(findings, "secrets", conf->key_file);
    } else if (keyring_is_missing(conf->key_file)) {
        /* The advice depends on whether secrets are sealed: count_sealed() prints it. */
        doctor_trouble(findings, "secrets", "%s: there is no such file", conf->key_file);
    } else {
        doctor_trouble(findings, "secrets", "%s", reason);
    }
    return keyring;
}

static void trouble_lost(void *context, const char *what)
{
    doctor_trouble(context, "sealed", "%s", what);
}

/* A secret whose key is lost cannot be opened.  An old key must stay in the file while a secret is
 * sealed under it. */
static void count_sealed(struct findings *findings, const struct ctl *ctl,
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
        doctor_line(findings, "note", "sealed",
                    "%lld secret%s still sealed under an old key; run: aditctl secrets rekey",
                    (long long)n, n == 1 ? " is" : "s are");
    else if (findings->n_troubles > before)
        return;
    else if (keyring)
        doctor_line(findings, "ok", "sealed", "every secret is sealed under the first key, %s",
                    keyring_first(keyring));
    else
        doctor_line(findings, "note", "sealed",
                    "no secret is sealed; to create the key file, run: aditctl secrets init");
}

/* Modules whose secret does not open, and that are named. */
#define MODULES_NAMED 20

struct naming {
    struct findings *findings;
    int n;
};

static void name_unreadable(void *context, const struct keyring_place *place, const char *cause)
{
    struct naming *naming = context;

    if (naming->n++ < MODULES_NAMED)
        doctor_trouble(naming->findings, "opened", "account %s, edge %s, route %s: %s",
                       place->account_id.s, place->ids[0].s, place->ids[1].s, cause);
}

/* A secret may have been altered, or copied from another row. */
static void open_sealed(struct findings *findings, struct pg *pg, struct keyring *keyring)
{
    struct naming naming = {.findings = findings};
    const struct oauth_secret_calls calls = {.unreadable = name_unreadable, .context = &naming};
    char limit[96] = "";
    struct oauth_secret_trial done;
    struct error err;

    if (!oauth_secret_try(pg, keyring, &calls, &done, &err)) {
        trouble_error(findings, "opened", &err);
        return;
    }
    if (!done.is_whole)
        snprintf(limit, sizeof limit, "; looked at %d modules only, 'aditctl export' opens all",
                 OAUTH_SECRET_TRIES);
    if (done.n_unreadable == 0)
        doctor_line(findings, "ok", "opened", "%lld secret%s opened%s", (long long)done.n_tried,
                    done.n_tried == 1 ? " was" : "s were", limit);
    else
        doctor_line(findings, "note", "opened",
                    "%lld of %lld secrets cannot be opened (at most %d are named); without a copy "
                    "of their key, PUT these modules again, with client_secret%s",
                    (long long)done.n_unreadable, (long long)done.n_tried, MODULES_NAMED, limit);
}

/* Says whether secrets are sealed under old or lost keys, or why that is unknown. */
static void check_sealed(struct findings *findings, const struct ctl *ctl,
                         const struct keyring *keyring, bool has_database)
{
    bool is_missing = !keyring && keyring_is_missing(ctl->conf.key_file);

    if (!keyring && !is_missing)
        doctor_line(findings, "note", "sealed", "not checked: first mend the key file");
    else if (has_database)
        count_sealed(findings, ctl, keyring);
    else if (is_missing)
        doctor_line(
            findings, "note", "sealed",
            "not checked: first mend the database and its schema; if secrets are sealed, restore "
            "the key file from your copy");
    else
        doctor_line(findings, "note", "sealed",
                    "not checked: first mend the database and its schema");
}

/* pg_connect() refuses a session that is read-only. */
static bool check_server(struct findings *findings, struct pg *pg)
{
    struct error err;
    int version;

    if (!schema_check_server(pg, &version, &err)) {
        trouble_error(findings, "database", &err);
        return false;
    }
    doctor_line(findings, "ok", "database", "PostgreSQL %d.%d, with a session that may write",
                version / 10000, version % 10000);
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
        doctor_line(findings, "ok", "schema", "version %d", version);
        return true;
    }
    if (version == SCHEMA_BEFORE_RELEASE) {
        doctor_trouble(findings, "schema", "it is " SCHEMA_BEFORE_RELEASE_SAYS);
        return false;
    }
    if (version > migrations_latest) {
        doctor_trouble(
            findings, "schema",
            "version %d is newer than this program, which knows versions up to %d; install the "
            "version of Adit that the schema is for",
            version, migrations_latest);
        return true;
    }
    doctor_trouble(findings, "schema",
                   "version %d is older than this program, which needs %d; run: aditctl migrate",
                   version, migrations_latest);
    return false;
}

static void note_grant(void *context, const char *what, bool is_missing)
{
    struct findings *findings = context;

    if (is_missing) {
        doctor_trouble(
            findings, "grants",
            "the responder's role lacks %s; make it a member of adit_responder, then run: aditctl "
            "migrate",
            what);
    } else {
        doctor_line(findings, "note", "grants",
                    "the responder's role has %s, which it does not need", what);
    }
}

struct role_check {
    struct findings *findings;
    const struct doctor_role *role;
};

static void note_role_grant(void *context, const char *what, bool is_missing)
{
    const struct role_check *check = context;
    const struct doctor_role *role = check->role;

    if (is_missing)
        doctor_trouble(check->findings, role->what,
                       "%s role lacks %s; make it a member of %s, then run: aditctl migrate",
                       role->whose, what, role->name);
    else
        doctor_line(check->findings, "note", role->what, "%s role has %s, which it does not need",
                    role->whose, what);
}

/* A program with the rights of another one is no wall between them any more. */
static void check_other_rights(struct findings *findings, struct pg *pg,
                               const struct doctor_role *role)
{
    char others[128];
    struct error err;

    if (!schema_find_members(pg, role->name, others, sizeof others, &err))
        trouble_error(findings, role->what, &err);
    else if (others[0])
        doctor_trouble(findings, role->what,
                       "%s role also has the rights of %s, which it must not; take them from the "
                       "role that conninfo names, as PostgreSQL's superuser: REVOKE %s FROM ...",
                       role->whose, others, others);
}

struct pg *doctor_check_role(struct findings *findings, const struct conf *conf,
                             const char *conninfo, const struct doctor_role *role)
{
    struct role_check check = {findings, role};
    const struct schema_grants grants = {
        .role = role->name, .found = note_role_grant, .context = &check};
    struct pg *pg = pg_new(conninfo, &wait_alone);
    int before = findings->n_troubles;
    struct error err = {.code = ERR_OUT_OF_MEMORY};

    if (pg)
        pg_set_distributed(pg, conf->is_distributed);
    if (!pg || !schema_check_grants(pg, &grants, &err)) {
        const char *cause = err.cause[0] ? err.cause : "out of memory";

        if (findings->relay) /* this is the daemon's user: what fails here fails for the daemon */
            doctor_trouble(findings, role->what, "%s role was not checked: %s", role->whose, cause);
        else
            doctor_line(findings, "note", role->what,
                        "not checked: %s; to check %s role, run this as the daemon's user: runuser "
                        "-u %s -- aditctl doctor",
                        cause, role->whose, role->user);
        pg_free(pg);
        return NULL;
    }
    check_other_rights(findings, pg, role);
    if (findings->n_troubles == before)
        doctor_line(findings, "ok", role->what, "%s role has the rights that it needs",
                    role->whose);
    return pg;
}

static void check_grants(struct findings *findings, struct pg *pg)
{
    const struct schema_grants grants = {
        .role = SCHEMA_RESPONDER, .found = note_grant, .context = findings};
    int before = findings->n_troubles;
    struct error err;

    if (!schema_check_grants(pg, &grants, &err))
        trouble_error(findings, "grants", &err);
    else if (findings->n_troubles == before)
        ok(findings, "grants", "the responder's role has the rights that it needs");
}

/* A change needs an author, so without a User or Bot the check cannot write. */
static void check_writes(struct findings *findings, struct pg *pg, bool is_distributed)
{
    char only[IDENT_SIZE];
    struct error err = {.code = ERR_NONE};
    int n = 0;

    if (!principal_find_only(pg, text_of(NULL), only, &n, &err) && n == 0 && err.code == ERR_NONE)
        doctor_line(findings, "note", "writes", "not checked: there is no User or Bot yet; run: %s",
                    accounts_first_user(pg));
    else if (err.code == ERR_NONE && schema_try_write(pg, &err))
        ok(findings, "writes",
           is_distributed ? "a change was made on the node of one account and rolled back"
                          : "a change was made and rolled back");
    else
        trouble_error(findings, "writes", &err);
}

static void check_clock(struct findings *findings, struct pg *pg)
{
    struct error err;
    int64_t before_ms = clock_wall_ms();
    int64_t database_ms;
    int64_t apart_ms;
    char apart[DOCTOR_TIME_SIZE];

    if (!schema_clock(pg, &database_ms, &err)) {
        trouble_error(findings, "clock", &err);
        return;
    }
    apart_ms = llabs(database_ms - (before_ms + clock_wall_ms()) / 2);
    doctor_say_time(apart, apart_ms);
    if (apart_ms > CLOCK_TOLERANCE_MS)
        doctor_line(findings, "note", "clock",
                    "%s from the database's clock, which ids follow; synchronise both clocks",
                    apart);
    else
        doctor_line(findings, "ok", "clock", "%s from the database's clock", apart);
}

/* The setting must be as the database is: the responder's statements differ. */
static void check_nodes(struct findings *findings, const struct ctl *ctl)
{
    char missing[512];
    bool has_nodes;
    struct error err;

    if (!schema_find_functions(ctl->pg, missing, sizeof missing, &has_nodes, &err))
        trouble_error(findings, "nodes", &err);
    else if (has_nodes && !ctl->conf.is_distributed)
        doctor_trouble(findings, "nodes",
                       "the accounts are spread over the nodes of Citus; set distributed = yes in "
                       "[database] of the settings");
    else if (ctl->conf.is_distributed && missing[0])
        doctor_trouble(findings, "nodes",
                       "the responder's role cannot call these functions of the schema adit: %s; "
                       "run sql/optional/citus.sql again",
                       missing);
    else if (ctl->conf.is_distributed)
        ok(findings, "nodes", "the functions for accounts on several nodes are there");
}

void responder_doctor_check(struct findings *findings, const struct ctl *ctl)
{
    struct keyring *keyring = check_key_file(findings, &ctl->conf);
    bool has_database = check_server(findings, ctl->pg) && check_schema(findings, ctl->pg);

    if (has_database) {
        check_grants(findings, ctl->pg);
        check_nodes(findings, ctl);
        check_writes(findings, ctl->pg, ctl->conf.is_distributed);
        check_clock(findings, ctl->pg);
    }
    check_sealed(findings, ctl, keyring, has_database);
    if (keyring && has_database)
        open_sealed(findings, ctl->pg, keyring);
    keyring_free(keyring);
}

void doctor_check_keys(struct findings *findings, const struct ctl *ctl, struct pg *pg)
{
    struct keyring *keyring = check_key_file(findings, &ctl->conf);

    if (keyring)
        open_sealed(findings, pg, keyring);
    keyring_free(keyring);
}
