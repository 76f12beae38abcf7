/* SPDX-License-Identifier: MIT */
/* Tests of what is known of nodes that do not answer. */
#include "nodes/late_nodes.h"

#include <check.h>
#include <stdio.h>
#include <string.h>

#include "suites.h"

static struct late_nodes late;

static void start_over(void)
{
    memset(&late, 0, sizeof late);
    late.most = 2;
    late.pause_ms = 200;
}

/* Has a statement that began at some time get no answer. */
static void miss(int node, int64_t began_ms, int64_t ended_ms)
{
    struct late_statement statement;

    ck_assert(late_nodes_begin(&late, &statement, node, began_ms));
    late_nodes_end(&late, &statement, LATE_SILENT, ended_ms);
}

static bool is_refused(int node, int64_t now_ms)
{
    struct late_statement statement;
    bool begins = late_nodes_begin(&late, &statement, node, now_ms);

    if (begins)
        late_nodes_end(&late, &statement, LATE_UNCLEAR, now_ms);
    return !begins;
}

START_TEST(a_node_is_refused_for_a_while)
{
    ck_assert(!is_refused(1, 1000));
    miss(1, 1000, 1250);
    ck_assert(is_refused(1, 1250));
    ck_assert(is_refused(1, 1449));
    ck_assert(is_refused(LATE_ANY_NODE, 1449));
    ck_assert(!is_refused(0, 1250));
    ck_assert(!is_refused(2, 1250));
    ck_assert(!is_refused(1, 1450));
    ck_assert(!is_refused(LATE_ANY_NODE, 1450));
}
END_TEST

/* Then one statement finds out, while others are refused. */
START_TEST(one_statement_tries_the_node)
{
    struct late_statement before;
    struct late_statement trial;

    ck_assert(late_nodes_begin(&late, &before, 1, 1000));
    miss(1, 1000, 1250);
    ck_assert(late_nodes_begin(&late, &trial, 1, 1800));
    ck_assert(is_refused(1, 1800));
    late_nodes_end(&late, &before, LATE_SILENT, 3000);
    ck_assert(is_refused(1, 5000));
    late_nodes_end(&late, &trial, _i ? LATE_ANSWERED : LATE_SILENT, 5000);
    ck_assert_int_eq(is_refused(1, 5000), !_i);
    ck_assert(!is_refused(1, 5500));
}
END_TEST

/* A statement that waited for another reason says nothing about the node. */
START_TEST(a_node_that_answers_others)
{
    struct late_statement slow;
    struct late_statement quick;

    ck_assert(late_nodes_begin(&late, &slow, 1, 1000));
    ck_assert(late_nodes_begin(&late, &quick, 1, 1100));
    late_nodes_end(&late, &quick, LATE_ANSWERED, 1101);
    late.most = 0;
    ck_assert(late_nodes_go_on(&late, &slow));
    late_nodes_end(&late, &slow, LATE_SILENT, 5000);
    ck_assert(!is_refused(1, 5000));
}
END_TEST

/* An answer to a statement that was sent before the node became late ends that at once. */
START_TEST(a_late_answer)
{
    struct late_statement first;

    ck_assert(late_nodes_begin(&late, &first, 1, 1000));
    miss(1, 1000, 1250);
    ck_assert(is_refused(1, 1300));
    late_nodes_end(&late, &first, LATE_ANSWERED, 1310);
    ck_assert(!is_refused(1, 1310));
}
END_TEST

START_TEST(few_may_wait_long)
{
    struct late_statement statements[5];
    static const int nodes[] = {1, 1, 1, 2, 2};
    static const bool goes_on[] = {true, true, false, true, false};

    for (int i = 0; i < 5; i++) {
        ck_assert(late_nodes_begin(&late, &statements[i], nodes[i], 1000));
        ck_assert_int_eq(late_nodes_go_on(&late, &statements[i]), goes_on[i]);
    }
    ck_assert(late_nodes_go_on(&late, &statements[0])); /* counted once */
    ck_assert_int_eq(late.n_waiting, 3);
    for (int i = 0; i < 5; i++)
        late_nodes_end(&late, &statements[i], LATE_UNCLEAR, 1500);
    ck_assert_int_eq(late.n_waiting, 0);
    ck_assert_int_eq(late.nodes[1].n_waiting, 0);
    ck_assert_int_eq(late.nodes[2].n_waiting, 0);
}
END_TEST

/* What a lane does besides has no node. */
START_TEST(no_statement)
{
    struct late_statement none = {.node = NULL};

    late.most = 0;
    ck_assert(late_nodes_go_on(&late, &none));
    ck_assert_int_eq(late.n_waiting, 0);
}
END_TEST

/* Accounts share places.  None has the node of another. */
START_TEST(nodes_of_many_accounts)
{
    char id[IDENT_SIZE];
    int n = 0;
    int node;

    for (int i = 0; i < 4 * LATE_N_ACCOUNTS; i++) {
        snprintf(id, sizeof id, "ac_%027d", i);
        ck_assert_msg(!late_nodes_find(&late, id, 1000, &node), "%s", id);
        late_nodes_learn(&late, id, i, 11000);
        ck_assert_msg(late_nodes_find(&late, id, 10999, &node) && node == i, "%s", id);
        ck_assert_msg(!late_nodes_find(&late, id, 11000, &node), "%s", id);
    }
    for (int i = 0; i < 4 * LATE_N_ACCOUNTS; i++) {
        snprintf(id, sizeof id, "ac_%027d", i);
        if (late_nodes_find(&late, id, 1000, &node)) {
            ck_assert_int_eq(node, i);
            n++;
        }
    }
    ck_assert_int_le(n, LATE_N_ACCOUNTS);
    ck_assert_int_gt(n, LATE_N_ACCOUNTS / 2);
}
END_TEST

Suite *late_nodes_suite(void)
{
    Suite *suite = suite_create("nodes/late_nodes");
    TCase *tcase = tcase_create("late nodes");

    tcase_add_checked_fixture(tcase, start_over, NULL);
    tcase_add_test(tcase, a_node_is_refused_for_a_while);
    tcase_add_loop_test(tcase, one_statement_tries_the_node, 0, 2);
    tcase_add_test(tcase, a_node_that_answers_others);
    tcase_add_test(tcase, a_late_answer);
    tcase_add_test(tcase, few_may_wait_long);
    tcase_add_test(tcase, no_statement);
    tcase_add_test(tcase, nodes_of_many_accounts);
    suite_add_tcase(suite, tcase);
    return suite;
}
