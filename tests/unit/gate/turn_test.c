/* SPDX-License-Identifier: MIT */
/* Tests of turns, with lanes that are resumed as a worker's loop does it, and a clock that the
 * tests move. */
#include "gate/turn.h"

#include <check.h>

#include "base/clock.h"
#include "serve/fiber.h"
#include "suites.h"

#define N_LANES 40
#define BEGIN_MS 1000

int64_t __real_clock_steady_ms(void);
int64_t __wrap_clock_steady_ms(void);

static int64_t fake_ms; /* 0: the clock is real */

int64_t __wrap_clock_steady_ms(void)
{
    return fake_ms > 0 ? fake_ms : __real_clock_steady_ms();
}

/* A lane that always has something to read. */
struct reader {
    struct serve_fiber *fiber;
    struct wait wait;
    struct turn turn;
    int64_t wait_ms; /* how long it waits for a turn, at most */
    int64_t due_ms;  /* when its pause ends; 0: it does not pause */
    bool is_woken;   /* as is said to it */
    bool is_ready;   /* somebody has ended its pause */
    int n_turns;
    int n_late;
};

static struct reader readers[N_LANES];
static struct turns turns;
static int n_turns_of_pass;
static int64_t turn_ms; /* how long a turn takes */

static bool pause_reader(void *context, int fd, short events, int64_t deadline_ms)
{
    struct reader *reader = context;

    ck_assert_int_eq(fd, -1);
    (void)events;
    reader->due_ms = deadline_ms;
    serve_fiber_pause(reader->fiber);
    return reader->is_woken;
}

static void wake_reader(void *context)
{
    struct reader *reader = context;

    reader->is_ready = reader->due_ms > 0;
}

static void read_again(void *context)
{
    struct reader *reader = context;

    for (;;) {
        if (turn_await(&turns, &reader->turn, clock_steady_ms() + reader->wait_ms)) {
            reader->n_turns++;
            n_turns_of_pass++;
            fake_ms += turn_ms;
        } else {
            reader->n_late++;
        }
    }
}

static void resume_reader(struct reader *reader, bool is_woken)
{
    reader->due_ms = 0;
    reader->is_ready = false;
    reader->is_woken = is_woken;
    serve_fiber_resume(reader->fiber);
}

static void set_up(void)
{
    turns = (struct turns){.last_ms = 0};
    fake_ms = BEGIN_MS;
    turn_ms = 0;
    for (size_t i = 0; i < N_LANES; i++) {
        struct reader *reader = &readers[i];

        *reader = (struct reader){.wait_ms = 5000};
        reader->wait = (struct wait){.until = pause_reader, .wake = wake_reader, .context = reader};
        reader->turn = (struct turn){.wait = &reader->wait, .asks_for = 1, .from = 1};
        reader->fiber = serve_fiber_new(read_again, reader);
        ck_assert_ptr_nonnull(reader->fiber);
    }
}

static void tear_down(void)
{
    for (size_t i = 0; i < N_LANES; i++)
        serve_fiber_free(readers[i].fiber);
    fake_ms = 0;
}

static void resume_woken(void)
{
    bool any;

    do {
        any = false;
        for (size_t i = 0; i < N_LANES; i++) {
            if (!readers[i].is_ready)
                continue;
            any = true;
            resume_reader(&readers[i], true);
        }
    } while (any);
}

/* As serve_lanes_sweep() and serve_lanes_resume_woken(). */
static void pass(void)
{
    int64_t now_ms = fake_ms;

    n_turns_of_pass = 0;
    for (size_t i = 0; i < N_LANES; i++) {
        if (!readers[i].is_ready && readers[i].due_ms <= now_ms)
            resume_reader(&readers[i], false);
    }
    resume_woken();
}

/* The loop goes round as often as a lane is due. */
static void let_pass_ms(int n)
{
    for (; n > 0; n--) {
        pass();
        pass();
        fake_ms++;
    }
}

static void all_begin(void)
{
    for (size_t i = 0; i < N_LANES; i++)
        serve_fiber_resume(readers[i].fiber);
}

START_TEST(lanes_of_one_go_round)
{
    all_begin();
    let_pass_ms(3 * N_LANES);
    for (size_t i = 0; i < N_LANES; i++)
        ck_assert_msg(readers[i].n_turns == 3, "lane %zu: %d", i, readers[i].n_turns);
}
END_TEST

/* The last lanes are of others. */
START_TEST(many_lanes_of_one_are_one)
{
    struct reader *of_other_modules = &readers[N_LANES - 1];
    struct reader *of_other_network = &readers[N_LANES - 2];

    of_other_modules->turn.asks_for = 2;
    of_other_network->turn.from = 2;
    all_begin();
    let_pass_ms(400);
    ck_assert_int_eq(of_other_modules->n_turns, 200);
    ck_assert_int_eq(of_other_network->n_turns, 100);
}
END_TEST

START_TEST(networks_of_one_visitor_are_one)
{
    struct reader *of_other_visitor = &readers[N_LANES - 1];
    struct reader *who_signs_in = &readers[N_LANES - 2];

    for (size_t i = 0; i < N_LANES; i++) {
        readers[i].turn.from = (uint32_t)i;
        readers[i].turn.visitor = 1;
    }
    of_other_visitor->turn.visitor = 2;
    who_signs_in->turn.visitor = 0;
    all_begin();
    let_pass_ms(300);
    ck_assert_int_eq(of_other_visitor->n_turns, 100);
    ck_assert_int_eq(who_signs_in->n_turns, 100);
}
END_TEST

/* Nobody knows who signs in: these are no one visitor. */
START_TEST(visitors_who_sign_in_are_many)
{
    for (size_t i = 0; i < N_LANES; i++)
        readers[i].turn.from = (uint32_t)i;
    readers[0].turn.visitor = 1;
    all_begin();
    let_pass_ms(3 * N_LANES);
    for (size_t i = 0; i < N_LANES; i++)
        ck_assert_int_eq(readers[i].n_turns, 3);
}
END_TEST

START_TEST(networks_of_one_account_do_not_count_elsewhere)
{
    struct reader *other = &readers[N_LANES - 1];

    for (size_t i = 0; i < N_LANES; i++)
        readers[i].turn.from = (uint32_t)i;
    other->turn.asks_for = 2;
    all_begin();
    let_pass_ms(400);
    ck_assert_int_eq(other->n_turns, 200);
}
END_TEST

/* The loop goes round between two turns, and they do not come faster than the clock moves. */
START_TEST(one_turn_of_a_pass)
{
    all_begin();
    for (turn_ms = 0; turn_ms < 4; turn_ms++) {
        for (int i = 0; i < 2 * N_LANES; i++) {
            pass();
            ck_assert_int_eq(n_turns_of_pass, 1);
            pass();
            ck_assert_int_eq(n_turns_of_pass, turn_ms > 0);
            fake_ms++;
        }
    }
}
END_TEST

START_TEST(a_turn_that_does_not_come_in_time)
{
    struct reader *late = &readers[0];
    int n_turns = 0;

    late->wait_ms = 3;
    all_begin();
    let_pass_ms(400);
    ck_assert_int_gt(late->n_late, 0);
    for (size_t i = 0; i < N_LANES; i++)
        n_turns += readers[i].n_turns;
    ck_assert_int_eq(n_turns, 400);
}
END_TEST

Suite *gate_turn_suite(void)
{
    Suite *suite = suite_create("gate/turn");
    TCase *tests = tcase_create("turn");

    tcase_add_checked_fixture(tests, set_up, tear_down);
    tcase_add_test(tests, lanes_of_one_go_round);
    tcase_add_test(tests, many_lanes_of_one_are_one);
    tcase_add_test(tests, networks_of_one_visitor_are_one);
    tcase_add_test(tests, visitors_who_sign_in_are_many);
    tcase_add_test(tests, networks_of_one_account_do_not_count_elsewhere);
    tcase_add_test(tests, one_turn_of_a_pass);
    tcase_add_test(tests, a_turn_that_does_not_come_in_time);
    suite_add_tcase(suite, tests);
    return suite;
}
