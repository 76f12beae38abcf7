/* SPDX-License-Identifier: MIT */
/* Tests of the edges' files: what they say, when they change, and what a fault leaves of them. */
#include "gateway/edges.h"

#include <check.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "faults.h"
#include "folder.h"
#include "gateway/edge_files.h"
#include "gateway/unissued_ca.h"
#include "suites.h"

#define HEADER "# Written by adit-gateway, which overwrites changes.\n"
#define MAX_IDS 4
#define MAX_EDGES 3

static const struct log quiet = {.level = LOG_LEVEL_ERROR, .target = LOG_TARGET_STDERR};

/* Settings that point into the folder.  The reload adds a line to "reloads". */
static struct conf_mutual_tls settings;
static char authorities[128];
static char output[128];
static char reload[256];
static char edge_1[] = "edge-1";
static char two_edges[] = "edge-1 \t edge-2";
static char three_edges[] = "edge-1 edge-2 edge-3";
static char bin_true[] = "/bin/true";
static char nothing[] = "";

/* A module of a test: its authorities up to the first NULL. */
struct trial {
    bool disabled;
    const char *ids[MAX_IDS];
};

static const struct trial disabled = {.disabled = true, .ids = {"ca-1"}};
static const struct trial trusts_1 = {.ids = {"ca-1"}};
static const struct trial trusts_2 = {.ids = {"ca-2"}};
static const struct trial trusts_both = {.ids = {"ca-1", "ca-2"}};
static const struct trial trusts_none = {.disabled = false};

static void setup(void)
{
    folder_make();
    snprintf(authorities, sizeof authorities, "%s/authorities", folder);
    snprintf(output, sizeof output, "%s/output", folder);
    ck_assert_int_eq(mkdir(authorities, 0755), 0);
    folder_copy("authorities/ca-1", "authority-1");
    folder_copy("authorities/ca-2", "authority-2");
    folder_copy("authorities/leaf", "leaf");
    folder_write("count.sh", text_of("#!/bin/sh\necho \"$@\" >> \"$(dirname \"$0\")/reloads\"\n"
                                     "test ! -e \"$(dirname \"$0\")/broken\"\n"));
    ck_assert_int_eq(chmod(folder_path("count.sh"), 0755), 0);
    snprintf(reload, sizeof reload, "%s/count.sh  a\t$(b)", folder);
    settings = (struct conf_mutual_tls){.edges = edge_1,
                                        .authorities = authorities,
                                        .output = output,
                                        .reload = reload,
                                        .haproxy = nothing};
}

static struct edges *open_edges(void)
{
    struct edges *edges = edges_new(&settings, &quiet);

    ck_assert_ptr_nonnull(edges);
    return edges;
}

/* Stores a module for edge-1, edge-2, ...; NULL: none. */
static void put_all(struct edges *edges, const struct trial *const *trials, size_t n)
{
    char edge_ids[MAX_EDGES][32];
    struct text ids[MAX_EDGES][MAX_IDS];
    struct gateway_edge items[MAX_EDGES];
    struct gateway_edges modules = {.items = items};

    for (size_t i = 0; i < n; i++) {
        struct gateway_edge *module = &items[modules.n];

        snprintf(edge_ids[i], sizeof edge_ids[i], "edge-%zu", i + 1);
        if (!trials[i])
            continue;
        *module = (struct gateway_edge){.edge_id = text_of(edge_ids[i]),
                                        .enabled = !trials[i]->disabled,
                                        .certificate_authority_ids = {.items = ids[modules.n]}};
        for (size_t j = 0; j < MAX_IDS && trials[i]->ids[j]; j++)
            ids[modules.n][module->certificate_authority_ids.n++] = text_of(trials[i]->ids[j]);
        modules.n++;
    }
    ck_assert(edges_put(edges, edges_ids(edges), &modules));
}

static void put(struct edges *edges, const struct trial *trial)
{
    put_all(edges, &trial, 1);
}

/* The steady clock, after the time that the tests skip. */
static int64_t skipped_ms;

static int64_t now_ms(void)
{
    return clock_steady_ms() + skipped_ms;
}

/* Runs what is due until no file and no reload is. */
static void settle(struct edges *edges)
{
    static const char settled[] = "edges_due 0\nreload done\n";
    struct buf status = {0};

    edges_tick(edges, now_ms());
    skipped_ms += 50; /* the batch */
    for (int i = 0; i < 5000; i++) {
        edges_tick(edges, now_ms());
        buf_clear(&status);
        edges_status(edges, &status);
        if (strstr(status.data, settled))
            break;
        poll(NULL, 0, 1);
    }
    ck_assert_msg(strstr(status.data, settled) != NULL, "%s", status.data);
    buf_free(&status);
}

static int count_reloads(void)
{
    struct buf lines = {0};
    int n = 0;

    folder_read("reloads", &lines);
    for (size_t i = 0; i < lines.len; i++)
        n += lines.data[i] == '\n';
    buf_free(&lines);
    return n;
}

static void expect_file(const char *name, const char *wanted)
{
    struct buf there = {0};

    ck_assert_msg(folder_read(name, &there), "%s is missing", name);
    ck_assert_str_eq(there.data, wanted);
    buf_free(&there);
}

/* Expects that the edge's files ask for certificates of these authorities; NULL: ask for none. */
static void expect_rule(const char *edge_id, const char *pem)
{
    char name[512];
    char text[1024];

    snprintf(name, sizeof name, "output/%s.pem", edge_id);
    expect_file(name, pem ? pem : UNISSUED_CA_PEM);
    snprintf(name, sizeof name, "output/%s.nginx", edge_id);
    snprintf(text, sizeof text,
             HEADER "ssl_client_certificate %s/%s.pem;\nssl_trusted_certificate \"\";\n"
                    "ssl_verify_client on;\nssl_verify_depth 100;\n",
             output, edge_id);
    expect_file(name, pem ? text : HEADER "ssl_verify_client off;\n");
    snprintf(name, sizeof name, "output/%s.apache", edge_id);
    snprintf(text, sizeof text,
             HEADER "SSLCACertificateFile %s/%s.pem\nSSLOpenSSLConfCmd VerifyCAFile %s/%s.pem\n"
                    "SSLVerifyClient require\nSSLVerifyDepth 101\n",
             output, edge_id, output, edge_id);
    expect_file(name, pem ? text : HEADER "SSLVerifyClient none\n");
    snprintf(name, sizeof name, "output/%s.haproxy", edge_id);
    expect_file(name, pem ? "verify required\n" : "verify none\n");
}

START_TEST(what_the_files_say)
{
    struct edges *edges = open_edges();
    struct buf one = {0};
    struct buf both = {0};
    const struct {
        const struct trial *trial;
        const char *pem;
    } cases[] = {
        {NULL, NULL},
        {&disabled, NULL},
        {&trusts_none, UNISSUED_CA_PEM},
        {&(struct trial){.ids = {"ca-1"}}, (folder_add_certificate(&one, "authority-1"), one.data)},
        {&trusts_both, (folder_add_certificate(&both, "authority-1"),
                        folder_add_certificate(&both, "authority-2"), both.data)},
        {&(struct trial){.ids = {"unknown", "ca-1"}}, one.data},
        {&(struct trial){.ids = {"leaf", "ca-1", "../authorities/ca-2", "ca-1 ca-2"}}, one.data},
        {&(struct trial){.ids = {"unknown"}}, UNISSUED_CA_PEM},
        {&(struct trial){.ids = {"leaf"}}, UNISSUED_CA_PEM},
        {&(struct trial){.ids = {"..", "", "../authorities/ca-1", "/etc/passwd"}}, UNISSUED_CA_PEM},
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        put(edges, cases[i].trial);
        settle(edges);
        expect_rule("edge-1", cases[i].pem);
    }
    edges_free(edges);
    buf_free(&one);
    buf_free(&both);
}
END_TEST

START_TEST(without_a_database)
{
    struct edges *edges;
    struct buf pem = {0};

    settings.edges = two_edges;
    edges = open_edges();
    settle(edges);
    expect_rule("edge-1", UNISSUED_CA_PEM);
    expect_rule("edge-2", UNISSUED_CA_PEM);
    put(edges, &trusts_1);
    settle(edges);
    edges_free(edges);
    ck_assert_int_eq(unlink(folder_path("output/edge-2.apache")), 0);
    /* A start finds the files: those that are whole stay. */
    edges = open_edges();
    settle(edges);
    folder_add_certificate(&pem, "authority-1");
    expect_rule("edge-1", pem.data);
    expect_rule("edge-2", UNISSUED_CA_PEM);
    edges_free(edges);
    buf_free(&pem);
}
END_TEST

START_TEST(each_edge_has_its_own_rule)
{
    struct edges *edges;
    struct buf pem = {0};

    settings.edges = two_edges;
    edges = open_edges();
    ck_assert_uint_eq(edges_ids(edges).n, 2);
    ck_assert_str_eq(edges_ids(edges).items[1].s, "edge-2");
    folder_add_certificate(&pem, "authority-1");
    put_all(edges, (const struct trial *const[]){NULL, &trusts_1, &trusts_2}, 3);
    settle(edges);
    expect_rule("edge-1", NULL);
    expect_rule("edge-2", pem.data);
    ck_assert_int_eq(access(folder_path("output/edge-3.pem"), F_OK), -1);
    put_all(edges, NULL, 0);
    settle(edges);
    expect_rule("edge-2", NULL);
    edges_free(edges);
    buf_free(&pem);
}
END_TEST

/* A write that fails is tried again and again.  Servers are told once it has succeeded. */
START_TEST(no_reload_without_a_change)
{
    struct edges *edges = open_edges();

    settle(edges);
    ck_assert_int_eq(count_reloads(), 1);
    /* A file cannot take a folder's place. */
    ck_assert_int_eq(unlink(folder_path("output/edge-1.pem")), 0);
    ck_assert_int_eq(mkdir(folder_path("output/edge-1.pem"), 0755), 0);
    put(edges, &trusts_1);
    for (int i = 0; i < 20; i++) {
        skipped_ms += 5000; /* the longest pause */
        edges_tick(edges, now_ms());
        poll(NULL, 0, 5);
    }
    ck_assert_int_eq(count_reloads(), 1);
    ck_assert_int_eq(rmdir(folder_path("output/edge-1.pem")), 0);
    skipped_ms += 5000;
    settle(edges);
    ck_assert_int_eq(count_reloads(), 2);
    edges_free(edges);
}
END_TEST

START_TEST(one_reload_for_a_batch)
{
    struct edges *edges;
    struct stat before;
    struct stat after;

    settings.edges = three_edges;
    edges = open_edges();
    settle(edges);
    ck_assert_int_eq(count_reloads(), 1);
    put(edges, &trusts_1);
    edges_tick(edges, now_ms());
    put_all(edges, (const struct trial *const[]){&trusts_1, &trusts_2}, 2);
    edges_tick(edges, now_ms());
    ck_assert_int_eq(count_reloads(), 1);
    expect_file("output/.reload-due", "");
    settle(edges);
    ck_assert_int_eq(count_reloads(), 2);
    ck_assert_int_eq(access(folder_path("output/.reload-due"), F_OK), -1);
    /* The same once more changes nothing. */
    ck_assert_int_eq(stat(folder_path("output/edge-1.pem"), &before), 0);
    put_all(edges, (const struct trial *const[]){&trusts_1, &trusts_2}, 2);
    settle(edges);
    edges_free(edges);
    edges = open_edges();
    put_all(edges, (const struct trial *const[]){&trusts_1, &trusts_2}, 2);
    settle(edges);
    edges_free(edges);
    ck_assert_int_eq(stat(folder_path("output/edge-1.pem"), &after), 0);
    ck_assert_uint_eq(before.st_ino, after.st_ino);
    ck_assert_uint_eq(after.st_mode & 07777, 0644);
    ck_assert_int_eq(count_reloads(), 2);
    expect_file("reloads", "a $(b)\na $(b)\n");
}
END_TEST

START_TEST(a_failed_reload_is_repeated)
{
    struct edges *edges = open_edges();

    folder_write("broken", text_of(""));
    put(edges, &trusts_1);
    while (count_reloads() < 2) {
        edges_tick(edges, now_ms());
        poll(NULL, 0, 2);
    }
    /* The next process takes the debt over, though it changes no file. */
    edges_free(edges);
    ck_assert_int_eq(unlink(folder_path("broken")), 0);
    ck_assert_int_eq(unlink(folder_path("reloads")), 0);
    edges = open_edges();
    settle(edges);
    ck_assert_int_eq(count_reloads(), 1);
    edges_free(edges);
}
END_TEST

START_TEST(an_authority_that_changes)
{
    struct edges *edges = open_edges();
    struct buf pem = {0};

    put(edges, &(struct trial){.ids = {"ca-3"}});
    settle(edges);
    expect_rule("edge-1", UNISSUED_CA_PEM);
    folder_copy("authorities/ca-3", "authority-1");
    skipped_ms += 2000;
    ck_assert_int_le(edges_next(edges, now_ms()), now_ms());
    settle(edges);
    folder_add_certificate(&pem, "authority-1");
    expect_rule("edge-1", pem.data);
    ck_assert_int_eq(unlink(folder_path("authorities/ca-3")), 0);
    skipped_ms += 2000;
    settle(edges);
    expect_rule("edge-1", UNISSUED_CA_PEM);
    edges_free(edges);
    buf_free(&pem);
}
END_TEST

/* ---- faults ---- */

/* From one rule to the other, whether or not there are files before. */
static const struct {
    bool has_files; /* before */
    const struct trial *before;
    const struct trial *now;
} changes[] = {
    {false, NULL, &trusts_1}, {true, &trusts_1, &trusts_2},    {true, &trusts_1, NULL},
    {true, NULL, &trusts_2},  {true, &trusts_1, &trusts_none}, {true, &trusts_both, &trusts_1},
};

static const char *const names[] = {"output/edge-1.pem", "output/edge-1.nginx",
                                    "output/edge-1.apache", "output/edge-1.haproxy"};

#define N_CHANGES (sizeof changes / sizeof changes[0])
#define N_NAMES (sizeof names / sizeof names[0])

struct contents {
    struct buf of[N_NAMES];
};

static void read_contents(struct contents *contents)
{
    for (size_t i = 0; i < N_NAMES; i++)
        folder_read(names[i], &contents->of[i]);
}

static void free_contents(struct contents *contents)
{
    for (size_t i = 0; i < N_NAMES; i++)
        buf_free(&contents->of[i]);
}

/* Puts the files back as they were. */
static void restore(const struct contents *contents)
{
    for (size_t i = 0; i < N_NAMES; i++) {
        if (contents->of[i].len > 0)
            folder_write(names[i], buf_text(&contents->of[i]));
        else
            unlink(folder_path(names[i]));
    }
    unlink(folder_path("output/.reload-due"));
}

/* Writes the files of the module, and reads them into *contents. */
static void become(const struct trial *trial, struct contents *contents)
{
    struct edges *edges = open_edges();

    put(edges, trial);
    settle(edges);
    read_contents(contents);
    edges_free(edges);
}

/* Makes the change in a process that is killed at the n-th call.  Returns whether it was. */
static bool is_killed_at(const struct trial *now, int n)
{
    pid_t pid = fork();
    int status;

    ck_assert_int_ge(pid, 0);
    if (pid == 0) {
        struct edges *edges = edges_new(&settings, &quiet);

        faults_kill_at(n);
        put(edges, now);
        edges_tick(edges, now_ms());
        _exit(0);
    }
    ck_assert_int_eq(waitpid(pid, &status, 0), pid);
    return WIFSIGNALED(status);
}

/* Each file is the old or the new one.  Servers that were not told are known to be. */
static void expect_whole(const struct contents *before, const struct contents *now)
{
    struct contents there = {0};
    bool differs = false;

    read_contents(&there);
    for (size_t i = 0; i < N_NAMES; i++) {
        bool is_old = text_eq(buf_text(&there.of[i]), buf_text(&before->of[i]));

        ck_assert_msg(is_old || text_eq(buf_text(&there.of[i]), buf_text(&now->of[i])), "%s: %s",
                      names[i], buf_text(&there.of[i]).s);
        differs = differs || !is_old;
    }
    /* The directives that name the authorities are not there before these. */
    if (!text_eq(buf_text(&there.of[1]), buf_text(&before->of[1])))
        ck_assert(text_eq(buf_text(&there.of[0]), buf_text(&now->of[0])));
    if (differs)
        ck_assert_int_eq(access(folder_path("output/.reload-due"), F_OK), 0);
    free_contents(&there);
}

START_TEST(killed_at_every_call)
{
    int n_cases = 0;

    for (size_t i = 0; i < N_CHANGES; i++) {
        struct contents before = {0};
        struct contents now = {0};
        int n = 1;

        if (changes[i].has_files)
            become(changes[i].before, &before);
        become(changes[i].now, &now);
        for (bool killed = true; killed; n++) {
            restore(&before);
            killed = is_killed_at(changes[i].now, n);
            expect_whole(&before, &now);
        }
        expect_whole(&now, &now);
        ck_assert_int_gt(n, 20);
        n_cases += n;
        free_contents(&before);
        free_contents(&now);
    }
    printf("kills: %d cases\n", n_cases);
}
END_TEST

/* Of the changes, the first two: files that are new, and files that are replaced. */
START_TEST(every_call_fails_once)
{
    settings.reload = bin_true;
    for (size_t i = 0; i < 2; i++) {
        struct contents before = {0};
        struct contents now = {0};
        bool has_failed = true;

        if (changes[i].has_files)
            become(changes[i].before, &before);
        become(changes[i].now, &now);
        for (int n = 1; has_failed; n++) {
            struct edges *edges;

            restore(&before);
            edges = open_edges();
            put(edges, changes[i].now);
            faults_fail_at(n);
            edges_tick(edges, now_ms());
            has_failed = faults_stop();
            skipped_ms += 2000; /* the next look */
            settle(edges);
            expect_whole(&now, &now);
            ck_assert(has_failed || n > 20);
            edges_free(edges);
        }
        free_contents(&before);
        free_contents(&now);
    }
}
END_TEST

/* ---- wider and narrower ---- */

static enum edge_change compare(const struct edge_rule *rule)
{
    enum edge_change change;

    ck_assert(edge_files_compare(output, "edge-1", rule, &change));
    return change;
}

START_TEST(wider_and_narrower)
{
    struct edge_rule open_rule = {.asks = false};
    struct edge_rule one = {.asks = true};
    struct edge_rule both = {.asks = true};
    bool any;

    buf_puts(&open_rule.pem, UNISSUED_CA_PEM);
    folder_add_certificate(&one.pem, "authority-1");
    folder_add_certificate(&both.pem, "authority-2");
    folder_add_certificate(&both.pem, "authority-1");
    ck_assert_int_eq(compare(&one), EDGE_NARROWER);
    ck_assert(edge_files_put(output, "edge-1", &one, &any));
    ck_assert_int_eq(compare(&one), EDGE_SAME);
    ck_assert_int_eq(compare(&both), EDGE_WIDER);
    ck_assert_int_eq(compare(&open_rule), EDGE_WIDER);
    ck_assert(edge_files_put(output, "edge-1", &both, &any));
    ck_assert_int_eq(compare(&one), EDGE_NARROWER);
    ck_assert(edge_files_put(output, "edge-1", &open_rule, &any));
    ck_assert_int_eq(compare(&one), EDGE_NARROWER);
    folder_write("output/edge-1.haproxy", text_of(""));
    ck_assert_int_eq(compare(&both), EDGE_NARROWER);
    buf_free(&open_rule.pem);
    buf_free(&one.pem);
    buf_free(&both.pem);
}
END_TEST

START_TEST(a_haproxy_that_has_not_answered)
{
    struct edges *edges = open_edges();
    struct buf status = {0};

    put(edges, &trusts_1);
    settle(edges);
    edges_free(edges);
    settings.haproxy = bin_true; /* no socket */
    edges = open_edges();
    edges_tick(edges, now_ms());
    edges_status(edges, &status);
    ck_assert_ptr_nonnull(strstr(status.data, "reload done\nhaproxy due\n"));
    buf_free(&status);
    edges_free(edges);
}
END_TEST

Suite *gateway_edges_suite(void)
{
    Suite *suite = suite_create("gateway/edges");
    TCase *tcase = tcase_create("edges");

    tcase_set_timeout(tcase, 60);
    tcase_add_checked_fixture(tcase, setup, folder_remove);
    tcase_add_test(tcase, what_the_files_say);
    tcase_add_test(tcase, without_a_database);
    tcase_add_test(tcase, each_edge_has_its_own_rule);
    tcase_add_test(tcase, no_reload_without_a_change);
    tcase_add_test(tcase, one_reload_for_a_batch);
    tcase_add_test(tcase, a_failed_reload_is_repeated);
    tcase_add_test(tcase, an_authority_that_changes);
    tcase_add_test(tcase, a_haproxy_that_has_not_answered);
    tcase_add_test(tcase, killed_at_every_call);
    tcase_add_test(tcase, every_call_fails_once);
    tcase_add_test(tcase, wider_and_narrower);
    suite_add_tcase(suite, tcase);
    return suite;
}
