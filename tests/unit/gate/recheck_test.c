/* SPDX-License-Identifier: MIT */
/* Tests of which answers of providers are kept. */
#include "gate/recheck.h"

#include <check.h>
#include <string.h>

#include "gate/waiting.h"
#include "suites.h"

static struct gate gate;
static struct gate_worker worker;
static struct gate_lane lane;
static bool is_away; /* the provider */

enum provider_outcome __real_provider_identify(struct provider_asking *asking, struct text token,
                                               struct identity *identity);
enum provider_outcome __wrap_provider_identify(struct provider_asking *asking, struct text token,
                                               struct identity *identity);

enum provider_outcome __wrap_provider_identify(struct provider_asking *asking, struct text token,
                                               struct identity *identity)
{
    if (!is_away)
        return __real_provider_identify(asking, token, identity);
    asking->why = "it is away";
    return PROVIDER_AWAY;
}

static void start(void)
{
    is_away = true;
    gate = (struct gate){.conf.log = {.level = LOG_LEVEL_ERROR}};
    worker = (struct gate_worker){.gate = &gate};
    lane = (struct gate_lane){.worker = &worker};
}

static void end(void)
{
    is_away = false;
    rechecks_free(&worker.rechecks);
    arena_free(&lane.arena);
}

static struct visitor_session session_of(const char *subject, uint32_t which)
{
    struct visitor_session session = {
        .token = text_of("token"),
        .identity = {.known = IDENTITY_ALL, .subject = text_of(subject)}};

    memcpy(session.id, subject, 1);
    memcpy(session.id + 1, &which, sizeof which);
    return session;
}

static void ask(const char *subject, uint32_t which)
{
    const struct request request = {.others = {[GATE_ADIT_URL] = "https://app.example.com"}};
    struct gate_call call = {.lane = &lane,
                             .request = &request,
                             .place = {.account_id = text_of("ac_1"), .provider = 1},
                             .stored = {.has_module = true,
                                        .module = {.auth_check_interval = 30,
                                                   .config = {.client_id = text_of("client")}}}};
    struct visitor_session session = session_of(subject, which);

    ck_assert_int_eq(recheck(&call, &session), PROVIDER_AWAY);
}

static bool is_kept(const char *subject, uint32_t which)
{
    const struct visitor_session session = session_of(subject, which);

    for (size_t i = 0; i < RECHECKS_MAX; i++) {
        if (memcmp(worker.rechecks.items[i].id, session.id, VISITOR_SESSION_ID_LEN) == 0)
            return true;
    }
    return false;
}

/* The answers about others stay, and the newest ones about the visitor. */
START_TEST(many_sessions_of_one_visitor)
{
    const uint32_t n = RECHECKS_MAX + 50;
    uint32_t n_kept = 0;

    ask("b", 0);
    for (uint32_t i = 0; i < n; i++)
        ask("a", i);
    ck_assert(is_kept("b", 0));
    for (uint32_t i = 0; i < n; i++)
        n_kept += is_kept("a", i);
    ck_assert_uint_eq(n_kept, RECHECKS_OF_VISITOR_MAX);
    ck_assert(is_kept("a", n - 1));
}
END_TEST

/* Only questions count, and not those for which there was no lane: that is no answer to keep. */
START_TEST(no_lane)
{
    worker.n_waiting = GATE_WAITING_MAX;
    ask("b", 0);
    ck_assert(!is_kept("b", 0));
    for (size_t i = 0; i < GATE_STORED_MAX; i++)
        ck_assert_int_eq(worker.visitors[i].n[GATE_CHECKS], 0);
}
END_TEST

/* Whoever reads an answer that may not be the last one asks, whatever the interval. */
START_TEST(an_answer_that_is_not_confirmed)
{
    for (int is_unconfirmed = 0; is_unconfirmed < 2; is_unconfirmed++) {
        struct visitor_session session = session_of("a", 1);
        struct visitor_session read = session;
        struct buf bytes = {0};

        session.checked = 1;
        session.is_unconfirmed = is_unconfirmed;
        visitor_session_write_identity(&bytes, &session);
        ck_assert(visitor_session_read_identity(buf_text(&bytes), &lane.arena, &read));
        ck_assert_int_eq(read.is_unconfirmed, is_unconfirmed);
        buf_free(&bytes);
    }
}
END_TEST

Suite *gate_recheck_suite(void)
{
    Suite *suite = suite_create("gate/recheck");
    TCase *tests = tcase_create("recheck");

    tcase_add_checked_fixture(tests, start, end);
    tcase_add_test(tests, many_sessions_of_one_visitor);
    tcase_add_test(tests, no_lane);
    tcase_add_test(tests, an_answer_that_is_not_confirmed);
    suite_add_tcase(suite, tests);
    return suite;
}
