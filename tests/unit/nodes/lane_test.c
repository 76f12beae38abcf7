/* SPDX-License-Identifier: MIT */
/* Tests of the statements of a lane, where the rows are on several nodes. */
#include "nodes/lane.h"

#include <check.h>

#include "base/clock.h"
#include "suites.h"

#define ACCOUNT "ac_000000000000000000000000001"

static struct late_nodes late;
static struct node_lane lane;
static struct pg *pg;

/* Nobody listens there. */
static void open_lane(void)
{
    late = (struct late_nodes){.most = 1, .pause_ms = 60000};
    pg = pg_new("host=/nonexistent", &wait_alone);
    ck_assert_ptr_nonnull(pg);
    node_lane_open(&lane, pg, &late);
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

    ck_assert(node_lane_begin(&lane, ACCOUNT, &err));
    node_lane_end(&lane, true, &err);
    if (late_find_node(&late, ACCOUNT, clock_steady_ms(), &node))
        ck_assert_int_eq(node, LATE_ANY_NODE);
    ck_assert(!late_find_node(&late, ACCOUNT, clock_steady_ms() + 1000, &node));
}
END_TEST

START_TEST(silence_is_counted)
{
    const struct error silent = {.code = ERR_DATABASE_TIMEOUT};
    const struct error none = {.code = ERR_NONE};
    struct error err;
    int64_t now_ms = clock_steady_ms();

    late_learn_node(&late, ACCOUNT, 1, INT64_MAX);
    ck_assert_uint_eq(node_lane_n_silent(&lane), 0);
    for (unsigned i = 0; i < 3; i++) {
        ck_assert(node_lane_begin(&lane, ACCOUNT, &err));
        ck_assert_uint_eq(node_lane_n_silent(&lane), i);
        lane.statement.began_ms = now_ms - 1000;
        node_lane_end(&lane, false, &silent);
        ck_assert_uint_eq(node_lane_n_silent(&lane), 0);
        ck_assert(!node_lane_begin(&lane, ACCOUNT, &err));
        ck_assert_int_eq(err.code, ERR_DATABASE_TIMEOUT);
        late.nodes[1].until_ms = now_ms;
    }
    ck_assert(node_lane_begin(&lane, ACCOUNT, &err));
    node_lane_end(&lane, true, &none);
    ck_assert(node_lane_begin(&lane, ACCOUNT, &err));
    ck_assert_uint_eq(node_lane_n_silent(&lane), 0);
    node_lane_end(&lane, true, &none);
}
END_TEST

/* Without late nodes, nothing is refused. */
START_TEST(one_node)
{
    struct node_lane plain = {.pg = NULL};
    struct error err = {.code = ERR_DATABASE_TIMEOUT};

    ck_assert(node_lane_begin(&plain, ACCOUNT, &err));
    ck_assert_uint_eq(node_lane_n_silent(&plain), 0);
    node_lane_end(&plain, false, &err);
    ck_assert(node_lane_begin(&plain, ACCOUNT, &err));
}
END_TEST

Suite *nodes_lane_suite(void)
{
    Suite *suite = suite_create("nodes/lane");
    TCase *tcase = tcase_create("lanes");

    tcase_add_checked_fixture(tcase, open_lane, close_lane);
    tcase_add_test(tcase, a_node_that_nobody_told);
    tcase_add_test(tcase, silence_is_counted);
    tcase_add_test(tcase, one_node);
    suite_add_tcase(suite, tcase);
    return suite;
}
