/* SPDX-License-Identifier: MIT */
/* Tests of what a tick does: little, however many edges there are, and however much they name. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "folder.h"
#include "gateway/edge_files.h"
#include "gateway/edges_inside.h"
#include "gateway/unissued_ca.h"
#include "suites.h"

#define N_EDGES 3
#define N_AUTHORITIES 1000
#define LAST_AUTHORITY "ca-999"

static const struct log quiet = {.level = LOG_LEVEL_ERROR, .target = LOG_TARGET_STDERR};

static struct conf_mutual_tls settings;
static char ids[] = "edge-1 edge-2 edge-3";
static char authorities[128];
static char output[128];
static char reload[] = "/bin/true";
static char nothing[] = "";
static struct edges *edges;

/* On no clock. */
static int64_t now_ms;

static void setup(void)
{
    folder_make();
    snprintf(authorities, sizeof authorities, "%s/authorities", folder);
    snprintf(output, sizeof output, "%s/output", folder);
    ck_assert_int_eq(mkdir(authorities, 0755), 0);
    settings = (struct conf_mutual_tls){ids, authorities, output, reload, nothing};
    now_ms = 1000000;
    edges = edges_new(&settings, &quiet);
    ck_assert_ptr_nonnull(edges);
}

static void teardown(void)
{
    edges_free(edges);
    folder_remove();
}

/* Stores a module for each of the first n edges, which names so many authorities. */
static void put(size_t n, size_t n_authorities)
{
    static char names[N_AUTHORITIES][16];
    static struct text items[N_AUTHORITIES];
    struct text_list put_ids = {.items = edges_ids(edges).items, .n = n, .given = true};
    struct gateway_edge modules[N_EDGES];
    struct gateway_edges stored = {.items = modules, .n = n};

    for (size_t i = 0; i < N_AUTHORITIES; i++) {
        snprintf(names[i], sizeof names[i], "ca-%zu", i);
        items[i] = text_of(names[i]);
    }
    for (size_t i = 0; i < n; i++)
        modules[i] = (struct gateway_edge){
            .edge_id = put_ids.items[i],
            .enabled = true,
            .certificate_authority_ids = {.items = items, .n = n_authorities, .given = true}};
    ck_assert(edges_put(edges, put_ids, &stored));
}

static void put_all(void)
{
    put(N_EDGES, N_AUTHORITIES);
}

/* Counts the edges whose file of authorities is there and trusts somebody, or nobody. */
static size_t count_written(bool trusts_nobody)
{
    size_t n = 0;

    for (int i = 1; i <= N_EDGES; i++) {
        struct buf pem = {0};
        char name[64];

        snprintf(name, sizeof name, "output/edge-%d.pem", i);
        if (folder_read(name, &pem))
            n += (strcmp(pem.data, UNISSUED_CA_PEM) == 0) == trusts_nobody;
        buf_free(&pem);
    }
    return n;
}

/* Ticks until so many edges are written.  Returns how often. */
static int tick_until(size_t n_written)
{
    int n = 0;

    for (; count_written(true) < n_written; n++) {
        ck_assert_int_lt(n, N_AUTHORITIES);
        ck_assert_int_eq(edges->command.job.pid, 0);
        ck_assert_int_le(edges_next(edges, now_ms), now_ms);
        edges_tick(edges, now_ms);
        now_ms += 100; /* longer than the batch */
    }
    ck_assert_uint_eq(count_written(true), n_written);
    return n;
}

/* Some of its authorities at a time.  All edges share a reload. */
START_TEST(one_edge_is_written)
{
    put_all();
    for (size_t i = 1; i <= N_EDGES; i++)
        ck_assert_int_gt(tick_until(i), 1);
    ck_assert_uint_eq(edges_count(edges).n_due, 0);
    ck_assert_int_gt(edges->command.job.pid, 0);
}
END_TEST

/* The authorities that are read then are those of the new module. */
START_TEST(a_module_that_changes_while_it_is_read)
{
    folder_copy("authorities/ca-0", "authority-1");
    put_all();
    edges_tick(edges, now_ms);
    ck_assert_ptr_nonnull(edges->reading.edge);
    ck_assert(edges_put(edges, edges_ids(edges), &(struct gateway_edges){.n_accounts = 1}));
    while (edges_any_due(edges))
        edges_tick(edges, now_ms);
    ck_assert_uint_eq(edges_count(edges).n_open, N_EDGES);
    ck_assert_uint_eq(count_written(true), N_EDGES);
}
END_TEST

/* All others are written. */
START_TEST(a_module_that_changes_again_and_again)
{
    put_all();
    for (int i = 0; count_written(true) < N_EDGES - 1; i++) {
        ck_assert_int_lt(i, N_AUTHORITIES);
        edges_tick(edges, now_ms);
        put(1, N_AUTHORITIES - (size_t)(i % 2));
    }
    while (edges_any_due(edges))
        edges_tick(edges, now_ms);
    ck_assert_uint_eq(count_written(true), N_EDGES);
}
END_TEST

/* It does not wait for ever. */
START_TEST(a_reload_while_edges_are_due)
{
    put_all();
    tick_until(1);
    now_ms += 5000;
    edges_tick(edges, now_ms);
    ck_assert_uint_eq(edges_count(edges).n_due, 2);
    ck_assert_int_gt(edges->command.job.pid, 0);
    while (edges->command.job.pid > 0)
        reload_tick(&edges->command, edges->version, now_ms, &quiet);
    /* The next one waits anew. */
    tick_until(2);
    ck_assert_int_eq(edges->command.job.pid, 0);
}
END_TEST

/* Writes what is due, and lets the reload end that is due then.  Returns whether there was one. */
static bool reload_due(void)
{
    uint64_t begun = edges->command.begun;

    while (edges_any_due(edges))
        edges_tick(edges, now_ms);
    now_ms += 100; /* longer than the batch */
    do
        edges_tick(edges, now_ms);
    while (edges->command.job.pid > 0);
    return edges->command.begun > begun;
}

/* Enables the modules of some edges, without authorities, and the others have none. */
static void enable(bool first, bool second)
{
    const struct gateway_edge modules[] = {{.edge_id = edges_ids(edges).items[0], .enabled = true},
                                           {.edge_id = edges_ids(edges).items[1], .enabled = true}};
    const struct gateway_edges stored = {.items =
                                             (struct gateway_edge *)(first ? modules : modules + 1),
                                         .n = (size_t)first + (size_t)second};

    ck_assert(edges_put(edges, edges_ids(edges), &stored));
}

/* Its edge alone pays for that: another one's visitors are refused at once, for the first time in a
 * minute. */
START_TEST(who_changes_one_module_again_and_again)
{
    bool has_reloaded = false;

    for (int i = 0; i < 600 || !has_reloaded; i++, now_ms += 900) {
        enable(i % 2 == 0, false);
        has_reloaded = reload_due();
    }
    for (int i = 0; i < 11; i++, now_ms += 900) {
        enable(i % 2 == 0, false);
        ck_assert(!reload_due());
    }
    enable(true, true);
    ck_assert(reload_due());
    enable(true, false);
    ck_assert(!reload_due());
    now_ms += RELOAD_RARE_REST_MS;
    enable(true, true);
    ck_assert(!reload_due());
}
END_TEST

/* Modules that are still to be read share it, too. */
START_TEST(a_reload_while_modules_are_stale)
{
    struct gateway_edge stored = {.edge_id = edges_ids(edges).items[0], .revision = 1};

    put_all();
    ck_assert(edges_note(edges, &(struct gateway_edges){&stored, 1, 1}));
    while (edges_any_due(edges))
        edges_tick(edges, now_ms);
    ck_assert_uint_eq(edges_count(edges).n_due, 1);
    now_ms += 1000;
    edges_tick(edges, now_ms);
    ck_assert_int_eq(edges->command.job.pid, 0);
    edges->look_at_ms = JOB_NEVER;
    ck_assert_int_eq(edges_next(edges, now_ms), edges->command.changed_ms + 5000);
    put_all();
    while (edges_any_due(edges))
        edges_tick(edges, now_ms);
    ck_assert_int_gt(edges->command.job.pid, 0);
}
END_TEST

/* Ticks until a round of looking has ended.  Returns how often. */
static int look_at_all(void)
{
    int n = 1;

    now_ms += 2000;
    for (edges_tick(edges, now_ms); edges->look_next > 0; n++) {
        now_ms += 10;
        edges_tick(edges, now_ms);
    }
    return n;
}

/* What is found is written at the end of the round, and shares a reload. */
START_TEST(some_authorities_are_looked_at)
{
    put_all();
    while (edges_any_due(edges))
        edges_tick(edges, now_ms);
    look_at_all();
    ck_assert_int_eq(look_at_all(), N_EDGES);
    ck_assert_uint_eq(edges_count(edges).n_due, 0);
    folder_copy("authorities/" LAST_AUTHORITY, "authority-1");
    ck_assert_int_eq(look_at_all(), N_EDGES);
    ck_assert_uint_eq(edges_count(edges).n_due, N_EDGES);
    while (edges_any_due(edges))
        edges_tick(edges, now_ms);
    ck_assert_uint_eq(count_written(false), N_EDGES);
}
END_TEST

/* Appends blocks as certificates have them, by number. */
static void add_blocks(struct buf *out, int from, int step, int n)
{
    for (int i = 0; i < n; i++)
        buf_printf(out, "-----BEGIN CERTIFICATE-----\n%08d\n-----END CERTIFICATE-----\n",
                   from + i * step);
}

/* Whoever writes a module chooses the order of its authorities. */
START_TEST(authorities_in_another_order)
{
    const int n = 130000;
    struct edge_rule before = {.asks = true};
    struct edge_rule now = {.asks = true};
    enum edge_change change;
    bool any;

    add_blocks(&before.pem, 1, 1, n);
    ck_assert_uint_lt(before.pem.len, EDGE_FILES_PEM_MAX);
    ck_assert(edge_files_put(output, "edge-1", &before, &any));
    add_blocks(&now.pem, n, -1, n);
    ck_assert(edge_files_compare(output, "edge-1", &now, &change));
    ck_assert_int_eq(change, EDGE_WIDER);
    buf_clear(&now.pem);
    add_blocks(&now.pem, n, -1, n - 1);
    ck_assert(edge_files_compare(output, "edge-1", &now, &change));
    ck_assert_int_eq(change, EDGE_NARROWER);
    buf_free(&before.pem);
    buf_free(&now.pem);
}
END_TEST

static void name_absent_authorities(size_t edge, int n)
{
    for (int i = 0; i < n; i++)
        edges_log_left_out(edges, &edges->items[edge], text_of("ca-1"), NULL, "there is no file");
}

/* Whoever stores modules of one edge hides no line of another. */
START_TEST(lines_of_edges_are_limited_apart)
{
    static struct log_limit limit;
    static const struct log telling = {
        .level = LOG_LEVEL_WARNING, .target = LOG_TARGET_STDERR, .limit = &limit};

    edges->log = &telling;
    name_absent_authorities(0, 3 * LOG_BURST);
    ck_assert_uint_eq(limit.kinds[0].n_left_out, 2 * LOG_BURST);
    name_absent_authorities(1, LOG_BURST);
    ck_assert_uint_eq(limit.kinds[0].n_left_out, 0);
    name_absent_authorities(0, 1);
    ck_assert_uint_eq(limit.kinds[0].n_left_out, 1);
}
END_TEST

Suite *gateway_edges_turn_suite(void)
{
    Suite *suite = suite_create("gateway/edges_turn");
    TCase *tcase = tcase_create("edges_turn");

    tcase_set_timeout(tcase, 60); /* comparing each certificate with each takes minutes */
    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_add_test(tcase, one_edge_is_written);
    tcase_add_test(tcase, a_module_that_changes_while_it_is_read);
    tcase_add_test(tcase, a_module_that_changes_again_and_again);
    tcase_add_test(tcase, a_reload_while_edges_are_due);
    tcase_add_test(tcase, who_changes_one_module_again_and_again);
    tcase_add_test(tcase, a_reload_while_modules_are_stale);
    tcase_add_test(tcase, some_authorities_are_looked_at);
    tcase_add_test(tcase, authorities_in_another_order);
    tcase_add_test(tcase, lines_of_edges_are_limited_apart);
    suite_add_tcase(suite, tcase);
    return suite;
}
