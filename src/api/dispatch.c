/* SPDX-License-Identifier: MIT */
/* The gates that a request passes, in their documented order, and then its handler. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "api/call.h"
#include "api/metrics.h"
#include "base/address.h"
#include "base/base62.h"
#include "base/clock.h"
#include "base/ident.h"
#include "http/cors.h"
#include "http/header.h"

#define METHOD_MAX 16
#define PATH_MAX_LEN 1024

static void copy_name(char *to, struct text text)
{
    if (text.len > 0)
        memcpy(to, text.s, text.len);
    to[text.len] = '\0';
}

/* A method or path that is too long for the copies gets its error later, in a lane.  Every filter
 * counts as a scan, also one that an index answers, such as obj.owner_id == "x": to tell, the loop
 * would have to parse it, and the filter of a caller who may not ask at all. */
enum request_work api_work(struct text method, struct text path, struct text query)
{
    char method_copy[METHOD_MAX + 1];
    char path_copy[PATH_MAX_LEN + 1];
    struct route_match match;
    struct buf allow = {0};
    struct error err;
    enum request_work work = REQUEST_INSTANT;

    if (method.len > METHOD_MAX || path.len > PATH_MAX_LEN)
        return REQUEST_LONG;
    copy_name(method_copy, method);
    copy_name(path_copy, path);
    if (route_find(api_routes, method_copy, path_copy, &match, &allow, &err) && match.route)
        work = match.route->work;
    if (work == REQUEST_LONG && match.route->query && query_gives(query, "filter"))
        work = REQUEST_SCAN;
    buf_free(&allow);
    return work;
}

struct request_caller api_caller(struct text authorization, struct text address)
{
    const struct address_network network = address_network_of(address);
    struct request_caller caller = {.account = 0};
    char account_id[IDENT_SIZE];
    struct text key;
    struct error err;

    for (size_t i = 0; network.is_known && i < address_n_widths(&network); i++) {
        const struct address_network wide = address_widen(&network, address_widths[i].n_bytes);

        caller.networks[i] = crc32_of(wide.bytes, sizeof wide.bytes);
    }
    if (!header_key(authorization, &key, &err))
        return caller;
    caller.key = crc32_of(key.s, key.len);
    caller.account =
        api_key_account(key, account_id) ? crc32_of(account_id, strlen(account_id)) : caller.key;
    return caller;
}

/* Names the reference to a client that asks for the root. */
static bool refuse_root(const struct call *call, struct error *err)
{
    struct buf docs = {0};

    if (call->settings->base_url)
        buf_puts(&docs, call->settings->base_url);
    else
        header_base_path(call->request, &docs);
    buf_puts(&docs, "/docs");
    if (docs.failed)
        error_set(err, ERR_OUT_OF_MEMORY);
    else
        error_say(err, ERR_PATH_UNKNOWN,
                  "There is nothing at this path. The reference is at %s, if it is installed.",
                  docs.data);
    buf_free(&docs);
    return false;
}

/* 413 needs no key, unlike every other error about a body: this body was not even kept. */
static bool gate_route(struct call *call, struct buf *allow, struct error *err)
{
    const struct request *request = call->request;
    bool found = route_find(api_routes, request->method, request->path, &call->match, allow, err);

    call->response->omit_body = call->match.is_head;
    if (!found)
        return err->code == ERR_PATH_UNKNOWN && strcmp(request->path, "/") == 0
                   ? refuse_root(call, err)
                   : false;
    if (request->body_state == BODY_TOO_LARGE)
        return error_set(err, ERR_BODY_TOO_LARGE);
    return true;
}

static bool only_reads(const struct call *call)
{
    return api_route_reads_only(call->match.route);
}

/* Where each account has a place of its own, a key that names no account is looked for in all of
 * them before anybody knows whether it is good: strangers can cause that with made-up keys. */
static bool gate_key_form(const struct call *call, struct error *err)
{
    if (!call->settings->require_account_in_key || call->store_request.caller.account_id[0])
        return true;
    return error_say(err, ERR_KEY_UNKNOWN,
                     "The API key has an earlier form, which this service no longer accepts. Ask "
                     "the operator for a new key.");
}

static bool gate_caller(struct call *call, struct error *err)
{
    struct text key;

    call->store_request.keys = call->match.route->keys;
    return header_bearer(call->request, &key, err) &&
           store_caller(call->store, key, &call->store_request.caller, err) &&
           gate_key_form(call, err);
}

static bool gate_once(struct call *call, struct error *err)
{
    const struct request *request = call->request;
    struct once *once = &call->store_request.once;

    if (!call->match.route->takes_idempotency_key || !request->idempotency_key)
        return true;
    if (!header_idempotency_key(request, &once->key, err))
        return false;
    return crypt_sha256(request->body.s, request->body.len, once->request_digest) ||
           error_set(err, ERR_OUT_OF_MEMORY);
}

/* Public routes need no version header, and their answers hold no URI. */
static bool gate_headers(struct call *call, struct buf *base_url, struct error *err)
{
    const struct api_settings *settings = call->settings;

    if (call->match.route->is_public)
        return true;
    if (!header_version(call->request, settings->names.version_header, err))
        return false;
    if (settings->base_url)
        buf_puts(base_url, settings->base_url);
    else if (!header_base_url(call->request, base_url, err))
        return false;
    call->base_url = buf_text(base_url);
    if (base_url->failed)
        return error_set(err, ERR_OUT_OF_MEMORY);
    if (call->request->condition_repeated)
        return error_set(err, ERR_CONDITION_MALFORMED);
    return precondition_read(call->request, &call->store_request.condition, err) &&
           gate_once(call, err);
}

static bool gate_body_size(const struct request *request, struct error *err)
{
    switch (request->body_state) {
    case BODY_WHOLE:
        return true;
    case BODY_CUT:
        return error_set(err, ERR_BODY_SHORT);
    case BODY_OVERLONG:
        return error_set(err, ERR_BODY_LONG);
    case BODY_TOO_LARGE:
        break;
    }
    return error_set(err, ERR_BODY_TOO_LARGE);
}

/* Returns false. */
static bool refuse_text_of_body(struct error *err)
{
    size_t len = strlen(err->msg);

    if (err->has_offset)
        snprintf(err->msg + len, sizeof err->msg - len, " (At byte %zu.)", err->offset);
    return false;
}

static bool parse_body(struct call *call, struct error *err)
{
    struct text body = call->request->body;

    return call->match.route->body == ROUTE_ANSWER_BODY
               ? json_parse_answer(body.s, body.len, &call->body, err)
               : json_parse(body.s, body.len, &call->body, err);
}

static bool gate_body(struct call *call, struct error *err)
{
    const struct request *request = call->request;

    if (call->match.route->body == ROUTE_NO_BODY)
        return request->body_state == BODY_WHOLE && request->body.len == 0
                   ? true
                   : error_set(err, ERR_BODY_NOT_EXPECTED);
    if (!gate_body_size(request, err))
        return false;
    if (request->body.len == 0)
        return error_set(err, ERR_BODY_MISSING);
    if (!header_content_type(request, err))
        return false;
    return parse_body(call, err) || refuse_text_of_body(err);
}

/* The values that an answer adds are for whoever sends one back: in a body that is refused anyhow,
 * they are too many. */
static bool refuse_read(const struct call *call, struct error *err)
{
    struct text body = call->request->body;
    struct error strict;

    if (call->match.route->body == ROUTE_ANSWER_BODY && !json_check(body.s, body.len, &strict)) {
        *err = strict;
        return refuse_text_of_body(err);
    }
    return false;
}

/* Checks that need no database. */
static bool gate_input(struct call *call, struct buf *base_url, struct error *err)
{
    const struct route *route = call->match.route;

    return gate_headers(call, base_url, err) &&
           query_read(call->request->query, route->query, call->arena, call->query, err) &&
           gate_body(call, err) &&
           (!route->read || route->read(call, err) || refuse_read(call, err));
}

/* A handler's statement checks the key.  A request whose input is refused before its statement gets
 * the check here, so that a caller without a good key learns nothing else.  Returns false. */
static bool refuse_input(struct call *call, struct error *err)
{
    struct error refused;

    if (!call->match.route->is_public &&
        !store_authenticate(call->store, &call->store_request, &refused))
        *err = refused;
    return false;
}

/* The same for an identifier that is refused: permission comes before existence.  Returns false. */
static bool refuse_path_id(struct call *call, struct error *err)
{
    struct error refused;

    if (!call->match.route->is_public &&
        !store_authorize(call->store, &call->store_request, !only_reads(call), &refused))
        *err = refused;
    return false;
}

static bool answer_options(struct call *call, const struct buf *allow)
{
    response_header(call->response, "Allow", buf_text(allow).s);
    cors_preflight(call->settings->allowed_origins, call->request, &call->settings->names,
                   buf_text(allow).s, call->response);
    return call_answer(call, 204);
}

static bool is_whole(const struct response *response)
{
    return !response->headers.failed && !response->body.failed;
}

/* An answer that the peer does not read occupies memory, so each account has a share of it.  The
 * answer to a change is always sent. */
static bool gate_answer(const struct call *call, struct error *err)
{
    const struct request *request = call->request;
    struct response *response = call->response;

    response->payer = crc32_of(call->identity.account_id, strlen(call->identity.account_id));
    if (!only_reads(call) || response->omit_body || !request->has_room ||
        request->has_room(request->peer, response->payer, response->body.len))
        return true;
    return error_set(err, ERR_ANSWERS_UNREAD);
}

/* If there is no memory for the answer to a committed change, the error must not invite a retry. */
static bool run_handler(struct call *call, struct error *err)
{
    const struct route *route = call->match.route;

    if (!route->run(call, err))
        return false;
    return is_whole(call->response) ||
           error_set(err, api_route_reads_only(route) ? ERR_OUT_OF_MEMORY : ERR_OUTCOME_UNKNOWN);
}

/* A change must not start after the web server has given up on the request. */
static bool gate_peer(const struct call *call, struct error *err)
{
    const struct request *request = call->request;

    if (!only_reads(call) && request->peer_gone && request->peer_gone(request->peer))
        return error_set(err, ERR_CLIENT_GONE);
    return true;
}

static bool handle(struct call *call, struct buf *allow, struct buf *base_url, struct error *err)
{
    if (!gate_route(call, allow, err))
        return false;
    if (call->match.is_options)
        return answer_options(call, allow);
    if (!call->match.route->is_public && !gate_caller(call, err))
        return false;
    if (call->request->is_at_once && call->match.route->work != REQUEST_INSTANT)
        return error_set(err, ERR_BUSY);
    if (!call->match.route->is_public &&
        !store_find_account(call->store, &call->store_request.caller, err))
        return false;
    if (!gate_input(call, base_url, err))
        return refuse_input(call, err);
    if (!call->match.route->checks_ids && !route_check_ids(&call->match, err))
        return refuse_path_id(call, err);
    return gate_peer(call, err) && run_handler(call, err) && gate_answer(call, err);
}

/* Logged as a warning: somebody may be guessing keys. */
static bool is_refused_key(int status)
{
    return status == 401 || status == 403;
}

/* Returns how severe the answer is.  That a host drains is no fault. */
static enum log_level level_of(int answered, const struct error *err)
{
    if (answered >= 500 && err->code != ERR_DRAINING)
        return LOG_LEVEL_ERROR;
    return is_refused_key(answered) ? LOG_LEVEL_WARNING : LOG_LEVEL_DEBUG;
}

/* Whoever guesses keys hides no line of a caller who has one. */
static struct log_source source_of_answer(const struct call *call)
{
    return call->identity.account_id[0]
               ? log_source_of(LOG_PARTY_KNOWN, text_of(call->identity.account_id))
               : log_stranger(call->store_request.client_address);
}

static void log_answer(const struct call *call, const char *operation_id, const struct error *err)
{
    const struct log *log = &call->settings->log;
    const struct error_row *row = err->code ? error_row(err->code) : NULL;
    int answered = call->response->status;
    enum log_level level = level_of(answered, err);
    char status[12];
    char number[12] = "";
    char duration_ms[24];
    struct log_pair pairs[] = {{"operation_id", operation_id},
                               {"method", call->request->method},
                               {"route", call->match.route ? call->match.route->path : ""},
                               {"status", status},
                               {"error", row ? row->symbol : ""},
                               {"number", number},
                               {"cause", err->cause},
                               {"duration_ms", duration_ms},
                               {"api_key_id", call->identity.key_id},
                               {"account_id", call->identity.account_id},
                               {"client_address", call->store_request.client_address},
                               {NULL, NULL}};

    if (!log_wants(log, level))
        return;
    snprintf(status, sizeof status, "%d", answered);
    if (row)
        snprintf(number, sizeof number, "%d", row->number);
    snprintf(duration_ms, sizeof duration_ms, "%" PRId64,
             (clock_steady_us() - call->started_us) / 1000);
    if (answered == 503 || is_refused_key(answered)) {
        const struct log_source source = source_of_answer(call);

        log_often(log, level, "request", &source, pairs);
    } else {
        log_event(log, level, "request", pairs);
    }
}

static void add_cors(const struct call *call)
{
    cors_answer(call->settings->allowed_origins, call->request, &call->settings->names,
                call->response);
}

static bool write_error_answer(struct call *call, const char *operation_id, const struct buf *allow,
                               const struct error *err)
{
    struct response *response = call->response;

    if (!response_error(response, &call->settings->names, operation_id, err))
        return false;
    add_cors(call);
    if (err->code == ERR_METHOD_NOT_ALLOWED)
        response_header(response, "Allow", buf_text(allow).s);
    return is_whole(response);
}

/* Without memory for an error's body, answers ERR_OUT_OF_MEMORY, whose room is reserved.  Without
 * that room, answers a bare 503. */
static void answer_error(struct call *call, const char *operation_id, const struct buf *allow,
                         struct error *err)
{
    struct response *response = call->response;

    if (write_error_answer(call, operation_id, allow, err))
        return;
    error_set(err, ERR_OUT_OF_MEMORY);
    if (write_error_answer(call, operation_id, allow, err))
        return;
    buf_free(&response->headers);
    buf_free(&response->body);
    response->status = 503;
}

void api_answer(const struct api_settings *settings, struct store *store, struct arena *arena,
                const struct request *request, struct response *response)
{
    struct call call = {.settings = settings,
                        .store = store,
                        .arena = arena,
                        .request = request,
                        .response = response,
                        .started_us = clock_steady_us()};
    char operation_id[IDENT_SIZE] = "";
    struct error err = {.code = ERR_INTERNAL};
    struct buf allow = {0};
    struct buf base_url = {0};
    bool ok;

    /* Without random numbers the answer has no identifier, but it is sent. */
    if (!ident_make_from(settings->random, operation_id, IDENT_OPERATION, clock_wall_ms()))
        operation_id[0] = '\0';
    call.store_request.operation_id = operation_id;
    call.store_request.client_address = header_client_address(request);
    call.store_request.scans_for = request->scans_for;
    call.store_request.caller.identity = &call.identity;
    call.store_request.arena = arena;
    response_start(response, &settings->names, operation_id);
    add_cors(&call);
    ok = handle(&call, &allow, &base_url, &err);
    if (ok && !is_whole(response))
        ok = error_set(&err, ERR_OUT_OF_MEMORY);
    if (ok)
        err.code = ERR_NONE;
    else
        answer_error(&call, operation_id, &allow, &err);
    log_answer(&call, operation_id, &err);
    api_metrics_count(&call, err.code);
    json_free(&call.body);
    buf_free(&allow);
    buf_free(&base_url);
    arena_reset(arena);
}
