/* SPDX-License-Identifier: MIT */
/* Tests of the rest between reloads. */
#include "gateway/reload.h"

#include <check.h>
#include <poll.h>

#include "suites.h"

static const struct log quiet = {.level = LOG_LEVEL_ERROR, .target = LOG_TARGET_STDERR};

static bool succeeds(void *context)
{
    (void)context;
    return true;
}

/* A time that the tests let pass as they need it. */
static int64_t now_ms;

static void open_way(struct reload *reload)
{
    *reload = (struct reload){.job = {.name = "reload", .run = succeeds}, .used = true};
    reload_init(reload, 10000);
    now_ms = 1000000;
}

/* Runs the child that is due, if one is.  Returns whether it ended. */
static bool run_due(struct reload *reload, uint64_t version)
{
    bool has_ended = reload_tick(reload, version, now_ms, &quiet);

    while (reload->job.pid > 0 && !has_ended) {
        poll(NULL, 0, 1);
        has_ended = reload_tick(reload, version, now_ms, &quiet);
    }
    return has_ended;
}

/* Changes something every 100 ms.  Returns how often it reloaded; *longest_ms is the longest time
 * that a change had to wait. */
static int change_for(struct reload *reload, int64_t ms, uint64_t *version, int64_t *longest_ms)
{
    int64_t end_ms = now_ms + ms, waits_since_ms = 0;
    int n = 0;

    *longest_ms = 0;
    for (; now_ms < end_ms; now_ms += 100) {
        reload_want(reload, ++*version, now_ms);
        waits_since_ms = waits_since_ms ? waits_since_ms : now_ms;
        if (!run_due(reload, *version))
            continue;
        n++;
        if (*longest_ms < now_ms - waits_since_ms)
            *longest_ms = now_ms - waits_since_ms;
        waits_since_ms = 0;
    }
    return n;
}

/* Whoever writes modules all the time cannot keep the servers in reloads, and delays others for a
 * bounded time. */
START_TEST(changes_without_end)
{
    struct reload reload;
    uint64_t version = 0;
    int64_t longest_ms;

    open_way(&reload);
    ck_assert_int_eq(change_for(&reload, 60000, &version, &longest_ms), 26);
    ck_assert_int_le(change_for(&reload, 3600000, &version, &longest_ms), 61);
    ck_assert_int_gt(longest_ms, 50000);
    ck_assert_int_le(longest_ms, 60000);
    ck_assert(reload_owes(&reload));
    now_ms += 60000;
    ck_assert(run_due(&reload, version));
    ck_assert(!reload_owes(&reload));
    job_free(&reload.job);
}
END_TEST

START_TEST(nothing_waits_after_some_quiet)
{
    struct reload reload;
    uint64_t version = 0;
    int64_t longest_ms;

    open_way(&reload);
    (void)change_for(&reload, 600000, &version, &longest_ms);
    now_ms += 60000;
    ck_assert(run_due(&reload, version));
    for (int i = 0; i < 40; i++) {
        now_ms += 90000;
        reload_want(&reload, ++version, now_ms);
        ck_assert(run_due(&reload, version));
    }
    ck_assert_int_eq(change_for(&reload, 1000, &version, &longest_ms), 10);
    ck_assert_int_eq(longest_ms, 0);
    job_free(&reload.job);
}
END_TEST

/* It does not wait for the rest that others have earned, and takes their changes along. */
START_TEST(a_rare_change)
{
    struct reload reload;
    uint64_t version = 0;
    int64_t longest_ms;

    open_way(&reload);
    (void)change_for(&reload, 600000, &version, &longest_ms);
    while (!run_due(&reload, version))
        now_ms += 100;
    now_ms += RELOAD_RARE_REST_MS;
    reload_want(&reload, ++version, now_ms);
    ck_assert(!run_due(&reload, version));
    reload_want_rare(&reload, ++version, now_ms);
    ck_assert(run_due(&reload, version));
    ck_assert(!reload_owes(&reload));
    job_free(&reload.job);
}
END_TEST

/* Changes of many edges are rare one by one. */
START_TEST(rare_changes_without_end)
{
    struct reload reload;
    uint64_t version = 0;
    int64_t longest_ms;
    int n = 0;

    open_way(&reload);
    (void)change_for(&reload, 600000, &version, &longest_ms);
    for (int i = 0; i < 600; i++) {
        reload_want_rare(&reload, ++version, now_ms);
        n += run_due(&reload, version);
        now_ms += 100;
    }
    ck_assert_int_ge(n, 5);
    ck_assert_int_le(n, 7);
    job_free(&reload.job);
}
END_TEST

/* One that comes while the child runs rests as long as any rare one, and what is not rare longer.
 */
START_TEST(changes_while_the_child_runs)
{
    struct reload reload;
    uint64_t version = 0;
    int64_t longest_ms;

    open_way(&reload);
    (void)change_for(&reload, 600000, &version, &longest_ms);
    reload_want_soon(&reload, ++version, now_ms);
    (void)reload_tick(&reload, version, now_ms, &quiet);
    ck_assert_int_gt(reload.job.pid, 0);
    reload_want(&reload, ++version, now_ms);
    if (_i == 1)
        reload_want_rare(&reload, ++version, now_ms);
    ck_assert(run_due(&reload, version));
    ck_assert(reload_owes(&reload));
    now_ms += RELOAD_RARE_REST_MS;
    ck_assert_int_eq(run_due(&reload, version), _i == 1);
    job_free(&reload.job);
}
END_TEST

/* As for a new process of HAProxy, which changes of modules do not bring about. */
START_TEST(what_has_to_be_soon)
{
    struct reload reload;
    uint64_t version = 0;
    int64_t longest_ms;

    open_way(&reload);
    (void)change_for(&reload, 600000, &version, &longest_ms);
    reload_want(&reload, ++version, now_ms);
    ck_assert(!run_due(&reload, version));
    reload_want_soon(&reload, ++version, now_ms);
    ck_assert(run_due(&reload, version));
    ck_assert(!reload_owes(&reload));
    job_free(&reload.job);
}
END_TEST

Suite *gateway_reload_suite(void)
{
    Suite *suite = suite_create("gateway/reload");
    TCase *tcase = tcase_create("reload");

    tcase_set_timeout(tcase, 60);
    tcase_add_test(tcase, changes_without_end);
    tcase_add_test(tcase, nothing_waits_after_some_quiet);
    tcase_add_test(tcase, a_rare_change);
    tcase_add_test(tcase, rare_changes_without_end);
    tcase_add_loop_test(tcase, changes_while_the_child_runs, 0, 2);
    tcase_add_test(tcase, what_has_to_be_soon);
    suite_add_tcase(suite, tcase);
    return suite;
}
