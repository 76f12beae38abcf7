/* SPDX-License-Identifier: MIT */
/* Reading a request to the gate, and answering it in the words of who asked. */
#include "gate/gate_call.h"

#include <string.h>

#include "base/ascii.h"
#include "base/clock.h"
#include "base/invisible.h"
#include "gate/login_state.h"
#include "gate/rules.h"
#include "http/header.h"

const char *const gate_variables[GATE_N_VARIABLES] = {
    [GATE_ADIT_EDGE] = "ADIT_EDGE",
    [GATE_ADIT_ROUTE] = "ADIT_ROUTE",
    [GATE_ADIT_ACCOUNT] = "ADIT_ACCOUNT",
    [GATE_ADIT_URL] = "ADIT_URL",
    [GATE_ADIT_CHECK] = "ADIT_CHECK",
    [GATE_ADIT_PAGE] = "ADIT_PAGE",
    [GATE_ADIT_METRICS] = "ADIT_METRICS",
    [GATE_REQUEST_URI] = "REQUEST_URI",
    [GATE_HOST] = "HTTP_HOST",
    [GATE_SCHEME] = "REQUEST_SCHEME",
    [GATE_COOKIE] = "HTTP_COOKIE",
    [GATE_FETCH_MODE] = "HTTP_SEC_FETCH_MODE",
    [GATE_FETCH_SITE] = "HTTP_SEC_FETCH_SITE",
    [GATE_ACCEPT] = "HTTP_ACCEPT",
    [GATE_WEBSOCKET_KEY] = "HTTP_SEC_WEBSOCKET_KEY",
};

struct text gate_call_variable(const struct gate_call *call, enum gate_variable variable)
{
    return text_of(call->request->others[variable]);
}

static bool is_set(const struct gate_call *call, enum gate_variable variable)
{
    return text_eq(gate_call_variable(call, variable), text_of("1"));
}

bool gate_call_is_for_metrics(const struct request *request)
{
    return !request->is_authorizer && !text_present(text_of(request->others[GATE_ADIT_CHECK])) &&
           text_eq(text_of(request->others[GATE_ADIT_METRICS]), text_of("1"));
}

static struct text path_of_uri(struct text uri)
{
    const char *query = memchr(uri.s, '?', uri.len);

    return query ? text_part(uri, 0, (size_t)(query - uri.s)) : uri;
}

struct log_source gate_call_route_source(const struct gate_call *call)
{
    struct log_source source = log_source_of(LOG_PARTY_PLACE, call->question.account_id);

    log_source_add(&source, call->question.route.edge_id);
    log_source_add(&source, call->question.route.route_id);
    return source;
}

static struct log_source source_of_visitor(const struct gate_call *call, const struct identity *who)
{
    struct log_source source;

    if (!who || !call->stored.has_module || !rules_admit(&call->stored.module.config, who))
        return log_stranger(header_client_address(call->request));
    source = log_source_of(LOG_PARTY_KNOWN, call->place.account_id);
    log_source_add(&source, who->subject);
    return source;
}

void gate_call_log(const struct gate_call *call, enum log_level level, const char *event,
                   const char *cause, const struct identity *who)
{
    const struct log_pair pairs[] = {{"edge", call->question.route.edge_id.s},
                                     {"route", call->question.route.route_id.s},
                                     {"account", call->place.account_id.s},
                                     {"subject", who ? who->subject.s : NULL},
                                     {"name", who ? who->name.s : NULL},
                                     {"address", header_client_address(call->request)},
                                     {"cause", cause},
                                     {NULL, NULL}};
    const struct log *log = &call->lane->worker->gate->conf.log;
    struct log_source source;

    if (!log_wants(log, level))
        return;
    source =
        level <= LOG_LEVEL_WARNING ? gate_call_route_source(call) : source_of_visitor(call, who);
    log_often(log, level, event, &source, pairs);
}

/* ---- the request ---- */

bool gate_call_begin(struct gate_call *call, struct gate_lane *lane, const struct request *request)
{
    const struct conf_gate *conf = &lane->worker->gate->conf.gate;

    *call = (struct gate_call){.lane = lane, .request = request, .now = clock_wall_ms() / 1000};
    if (request->is_authorizer)
        call->voice = CALL_APACHE;
    else
        call->voice = is_set(call, GATE_ADIT_CHECK) ? CALL_NGINX : CALL_BROWSER;
    call->path = path_of_uri(gate_call_variable(call, GATE_REQUEST_URI));
    cookies_read(gate_call_variable(call, GATE_COOKIE), &lane->arena, &call->cookies);
    call->question.account_id = gate_call_variable(call, GATE_ADIT_ACCOUNT);
    if (!text_present(call->question.account_id))
        call->question.account_id = text_of(conf->account);
    call->question.route.edge_id = gate_call_variable(call, GATE_ADIT_EDGE);
    call->question.route.route_id = gate_call_variable(call, GATE_ADIT_ROUTE);
    if (text_present(call->question.route.edge_id) && text_present(call->question.route.route_id))
        return true;
    gate_call_log(
        call, LOG_LEVEL_ERROR, "cannot decide",
        "the web server sets no ADIT_EDGE and ADIT_ROUTE; print its configuration again with "
        "'aditctl gateway-config'",
        NULL);
    gate_call_refuse(call, HTML_PAGE_NOT_READY, NULL);
    return false;
}

bool gate_call_is_read(const struct gate_call *call)
{
    struct text method = text_of(call->request->method);

    return text_eq(method, text_of("GET")) || text_eq(method, text_of("HEAD"));
}

bool gate_call_is_secure(const struct gate_call *call)
{
    return !text_begins(gate_call_variable(call, GATE_ADIT_URL), "http://");
}

void gate_call_cookie_name(const struct gate_call *call, struct buf *out, const char *suffix)
{
    buf_add(out, call->cookie_prefix.s, call->cookie_prefix.len);
    buf_puts(out, suffix);
}

struct text gate_call_keep(const struct gate_call *call, struct buf *from)
{
    struct arena *arena = &call->lane->arena;
    struct text text = buf_text(from);
    const char *copy = from->failed ? NULL : arena_copy(arena, text.s, text.len);

    arena->failed = arena->failed || from->failed;
    buf_free(from);
    return copy ? (struct text){copy, text.len} : (struct text){.s = NULL};
}

/* ---- headers ---- */

static struct response *response_of(struct gate_call *call)
{
    return &call->lane->response;
}

/* Begins the call's one answer. */
static struct response *begin_answer(struct gate_call *call, int status, size_t outcome)
{
    struct response *response = response_of(call);

    call->phase = CALL_ANSWERED;
    call->outcome = outcome;
    response->status = status;
    return response;
}

/* Values have no control characters: each is made here, or checked where it came from. */
static void put_header(struct gate_call *call, const char *name, struct text value)
{
    struct buf *headers = &response_of(call)->headers;

    buf_puts(headers, name);
    buf_puts(headers, ": ");
    buf_add(headers, value.s, value.len);
    buf_puts(headers, "\r\n");
}

void gate_call_set_cookie(struct gate_call *call, struct text set_cookie)
{
    if (set_cookie.s)
        put_header(call, "Set-Cookie", set_cookie);
}

static void add_fixed_headers(struct gate_call *call, const char *referrer_policy)
{
    put_header(call, "Cache-Control", text_of("no-store"));
    put_header(call, "Referrer-Policy", text_of(referrer_policy));
    put_header(call, "X-Content-Type-Options", text_of("nosniff"));
}

/* Adds what the application may see of the visitor. */
static void add_application_header(struct gate_call *call, const char *name, struct text value)
{
    if (!text_present(value))
        return;
    buf_puts(&response_of(call)->headers,
             call->voice == CALL_APACHE ? "Variable-ADIT_" : "X-Adit-");
    put_header(call, name, value);
}

/* An application would show two visitors alike who differ in what does not show, and takes one
 * without a name for everybody. */
static bool is_clean(struct text value)
{
    struct invisible found;

    for (size_t i = 0; i < value.len; i++) {
        if ((unsigned char)value.s[i] < ' ' || value.s[i] == 0x7F)
            return false;
    }
    return !invisible_find(value, &found);
}

/* An address has one spelling, whichever the provider gives: else an application would take one
 * visitor for two. */
static struct text in_lower_case(const struct gate_call *call, struct text address)
{
    struct buf lower = {0};

    for (size_t i = 0; i < address.len; i++) {
        char c = ascii_lower(address.s[i]);

        buf_add(&lower, &c, 1);
    }
    return gate_call_keep(call, &lower);
}

static struct text name_for_application(const struct gate_call *call, const struct identity *who)
{
    const char *provider =
        call->lane->worker->gate->conf
            .provider_names[call->place.provider > 0 ? call->place.provider - 1 : 0];
    struct buf name = {0};

    if (who->emails.n > 0 && is_clean(who->emails.items[0]))
        return in_lower_case(call, who->emails.items[0]);
    /* Subjects are visible ASCII: gate/provider_answer.c. */
    buf_puts(&name, provider);
    buf_puts(&name, ":");
    buf_add(&name, who->subject.s, who->subject.len);
    return gate_call_keep(call, &name);
}

/* ---- answers ---- */

/* A browser comes here if nginx asked for the page of a refusal that no longer holds, or by a path
 * that a web server takes for one of the gate's: sent back to that, it would come again.  What a
 * request wanted to change has not reached the application: sent elsewhere, it would seem done. */
static void answer_too_late(struct gate_call *call, const struct identity *who,
                            struct text set_cookie)
{
    struct text uri = gate_call_variable(call, GATE_REQUEST_URI);

    if (!is_set(call, GATE_ADIT_PAGE))
        gate_call_send_to(call, text_of("/"), set_cookie);
    else if (gate_call_is_read(call))
        gate_call_send_to(call, login_way_back_valid(uri) ? uri : text_of("/"), set_cookie);
    else {
        gate_call_refuse(call, HTML_PAGE_NOT_READY, who);
        gate_call_set_cookie(call, set_cookie);
    }
}

static bool is_session_of_gate(void *context, struct text value)
{
    return visitor_session_looks_sealed(context, value);
}

/* Only a check lets anything pass. */
void gate_call_pass(struct gate_call *call, const struct identity *who, struct text set_cookie)
{
    struct response *response;
    struct text user = who ? name_for_application(call, who) : (struct text){.s = NULL};
    const struct cookie_own own = {call->cookie_prefix, is_session_of_gate,
                                   call->lane->worker->gate->keyring};
    struct buf cookies = {0};

    if (call->voice == CALL_BROWSER) {
        answer_too_late(call, who, set_cookie);
        return;
    }
    response = begin_answer(call, 200, who ? COUNTS_PASSED : COUNTS_OPEN);
    /* An authorizer's other headers would become the application's. */
    response->omit_body = call->voice == CALL_APACHE;
    /* nginx may be told to cache what FastCGI programs answer. */
    if (call->voice == CALL_NGINX)
        put_header(call, "Cache-Control", text_of("no-store"));
    if (user.s)
        add_application_header(call, call->voice == CALL_APACHE ? "USER" : "User", user);
    cookie_without(&cookies, gate_call_variable(call, GATE_COOKIE), &own);
    add_application_header(call, call->voice == CALL_APACHE ? "COOKIE" : "Cookie",
                           buf_text(&cookies));
    response->headers.failed = response->headers.failed || cookies.failed;
    buf_free(&cookies);
    gate_call_set_cookie(call, set_cookie);
}

void gate_call_send_to(struct gate_call *call, struct text url, struct text set_cookie)
{
    int status = url.s && call->voice != CALL_NGINX ? 302 : 401;

    (void)begin_answer(call, status, COUNTS_SENT);
    add_fixed_headers(call, "no-referrer");
    if (url.s)
        put_header(call, call->voice == CALL_NGINX ? "X-Adit-Location" : "Location", url);
    gate_call_set_cookie(call, set_cookie);
}

/* Returns where a page's link leads that is not the page's own URL. */
static struct text link_of(struct text again)
{
    return text_present(again) && again.len <= HTML_PAGE_PATH_MAX && login_way_back_valid(again)
               ? again
               : text_of("/");
}

static struct text shown_name(const struct identity *who)
{
    if (!who)
        return (struct text){.s = NULL};
    if (who->emails.n > 0)
        return who->emails.items[0];
    return who->name.s ? who->name : who->subject;
}

void gate_call_refuse(struct gate_call *call, enum html_page page, const struct identity *who)
{
    struct response *response = begin_answer(call, html_page_status(page), COUNTS_PAGE(page));
    struct text uri = gate_call_variable(call, GATE_REQUEST_URI);
    bool is_own = text_begins(call->path, GATE_PATH);
    bool is_here = !call->again.s && !is_own && uri.len > HTML_PAGE_PATH_MAX;
    struct text again = call->again.s || is_own ? call->again : uri;
    const struct html_page_words words = {
        .who = shown_name(who),
        .provider = text_of(
            call->place.provider > 0 ? identity_provider_at(call->place.provider)->title : NULL),
        .again = link_of(again),
        .again_is_here = is_here && login_way_back_valid(uri),
        .logout = who ? text_of(GATE_LOGOUT) : (struct text){.s = NULL}};

    /* With "no-referrer", browsers hide the Origin of the page's own form. */
    add_fixed_headers(call, "strict-origin");
    if (response->status == 503)
        put_header(call, "Retry-After", text_of("5"));
    if (call->voice == CALL_NGINX)
        return;
    put_header(call, "Content-Type", text_of("text/html; charset=utf-8"));
    put_header(call, "Content-Security-Policy", text_of(HTML_PAGE_POLICY));
    html_page_write(&response->body, page, &words);
}

/* ---- the end ---- */

static void empty_response(struct response *response)
{
    buf_clear(&response->headers);
    buf_clear(&response->body);
    response->omit_body = false;
}

/* A missing byte could be a session's, a list's or a header's: "200" without the visitor's name, or
 * the way to the provider for somebody who is signed in. */
void gate_call_end(struct gate_call *call)
{
    struct response *response = response_of(call);
    const char *fault = NULL;

    if (call->lane->arena.failed || response->headers.failed || response->body.failed)
        fault = "out of memory";
    else if (call->phase != CALL_ANSWERED)
        fault = "nothing has answered; this is a fault of the gate";
    if (!fault)
        return;
    gate_call_log(call, LOG_LEVEL_ERROR, "cannot decide", fault, NULL);
    empty_response(response);
    gate_call_refuse(call, HTML_PAGE_NOT_READY, NULL);
    if (response->headers.failed || response->body.failed)
        empty_response(response);
}
