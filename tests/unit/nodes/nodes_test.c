/* SPDX-License-Identifier: MIT */
/* Tests of the statements of a lane, where the rows are on several nodes. */
#include "nodes/nodes.h"

#include <check.h>
#include <string.h>

#include "base/clock.h"
#include "suites.h"

#define ACCOUNT "ac_000000000000000000000000001"

static struct nodes nodes;
static struct pg *pg;

/* Nobody listens there. */
static void open_lane(void)
{
    nodes = (struct nodes){.n_lanes = 0};
    pg = pg_new("host=/nonexistent", &wait_alone);
    ck_assert_ptr_nonnull(pg);
    nodes_place(pg, true);
    nodes_join(&nodes, pg, 1, 60000);
}

static void close_lane(void)
{
    pg_free(pg);
}

/* A database that cannot be asked says nothing about where the account is. */
START_TEST(a_node_that_nobody_told)
{
    struct error err = {.code = ERR_NONE};
    int node;

    ck_assert(pg_turn_to(pg, ACCOUNT, &err));
    pg_turn_end(pg, true, &err);
    if (late_nodes_find(&nodes.late, ACCOUNT, clock_steady_ms(), &node))
        ck_assert_int_eq(node, LATE_ANY_NODE);
    ck_assert(!late_nodes_find(&nodes.late, ACCOUNT, clock_steady_ms() + 1000, &node));
}
END_TEST

START_TEST(silence_is_counted)
{
    const struct error silent = {.code = ERR_DATABASE_TIMEOUT};
    const struct error none = {.code = ERR_NONE};
    struct error err;
    int64_t now_ms = clock_steady_ms();

    late_nodes_learn(&nodes.late, ACCOUNT, 1, INT64_MAX);
    ck_assert_uint_eq(pg_turn_silent(pg), 0);
    for (unsigned i = 0; i < 3; i++) {
        ck_assert(pg_turn_to(pg, ACCOUNT, &err));
        ck_assert_uint_eq(pg_turn_silent(pg), i);
        nodes.lanes[0].statement.began_ms = now_ms - 1000;
        pg_turn_end(pg, false, &silent);
        ck_assert_uint_eq(pg_turn_silent(pg), 0);
        ck_assert(!pg_turn_to(pg, ACCOUNT, &err));
        ck_assert_int_eq(err.code, ERR_DATABASE_TIMEOUT);
        nodes.late.nodes[1].until_ms = now_ms;
    }
    ck_assert(pg_turn_to(pg, ACCOUNT, &err));
    pg_turn_end(pg, true, &none);
    ck_assert(pg_turn_to(pg, ACCOUNT, &err));
    ck_assert_uint_eq(pg_turn_silent(pg), 0);
    pg_turn_end(pg, true, &none);
}
END_TEST

/* In one database, and without a lane, nothing is refused. */
START_TEST(nothing_is_known)
{
    struct error err = {.code = ERR_DATABASE_TIMEOUT};

    nodes_place(pg, _i);
    ck_assert(pg_is_by_account(pg) == _i);
    if (!_i)
        nodes_join(&nodes, pg, 1, 60000);
    for (int i = 0; i < 2; i++) {
        ck_assert(pg_turn_to(pg, ACCOUNT, &err));
        ck_assert_uint_eq(pg_turn_silent(pg), 0);
        pg_turn_end(pg, false, &err);
    }
}
END_TEST

/* The place is a parameter on nodes alone, and some forms take less than the statement has. */
START_TEST(parameters_of_forms)
{
    static const struct {
        const char *name;
        int first, n;
    } forms[] = {{"gate_keep", 0, 3},
                 {"audit_event_purge", 1, 2},
                 {"idempotency_key_purge", 2, 1},
                 {"none", 0, 3}};
    struct pg_params params = {.n = 0};

    pg_add_int(&params, 1);
    pg_add_int(&params, 2);
    pg_add_place(&params, text_of(ACCOUNT));
    for (size_t i = 0; i < sizeof forms / sizeof forms[0]; i++) {
        const struct pg_statement statement = {
            .name = forms[i].name, .sql = "here", .by_account = "there"};
        struct pg_form form = nodes_form(&statement, &params);

        ck_assert_int_eq(form.first, forms[i].first);
        ck_assert_int_eq(form.n, forms[i].n);
        ck_assert(strcmp(form.sql, "here") != 0);
        form = pg_plain.form(&statement, &params);
        ck_assert_str_eq(form.sql, "here");
        ck_assert_int_eq(form.first, 0);
        ck_assert_int_eq(form.n, 2);
    }
}
END_TEST

/* A shard's index has its number behind the name. */
START_TEST(names_of_conditions)
{
    static const char name[] = "thing_key";
    static const char *const others[] = {
        "thing_key",       "x\"thing_key",          "\"thing_keys\"",
        "\"thing_key_x\"", "\"another_thing_key\"", ""};

    ck_assert(nodes_placement.names("violates \"thing_key\"", name));
    ck_assert(nodes_placement.names("violates \"thing_key_102008\"", name));
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++)
        ck_assert_msg(!nodes_placement.names(others[i], name), "%s", others[i]);
}
END_TEST

Suite *nodes_suite(void)
{
    Suite *suite = suite_create("nodes/nodes");
    TCase *tcase = tcase_create("lanes");

    tcase_add_checked_fixture(tcase, open_lane, close_lane);
    tcase_add_test(tcase, a_node_that_nobody_told);
    tcase_add_test(tcase, silence_is_counted);
    tcase_add_loop_test(tcase, nothing_is_known, 0, 2);
    tcase_add_test(tcase, parameters_of_forms);
    tcase_add_test(tcase, names_of_conditions);
    suite_add_tcase(suite, tcase);
    return suite;
}
