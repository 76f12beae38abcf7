/* SPDX-License-Identifier: MIT */
/* Tests of fibers. */
#include "serve/fiber.h"

#include <check.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "suites.h"

struct counter {
    struct serve_fiber *fiber;
    int n;
    int step;
};

/* Pauses once in each call, and keeps its state on the stack. */
static void count(void *context)
{
    struct counter *counter = context;
    char text[64];
    char expected[64];

    snprintf(text, sizeof text, "%d %d", counter->step, counter->n);
    memcpy(expected, text, sizeof expected);
    serve_fiber_pause(counter->fiber);
    ck_assert_str_eq(text, expected);
    counter->n += counter->step;
}

START_TEST(many_take_turns)
{
    struct counter counters[16] = {{NULL, 0, 0}};

    for (int i = 0; i < 16; i++) {
        counters[i].step = i;
        counters[i].fiber = serve_fiber_new(count, &counters[i]);
        ck_assert_ptr_nonnull(counters[i].fiber);
    }
    for (int round = 0; round < 1000; round++) {
        for (int i = 0; i < 16; i++)
            serve_fiber_resume(counters[i].fiber);
    }
    /* Each call takes two turns: it pauses, then it ends. */
    for (int i = 0; i < 16; i++) {
        ck_assert_int_eq(counters[i].n, 500L * i);
        serve_fiber_free(counters[i].fiber);
    }
    serve_fiber_free(NULL);
}
END_TEST

/* Recurses deeper than any request, and touches each frame. */
static int descend(volatile char *above, int depth)
{
    volatile char frame[1024];

    for (size_t i = 0; i < sizeof frame; i++)
        frame[i] = above[i];
    return depth == 0 ? frame[0] : descend(frame, depth - 1) + frame[1];
}

struct diver {
    struct serve_fiber *fiber;
    int depth;
    int result;
};

static void dive(void *context)
{
    struct diver *diver = context;
    volatile char frame[1024];

    for (size_t i = 0; i < sizeof frame; i++)
        frame[i] = 1;
    diver->result = descend(frame, diver->depth);
}

START_TEST(the_stack_is_deep)
{
    struct diver diver = {.depth = (int)(SERVE_FIBER_STACK_SIZE / 4 / 1024)};

    diver.fiber = serve_fiber_new(dive, &diver);
    ck_assert_ptr_nonnull(diver.fiber);
    serve_fiber_resume(diver.fiber);
    ck_assert_int_eq(diver.result, diver.depth + 1);
    serve_fiber_free(diver.fiber);
}
END_TEST

/* The guard page stops it. */
START_TEST(past_the_stack_is_the_end)
{
    struct diver diver = {.depth = (int)(SERVE_FIBER_STACK_SIZE / 512)};

    diver.fiber = serve_fiber_new(dive, &diver);
    ck_assert_ptr_nonnull(diver.fiber);
    signal(SIGSEGV, SIG_DFL);
    serve_fiber_resume(diver.fiber);
}
END_TEST

Suite *serve_fiber_suite(void)
{
    Suite *suite = suite_create("serve/fiber");
    TCase *tcase = tcase_create("fiber");

    tcase_set_timeout(tcase, 60);
    tcase_add_test(tcase, many_take_turns);
    tcase_add_test(tcase, the_stack_is_deep);
    tcase_add_test_raise_signal(tcase, past_the_stack_is_the_end, SIGSEGV);
    suite_add_tcase(suite, tcase);
    return suite;
}
