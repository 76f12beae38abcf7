/* SPDX-License-Identifier: MIT */
/* Runs the statements of the record of changes on a real PostgreSQL.  tests/e2e/test_history.py
 * tests what they do. */
#include "store/history_statements.h"

#include <check.h>

#include "store/history.h"
#include "store/restore.h"
#include "store/tried.h"

/* A change of each kind of row. */
#define CHANGES                                                                                    \
    "UPDATE adit.account SET name = name || 'x';"                                                  \
    "UPDATE adit.principal SET name = name || 'x';"                                                \
    "INSERT INTO adit.ssh_credential (account_id, id, owner_id, key_type, fingerprint,"            \
    " public_key) SELECT p.account_id, 'sshcr_00000000000000000000history', p.id, '" TRIED_TYPE    \
    "', '" TRIED_FINGERPRINT(                                                                      \
        "9") "', 'k' FROM adit.principal AS p LIMIT 1;"                                            \
             "INSERT INTO adit.oauth_module (account_id, edge_id, route_id, enabled,"              \
             " options_passthrough, inactivity_timeout, maximum_duration, auth_check_interval)"    \
             " SELECT a.id, 'history', 'r', true, true, 0, 0, 0 FROM adit.account AS a LIMIT 1;"   \
             "INSERT INTO adit.mutual_tls_module (account_id, edge_id, enabled)"                   \
             " SELECT a.id, 'history', true FROM adit.account AS a LIMIT 1"

/* Restores the rows of the plan, each kind at least once. */
static void restore_all(struct pg *pg, const struct pg_result *plan)
{
    struct error err;
    int n_batches = 0;

    for (int row = 0; row < pg_rows(plan); n_batches++) {
        struct restore_batch batch = {.n = 0};
        char disabled[IDENT_SIZE];
        bool done;

        while (row < pg_rows(plan) && restore_batch_add(&batch, plan, row))
            row++;
        ck_assert_msg(restore_rows(pg, plan, &batch, NULL, &done, &err), "%s", err.cause);
        ck_assert(done);
        ck_assert_msg(restore_hold_owners(pg, plan, &batch, disabled, &err), "%s", err.cause);
        ck_assert_str_eq(disabled, "");
    }
    ck_assert_int_eq(n_batches, 5);
}

void history_run_statements(struct pg *pg)
{
    /* Another connection: the test counts the statements of this one. */
    struct pg *other = tried_connect();
    const struct restore_order order = {
        .event_id = database_number(other, "SELECT max(id) + 1 FROM adit.audit_event")};
    const struct history_page page = {.after_id = 0};
    const struct text_list ids = {.n = 0, .given = true};
    struct history_start start;
    struct pg_result *result;
    bool is_known = true;
    struct error err;

    pg_free(other);
    database_run(pg, CHANGES);
    /* In a transaction, the driver would prepare none of them. */
    ck_assert_msg(history_read_start(pg, &start, &err), "%s", err.cause);
    ck_assert(!start.is_pruned && start.first_id > 0 && start.first_us > 0);
    ck_assert_msg(history_find(pg, text_of("history/r"), text_of(NULL), &result, &err), "%s",
                  err.cause);
    ck_assert_int_eq(pg_rows(result), 1);
    ck_assert_str_eq(pg_text(result, 0, HISTORY_PLACE_KIND).s, "oauth_module");
    pg_result_free(result);
    ck_assert_msg(history_find_routes(pg, text_of("history"), text_of(NULL), &result, &err), "%s",
                  err.cause);
    ck_assert_int_eq(pg_rows(result), 1);
    pg_result_free(result);
    ck_assert_msg(history_has_operator(pg, text_of("nobody"), &is_known, &err), "%s", err.cause);
    ck_assert(!is_known);
    ck_assert_msg(history_find_deleted(pg, text_of("nobody"), ids, &result, &err), "%s", err.cause);
    ck_assert_int_eq(pg_rows(result), 0);
    pg_result_free(result);
    ck_assert_msg(history_find_latest(pg,
                                      &(struct history_suspects){.account_id = text_of("nobody"),
                                                                 .resources = ids,
                                                                 .owners = ids},
                                      1, &result, &err),
                  "%s", err.cause);
    ck_assert_int_eq(pg_rows(result), 0);
    pg_result_free(result);
    ck_assert_msg(history_find_event(pg, start.first_id, &result, &err), "%s", err.cause);
    ck_assert_int_eq(pg_rows(result), 1);
    pg_result_free(result);
    ck_assert_msg(history_list(pg, &page, &result, &err), "%s", err.cause);
    ck_assert_int_gt(pg_rows(result), 4);
    pg_result_free(result);
    ck_assert_msg(restore_plan(pg, &order, &result, &err), "%s", err.cause);
    restore_all(pg, result);
    pg_result_free(result);
}
