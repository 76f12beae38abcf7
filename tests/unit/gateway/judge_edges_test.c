/* SPDX-License-Identifier: MIT */
/* Tests of reading the modules of edges.  The database is a function of this file. */
#include "gateway/judge_edges.h"

#include <check.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "gateway/fake_store.h"
#include "gateway/outage.h"
#include "suites.h"

#define N_EDGES 20

static struct gateway gateway;

/* What the database has, and what it was asked. */
static int64_t revisions[N_EDGES]; /* 0: no module */
static bool is_late;
static useconds_t hangs_us;     /* before a session cannot be opened; 0: it can */
static size_t n_revisions_read; /* statements */
static size_t n_modules_read;   /* modules */
static bool was_read[N_EDGES];
static size_t most_at_once;
static bool was_unread; /* as the log had it when modules were read last */

static char ids[N_EDGES * 8];
static char none[] = "";
static char output[] = "/nonexistent";

static size_t number_of(struct text id)
{
    size_t number;

    ck_assert_int_eq(sscanf(id.s, "edge-%zu", &number), 1);
    return number - 10;
}

static bool edges(struct arena *arena, struct text_list edge_ids, bool is_whole,
                  struct gateway_edges *out, struct error *err)
{
    was_unread = gateway.edges_are_unread;
    if (is_whole && is_late)
        return error_set(err, ERR_DATABASE_TIMEOUT);
    if (hangs_us > 0) {
        usleep(hangs_us);
        return error_set(err, ERR_DATABASE_UNAVAILABLE);
    }
    out->items = arena_array(arena, edge_ids.n, sizeof *out->items);
    ck_assert_ptr_nonnull(out->items);
    for (size_t i = 0; i < edge_ids.n; i++) {
        int64_t revision = revisions[number_of(edge_ids.items[i])];

        was_read[number_of(edge_ids.items[i])] |= is_whole;
        if (revision)
            out->items[out->n++] = (struct gateway_edge){
                .edge_id = edge_ids.items[i], .revision = revision, .enabled = is_whole};
    }
    if (!is_whole) {
        n_revisions_read++;
        return true;
    }
    n_modules_read += edge_ids.n;
    if (most_at_once < edge_ids.n)
        most_at_once = edge_ids.n;
    return true;
}

static void start(void)
{
    static struct conf_mutual_tls settings;

    settings = (struct conf_mutual_tls){ids, none, output, none, none};
    ids[0] = '\0';
    for (int i = 0; i < N_EDGES; i++) {
        snprintf(ids + strlen(ids), sizeof ids - strlen(ids), "edge-%d ", i + 10);
        revisions[i] = i + 1;
    }
    is_late = false;
    hangs_us = 0;
    fake_store = (struct fake_store){.edges = edges};
    gateway = (struct gateway){.conf.log.level = LOG_LEVEL_ERROR, .conf.gateway.account = none};
    gateway.edges = edges_new(&settings, &gateway.conf.log);
    ck_assert_ptr_nonnull(gateway.edges);
}

static void stop(void)
{
    edges_free(gateway.edges);
}

/* Reads until nothing is left.  Returns how many modules were read. */
static size_t read_all(void)
{
    n_revisions_read = n_modules_read = most_at_once = 0;
    gateway.edges_are_marked = true;
    while (judge_edges(&gateway)) {
    }
    return n_modules_read;
}

START_TEST(what_did_not_change_is_not_read)
{
    ck_assert_uint_eq(edges_count(gateway.edges).n_open, 0);
    ck_assert_uint_eq(read_all(), N_EDGES);
    ck_assert(!gateway.edges_are_marked);
    ck_assert_uint_eq(read_all(), 0);
    ck_assert_uint_eq(n_revisions_read, 1);
    revisions[3] = 100;
    ck_assert_uint_eq(read_all(), 1);
    ck_assert_uint_eq(edges_count(gateway.edges).n_open, 0);
    /* One that is gone is open, and is read when it comes back. */
    revisions[3] = 0;
    ck_assert_uint_eq(read_all(), 0);
    ck_assert_uint_eq(edges_count(gateway.edges).n_open, 1);
    revisions[3] = 100;
    ck_assert_uint_eq(read_all(), 1);
    ck_assert_uint_eq(edges_count(gateway.edges).n_open, 0);
}
END_TEST

/* Logins come between them. */
START_TEST(many_are_read_in_turns)
{
    size_t n_before;

    gateway.edges_are_marked = true;
    n_modules_read = 0;
    ck_assert(judge_edges(&gateway));
    n_before = n_modules_read;
    ck_assert_uint_gt(n_before, 1);
    ck_assert_uint_lt(n_before, N_EDGES);
    while (judge_edges(&gateway)) {
    }
    ck_assert_uint_eq(n_modules_read, N_EDGES);
}
END_TEST

/* As many as are read at a time. */
START_TEST(modules_that_change_again_and_again)
{
    size_t n_at_once;

    read_all();
    n_at_once = most_at_once;
    ck_assert_uint_lt(n_at_once, N_EDGES);
    for (int i = 0; i < N_EDGES; i++)
        revisions[i] += 100;
    memset(was_read, 0, sizeof was_read);
    for (int turn = 0; turn < N_EDGES; turn++) {
        gateway.edges_are_marked = true;
        (void)judge_edges(&gateway);
        for (size_t i = 0; i < n_at_once; i++)
            revisions[i]++;
    }
    for (int i = 0; i < N_EDGES; i++)
        ck_assert_msg(was_read[i], "edge %d", i);
}
END_TEST

/* Logins go on, and so does reading: with less at a time. */
START_TEST(a_late_statement)
{
    size_t n_usual;

    read_all();
    n_usual = most_at_once;
    for (int i = 0; i < N_EDGES; i++)
        revisions[i] += 100;
    is_late = true;
    ck_assert_uint_eq(read_all(), 0);
    ck_assert(!outage_shuts(&gateway));
    /* The log has it once, though revisions are read. */
    gateway.edges_read_at_ms = 0;
    ck_assert_uint_eq(read_all(), 0);
    ck_assert(was_unread && gateway.edges_are_unread);
    is_late = false;
    ck_assert(!judge_edges(&gateway)); /* the pause */
    ck_assert_uint_eq(n_modules_read, 0);
    ck_assert_int_gt(gateway.edges_read_at_ms, clock_steady_ms());
    gateway.edges_read_at_ms = 0;
    ck_assert(judge_edges(&gateway));
    ck_assert_uint_lt(most_at_once, n_usual);
    while (judge_edges(&gateway)) {
    }
    ck_assert(!gateway.edges_are_unread);
    ck_assert_uint_eq(n_modules_read, N_EDGES);
    ck_assert_uint_eq(most_at_once, n_usual);
}
END_TEST

/* Each attempt keeps the loop. */
START_TEST(a_session_that_hangs_while_it_is_opened)
{
    hangs_us = 200000;
    ck_assert_uint_eq(read_all(), 0);
    ck_assert_int_gt(gateway.edges_read_at_ms, clock_steady_ms());
    ck_assert(!outage_shuts(&gateway));
}
END_TEST

Suite *gateway_judge_edges_suite(void)
{
    Suite *suite = suite_create("gateway/judge_edges");
    TCase *tcase = tcase_create("judge_edges");

    tcase_add_checked_fixture(tcase, start, stop);
    tcase_add_test(tcase, what_did_not_change_is_not_read);
    tcase_add_test(tcase, many_are_read_in_turns);
    tcase_add_test(tcase, modules_that_change_again_and_again);
    tcase_add_test(tcase, a_late_statement);
    tcase_add_test(tcase, a_session_that_hangs_while_it_is_opened);
    suite_add_tcase(suite, tcase);
    return suite;
}
