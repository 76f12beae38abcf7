/* SPDX-License-Identifier: MIT */
/* Databases of a real PostgreSQL. */
#include "store/database.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>

#include "store/account.h"
#include "store/api_key.h"
#include "store/principal.h"
#include "store/schema.h"

struct pg *database_connect(const char *name, const char *role)
{
    const char *server = getenv("ADIT_TEST_CONNINFO");
    static char conninfos[64][512]; /* connections point here while they live */
    static size_t n;
    char *conninfo;
    struct pg *pg;

    ck_assert_msg(server != NULL, "ADIT_TEST_CONNINFO is not set: run it by with_postgres");
    ck_assert_uint_lt(n, 64);
    conninfo = conninfos[n++];
    ck_assert_int_lt(
        snprintf(conninfo, 512, "%s dbname=%s user=%s connect_timeout=30", server, name, role),
        512);
    pg = pg_new(conninfo, &wait_alone);
    ck_assert_ptr_nonnull(pg);
    return pg;
}

/* The limits of requests are too short for what a test prepares on a machine that is busy. */
static struct pg *connect_patiently(const char *name)
{
    struct pg *pg = database_connect(name, "postgres");

    pg_set_timeout(pg, 60000);
    database_run(pg, "SET statement_timeout = '60s'");
    return pg;
}

struct pg *database_create(const char *name)
{
    struct pg *pg = connect_patiently("postgres");
    char sql[128];

    snprintf(sql, sizeof sql, "CREATE DATABASE %s", name);
    database_run(pg, sql);
    pg_free(pg);
    return connect_patiently(name);
}

void database_run(struct pg *pg, const char *sql)
{
    struct error err = {.code = ERR_NONE};

    ck_assert_msg(pg_script(pg, sql, 60000, &err), "%s: %s", sql, err.cause);
}

int64_t database_number(struct pg *pg, const char *sql)
{
    /* A connection knows a statement by its address and name, so each query needs its own. */
    static struct pg_statement statements[32];
    static char names[32][16];
    static int n;
    struct pg_params params = {.n = 0};
    struct pg_result *result;
    struct error err = {.code = ERR_NONE};
    int64_t number;

    ck_assert_int_lt(n, 32);
    snprintf(names[n], sizeof names[n], "number_%d", n);
    statements[n] = (struct pg_statement){.name = names[n], .types = PG_BIGINT, .sql = sql};
    ck_assert_msg(pg_run(pg, &statements[n], &params, &result, &err), "%s: %s", sql, err.cause);
    n++;
    ck_assert_int_eq(pg_rows(result), 1);
    number = pg_int(result, 0, 0);
    pg_result_free(result);
    return number;
}

static void ignore_name(void *context, const char *name)
{
    (void)context;
    (void)name;
}

void database_migrate(struct pg *pg)
{
    const struct schema_migrating how = {
        .patience_ms = 20000, .waiting = ignore_name, .applied = ignore_name};
    struct error err = {.code = ERR_NONE};

    ck_assert_msg(schema_migrate(pg, &how, &err), "%s", err.cause);
}

void database_fill(struct pg *pg, struct accounts *accounts)
{
    struct error err = {.code = ERR_NONE};
    struct text first;
    struct text second;

    ck_assert(account_create(pg, text_of("first"), accounts->account[0], &err));
    ck_assert(account_create(pg, text_of("second"), accounts->account[1], &err));
    first = text_of(accounts->account[0]);
    second = text_of(accounts->account[1]);
    ck_assert(principal_create(pg, &(struct principal_new){first, "user", text_of("admin"), true},
                               accounts->admin, &err));
    ck_assert(principal_create(pg, &(struct principal_new){first, "bot", text_of("bot"), false},
                               accounts->member, &err));
    ck_assert(principal_create(pg, &(struct principal_new){second, "user", text_of("x"), true},
                               accounts->other_admin, &err));
    ck_assert(accounts->admin[0] && accounts->member[0] && accounts->other_admin[0]);
}

struct caller database_issue(struct pg *pg, const char *principal_id, bool read_only,
                             int64_t expires_s, char key_id[34])
{
    const struct api_key_order order = {.principal_id = text_of(principal_id),
                                        .description = text_of("test"),
                                        .kind = read_only ? KEY_READ_ONLY : KEY_READ_WRITE,
                                        .expires_s = expires_s};
    struct api_key_issued issued;
    struct caller caller = {.identity = NULL};
    struct error err = {.code = ERR_NONE};

    ck_assert_msg(api_key_issue(pg, &order, &issued, &err), "%s", err.cause);
    ck_assert(api_key_valid(text_of(issued.key)));
    if (key_id)
        memcpy(key_id, issued.id, IDENT_SIZE);
    ck_assert(crypt_sha256(issued.key, API_KEY_SIZE - 1, caller.digest));
    ck_assert(api_key_account(text_of(issued.key), caller.account_id));
    return caller;
}
