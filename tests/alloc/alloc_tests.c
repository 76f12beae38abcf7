/* SPDX-License-Identifier: MIT */
/* Lets each allocation of each scenario fail.  Then checks the answer, the tables, the next request
 * and the memory that is still allocated. */
#include <fcntl.h>
#include <openssl/crypto.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/common_interface_defs.h>
#endif

#include "base/clock.h"
#include "crypt/crypt.h"
#include "hook.h"
#include "judge.h"
#include "world.h"

/* Faults to print for each scenario. */
#define MAX_PRINTED 8

/* How many allocations of libcrypto to fail: more than it makes for one request. */
#define MAX_CRYPT_FAILURES 32

/* The scenario that runs, and the results of a run without failures. */
struct run {
    const struct scenario *scenario;
    struct world *world;
    struct worker worker;
    struct play play;
    struct answer right;
    char before[WORLD_STATE_SIZE];
    char after[WORLD_STATE_SIZE];
    bool reads_only;
    size_t n_allocations;
    size_t n_failures;
    size_t n_faults;
    size_t n_refused; /* failures answered with 503 */
    size_t n;         /* the allocation that fails */
    bool for_good;
};

/* For the handler of crashes. */
static const struct run *current;

static void say_crash(int signal)
{
    /* NOLINTBEGIN(bugprone-signal-handler): the process ends anyway */
    printf("FAIL %s: signal %d, failing from the %zu. of %zu allocations%s\n",
           current->scenario->name, signal, current->n, current->n_allocations,
           current->for_good ? " on" : "");
    fflush(stdout);
    /* NOLINTEND(bugprone-signal-handler) */
    _exit(EXIT_FAILURE);
}

/* With a sanitizer, leave crashes to it: it reports more, on the original standard error. */
static void watch_crashes(void)
{
#if defined(__SANITIZE_ADDRESS__)
    (void)say_crash;
    __sanitizer_set_report_fd((void *)(intptr_t)dup(STDERR_FILENO));
#else
    signal(SIGSEGV, say_crash);
    signal(SIGABRT, say_crash);
    signal(SIGBUS, say_crash);
#endif
}

/* Each refusal logs a line: thousands in all.  They go to a file without a name. */
static void hide_log(void)
{
    int file = open("/tmp", O_RDWR | O_APPEND | O_TMPFILE | O_CLOEXEC, 0600);

    if (file < 0 || dup2(file, STDERR_FILENO) < 0)
        _exit(EXIT_FAILURE);
}

static void forget_log(void)
{
    (void)!ftruncate(STDERR_FILENO, 0);
}

static void show_log(void)
{
    char line[1024];
    ssize_t len = pread(STDERR_FILENO, line, sizeof line, 0);

    printf("%.*s", len > 0 ? (int)len : 0, line);
}

static void fault(struct run *run, const char *what)
{
    if (run->n_faults++ < MAX_PRINTED)
        printf("FAIL %s: %s, %s %zu of %zu: %d %.300s\n", run->scenario->name, what,
               run->for_good ? "failing from" : "failing", run->n, run->n_allocations,
               run->worker.response.status, buf_text(&run->worker.response.body).s);
}

/* ---- sending requests ---- */

/* Drops memory that a worker keeps, since it would avoid allocations. */
static void freshen(struct run *run)
{
    worker_forget(&run->worker);
    if (run->scenario->cold) {
        worker_close(&run->worker);
        worker_open(&run->worker, run->world);
    }
}

static void reset(struct run *run)
{
    if (!run->reads_only)
        world_reset(run->world);
}

static void play_right(struct run *run)
{
    struct answer answer;

    play_answer(&run->play, run->world, &run->worker);
    answer_take(&answer, &run->worker.response);
    if (!answer_equal(&answer, &run->right))
        fault(run, "the next answer is wrong");
    answer_free(&answer);
}

/* If an answer refuses a change that was made, it must say that the outcome is unknown. */
static void judge_tables(struct run *run, bool refused, int number)
{
    char state[WORLD_STATE_SIZE];
    bool changed;

    if (run->reads_only)
        return;
    world_state(run->world, state);
    changed = strcmp(state, run->after) == 0;
    if (!changed && !(refused && strcmp(state, run->before) == 0))
        fault(run,
              refused ? "the tables have neither the old nor the new state" : "nothing was stored");
    if (changed && refused && number != error_row(ERR_OUTCOME_UNKNOWN)->number)
        fault(run, "the answer invites a retry of a change that was made");
}

static void judge(struct run *run)
{
    struct answer answer;
    const char *wrong = NULL;
    bool right;

    answer_take(&answer, &run->worker.response);
    right = answer_equal(&answer, &run->right);
    if (!right)
        wrong = answer_refusal_fault(&run->worker.response);
    if (wrong)
        fault(run, wrong);
    run->n_refused += !right;
    judge_tables(run, !right, answer_number(&answer));
    answer_free(&answer);
}

static void fail_at(struct run *run, size_t n, bool for_good)
{
    run->n = n;
    run->for_good = for_good;
    reset(run);
    freshen(run);
    hook_arm(n, for_good);
    play_answer(&run->play, run->world, &run->worker);
    hook_disarm();
    run->n_failures++;
    judge(run);
    reset(run);
    play_right(run);
}

/* ---- a scenario ---- */

/* Returns the number of allocations.  A first run makes those that happen only once. */
static size_t count(struct run *run)
{
    freshen(run);
    hook_arm(0, false);
    play_answer(&run->play, run->world, &run->worker);
    return hook_disarm();
}

static bool learn(struct run *run)
{
    world_reset(run->world);
    world_state(run->world, run->before);
    forget_log();
    play_answer(&run->play, run->world, &run->worker);
    world_state(run->world, run->after);
    answer_take(&run->right, &run->worker.response);
    run->reads_only = strcmp(run->before, run->after) == 0;
    if (run->right.status != run->scenario->status ||
        answer_number(&run->right) != run->scenario->number) {
        fault(run, "the answer is wrong without any failure");
        show_log();
        return false;
    }
    reset(run);
    run->n_allocations = count(run);
    return true;
}

static void judge_end(struct run *run)
{
    char state[WORLD_STATE_SIZE];

    world_state(run->world, state);
    if (strcmp(state, run->after) != 0)
        fault(run, "the tables have changed");
}

static void fail_all(struct run *run)
{
    for (int for_good = 0; for_good < 2; for_good++) {
        for (size_t n = 1; n <= run->n_allocations; n++)
            fail_at(run, n, for_good);
    }
    judge_end(run);
}

/* Frees libcrypto's memory of this thread, which would look like a leak. */
static long live_blocks(void)
{
    OPENSSL_thread_stop();
    return hook_live();
}

static void play_scenario(struct run *run)
{
    long live = live_blocks();
    int64_t started_ms = clock_steady_ms();

    current = run;
    worker_open(&run->worker, run->world);
    play_make(&run->play, run->scenario, run->world);
    if (learn(run))
        fail_all(run);
    play_free(&run->play);
    answer_free(&run->right);
    worker_close(&run->worker);
    live = live_blocks() - live;
    if (live != 0)
        printf("FAIL %s: %ld blocks leak\n", run->scenario->name, live);
    run->n_faults += live != 0;
    printf("%-28s %4zu allocations, %4zu failures, %4zu refused, %zu faults, %.1f s\n",
           run->scenario->name, run->n_allocations, run->n_failures, run->n_refused, run->n_faults,
           (double)(clock_steady_ms() - started_ms) / 1000);
    fflush(stdout);
}

/* ---- libcrypto ---- */

static bool use_crypt(void)
{
    static const unsigned char key[CRYPT_KEY_LEN];
    unsigned char sealed[4 + CRYPT_SEAL_OVERHEAD];
    char opened[4];
    struct crypt_hasher *hasher = crypt_hasher_new();
    struct crypt_cipher *cipher = crypt_cipher_new();
    bool ok = hasher && crypt_hasher_sha256(hasher, "text", 4, sealed) &&
              crypt_sha256("text", 4, sealed) && cipher && crypt_cipher_set_key(cipher, key) &&
              crypt_seal(cipher, text_of("aad"), text_of("text"), sealed) &&
              crypt_open(cipher, text_of("aad"), sealed, sizeof sealed, opened) == CRYPT_OPENED;

    crypt_hasher_free(hasher);
    crypt_cipher_free(cipher);
    return ok;
}

/* Runs in a new process, in which libcrypto was not used before. */
static bool recovers(size_t n, bool for_good)
{
    int status;
    pid_t child = fork();

    if (child == 0) {
        bool started = crypt_start();

        hook_arm(n, for_good);
        use_crypt();
        started = hook_disarm() < MAX_CRYPT_FAILURES && started;
        _exit(started && use_crypt() ? EXIT_SUCCESS : EXIT_FAILURE);
    }
    return child > 0 && waitpid(child, &status, 0) == child && status == 0;
}

/* libcrypto recovers from any failure during its set-up.  Must run before other uses of it. */
static size_t play_libcrypto(size_t *n_failures)
{
    size_t n_faults = 0;

    for (size_t n = 1; n <= MAX_CRYPT_FAILURES; n++) {
        n_faults += !recovers(n, false);
        n_faults += !recovers(n, true);
        *n_failures += 2;
    }
    printf("%s%-28s %23d failures, %22zu faults\n", n_faults ? "FAIL " : "", "libcrypto, set up",
           2 * MAX_CRYPT_FAILURES, n_faults);
    return n_faults;
}

/* ---- all ---- */

/* Runs each scenario once, so that libraries allocate the memory that they keep before the test
 * counts blocks. */
static void warm_up(struct world *world)
{
    for (const struct scenario *scenario = scenarios; scenario->name; scenario++) {
        struct run run = {.scenario = scenario, .world = world};

        current = &run;
        worker_open(&run.worker, world);
        play_make(&run.play, scenario, world);
        play_answer(&run.play, world, &run.worker);
        play_free(&run.play);
        worker_close(&run.worker);
    }
}

int main(int argc, char **argv)
{
    const char *conninfo = getenv("ADIT_TEST_CONNINFO");
    struct world *world;
    size_t n_scenarios = 1;
    size_t n_failures = 0;
    size_t n_failed;

    if (!conninfo) {
        fprintf(stderr, "alloc_tests: run this with tests/unit/with_postgres\n");
        return 2;
    }
    watch_crashes();
    hide_log();
    n_failed = play_libcrypto(&n_failures) > 0;
    world = world_make(conninfo);
    warm_up(world);
    for (const struct scenario *scenario = scenarios; scenario->name; scenario++) {
        struct run run = {.scenario = scenario, .world = world};

        if (argc > 1 && !strstr(scenario->name, argv[1]))
            continue;
        play_scenario(&run);
        n_scenarios++;
        n_failures += run.n_failures;
        n_failed += run.n_faults > 0;
    }
    world_free(world);
    printf("alloc: %zu scenarios, %zu failures of allocations\n", n_scenarios, n_failures);
    printf("alloc: %zu passed, %zu failed\n", n_scenarios - n_failed, n_failed);
    return n_failed || n_failures == 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}
