/* SPDX-License-Identifier: MIT */
/* The decision whether a request may pass. */
#include "gate/check.h"

#include "base/clock.h"
#include "gate/login.h"
#include "gate/recheck.h"
#include "gate/rules.h"
#include "gate/visit.h"

static void cannot_decide(struct gate_call *call, const struct error *err)
{
    gate_call_log(call, LOG_LEVEL_ERROR, "cannot decide", error_reason(err), NULL);
    gate_call_refuse(call, HTML_PAGE_NOT_READY, NULL);
}

/* Lets a visitor pass whom the lists let in now.  is_new: the provider was just asked. */
static void pass(struct gate_call *call, struct visitor_session *session, bool is_new)
{
    struct text set_cookie = {.s = NULL};
    struct error err = {.code = ERR_NONE};
    bool moves = call->stored.module.inactivity_timeout > 0 && session->seen != call->now;

    if (moves)
        session->seen = call->now;
    if ((moves || is_new) &&
        !visit_keep(call, session, is_new ? VISIT_ALLOWED : VISIT_SEEN, &set_cookie, &err))
        cannot_decide(call, &err);
    else
        gate_call_pass(call, &session->identity, set_cookie);
}

/* Does not let a visitor pass.  is_new: the session has something new since the provider was asked,
 * which its cookie remembers: the provider is asked again only when it is time.  No row is made for
 * who is not let in; one that is there stays. */
static void refuse_visitor(struct gate_call *call, struct visitor_session *session,
                           enum html_page page, bool is_new)
{
    struct text set_cookie = {.s = NULL};
    struct error err = {.code = ERR_NONE};
    bool may_have_row = session->row || visit_lets_in(call, session);
    enum visit_news news = may_have_row ? VISIT_ALLOWED : VISIT_REFUSED;

    if (is_new && !visit_keep(call, session, news, &set_cookie, &err)) {
        cannot_decide(call, &err);
        return;
    }
    gate_call_refuse(call, page, &session->identity);
    gate_call_set_cookie(call, set_cookie);
}

/* What is known of a session now. */
struct verdict {
    enum provider_outcome outcome;
    bool is_due;     /* the provider was asked, or should have been */
    bool is_renewed; /* there are new tokens */
    bool is_let_in;
};

/* Judges a session that lasts, by the lists as they are now.  If it is time, or these may name what
 * it lacks, the provider is asked. */
static struct verdict judge_visitor(struct gate_call *call, struct visitor_session *session)
{
    const struct visitor_session_limits limits = visit_limits(call);
    uint32_t n_before = session->n_renewed;
    struct verdict verdict = {.outcome = PROVIDER_ANSWERED};

    verdict.is_due = visitor_session_needs_check(session, &limits, call->now) ||
                     rules_may_lack(&call->stored.module.config, &session->identity);
    if (verdict.is_due)
        verdict.outcome = recheck(call, session);
    verdict.is_renewed = session->n_renewed > n_before;
    verdict.is_let_in = verdict.outcome == PROVIDER_ANSWERED && visit_lets_in(call, session);
    return verdict;
}

/* Answers whoever is not let in, or may be after another sign-in. */
static void turn_away(struct gate_call *call, struct visitor_session *session,
                      const struct verdict *verdict)
{
    switch (verdict->outcome) {
    case PROVIDER_REFUSED:
        login_begin(call);
        break;
    case PROVIDER_AWAY:
        refuse_visitor(call, session, HTML_PAGE_CHECK_AWAY, verdict->is_renewed);
        break;
    case PROVIDER_ANSWERED:
        if (login_may_let_in(call, session)) {
            login_begin(call);
            break;
        }
        gate_call_log(call, LOG_LEVEL_DEBUG, "not let in", NULL, &session->identity);
        refuse_visitor(call, session, HTML_PAGE_NOT_ALLOWED, verdict->is_due);
        break;
    default:
        refuse_visitor(call, session, HTML_PAGE_NOT_SET_UP, verdict->is_renewed);
    }
}

/* The first counts, unless the provider lets another one in by now, or may. */
static void judge_visitors(struct gate_call *call, struct visits *visits)
{
    struct verdict counts = {.is_let_in = false};
    size_t at = 0;

    for (size_t i = 0; i < visits->n; i++) {
        struct verdict verdict = judge_visitor(call, &visits->items[i]);

        if (verdict.is_let_in) {
            pass(call, &visits->items[i], verdict.is_due);
            return;
        }
        if (i == 0 || (counts.outcome == PROVIDER_ANSWERED && verdict.outcome == PROVIDER_AWAY)) {
            counts = verdict;
            at = i;
        }
    }
    turn_away(call, &visits->items[at], &counts);
}

/* A worker tells of a route without a module once in this time. */
#define TELL_MS 10000

/* Routes that share a place are told in turn, as often as the log takes lines of each. */
static bool was_told(struct gate_worker *worker, uint64_t route)
{
    struct gate_told *told = &worker->told[route % GATE_TOLD_MAX];
    int64_t now_ms = clock_steady_ms();

    if (told->at_ms != 0 && told->route == route && now_ms - told->at_ms < TELL_MS)
        return true;
    *told = (struct gate_told){.route = route, .at_ms = now_ms};
    return false;
}

/* The route may be open on purpose, or its module deleted, or its name misspelt. */
static void answer_without_module(struct gate_call *call)
{
    struct gate_worker *worker = call->lane->worker;
    bool refuses = worker->gate->conf.gate.refuses_without_module;

    if (!was_told(worker, gate_call_route_source(call).id))
        gate_call_log(
            call, LOG_LEVEL_WARNING, "the route has no module",
            refuses ? "nobody passes: [gate] without_module is refuse" : "everybody passes", NULL);
    if (refuses)
        gate_call_refuse(call, HTML_PAGE_NO_MODULE, NULL);
    else {
        gate_call_pass(call, NULL, (struct text){.s = NULL});
        call->outcome = COUNTS_UNASKED;
    }
}

void check_answer(struct gate_call *call)
{
    const struct oauth_module *module = &call->stored.module;
    struct visits visits;
    struct error err = {.code = ERR_NONE};

    if (!call->stored.has_module) {
        answer_without_module(call);
        return;
    }
    if (!module->enabled || (module->options_passthrough &&
                             text_eq(text_of(call->request->method), text_of("OPTIONS")))) {
        gate_call_pass(call, NULL, (struct text){.s = NULL});
        return;
    }
    if (module->provider == 0) {
        gate_call_refuse(call, HTML_PAGE_NO_PROVIDER, NULL);
        return;
    }
    switch (visit_find(call, &visits, &err)) {
    case VISIT_UNKNOWN:
        cannot_decide(call, &err);
        break;
    case VISIT_FOUND:
        judge_visitors(call, &visits);
        break;
    case VISIT_NONE:
        login_begin(call);
        break;
    }
}
