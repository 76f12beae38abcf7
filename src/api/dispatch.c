/* SPDX-License-Identifier: MIT */
/* The gates that a request passes, in their documented order, and the handler behind them. */
#include <stdio.h>
#include <string.h>

#include "api/call.h"
#include "base/ident.h"
#include "http/header.h"

/* Says where the reference is to a client that asks for the address of the service itself. */
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

/* 413 is the one answer about a body that needs no key: the body was not even kept. */
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

static bool gate_caller(struct call *call, struct error *err)
{
    struct text key;

    return header_bearer(call->request, &key, err) &&
           store_caller(call->store, key, &call->caller, err);
}

static bool gate_once(struct call *call, struct error *err)
{
    const struct request *request = call->request;
    struct once *once = &call->caller.once;

    if (!call->match.route->takes_idempotency_key || !request->idempotency_key)
        return true;
    if (!header_idempotency_key(request, &once->key, err))
        return false;
    once->base_url = call->base_url;
    return crypt_sha256(request->body.s, request->body.len, once->request_digest) ||
           error_set(err, ERR_OUT_OF_MEMORY);
}

/* Routes that are public answer without a version, and without a URI. */
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
    return precondition_read(call->request, &call->caller.condition, err) && gate_once(call, err);
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
    return header_content_type(request, err) &&
           json_parse(request->body.s, request->body.len, &call->body, err);
}

/* All that can be refused without the database. */
static bool gate_input(struct call *call, struct buf *base_url, struct error *err)
{
    const struct route *route = call->match.route;

    return gate_headers(call, base_url, err) &&
           query_read(call->request->query, route->query, call->arena, call->query, err) &&
           gate_body(call, err) && (!route->read || route->read(call, err));
}

/* A handler's statement checks the key itself.  Where there will be none, the key is checked here,
 * so that nobody without one learns more than that. */
static bool refuse_input(struct call *call, struct error *err)
{
    struct error refused;

    if (!call->match.route->is_public &&
        !store_authenticate(call->store, &call->caller, false, &refused))
        *err = refused;
    return false;
}

static bool refuse_identifier(struct call *call, struct error *err)
{
    const struct route *route = call->match.route;

    return store_authenticate(call->store, &call->caller, !route->reads_only, err) &&
           error_set(err, route->missing);
}

static bool answer_options(struct call *call, const struct buf *allow)
{
    response_header(call->response, "Allow", buf_text(allow).s);
    return call_answer(call, 204);
}

static bool has_room(const struct response *response)
{
    return !response->headers.failed && !response->body.failed;
}

/* A change that is made already must not look like one to be tried again. */
static bool run(struct call *call, struct error *err)
{
    const struct route *route = call->match.route;

    if (!route->run(call, err))
        return false;
    return has_room(call->response) ||
           error_set(err, route->reads_only ? ERR_OUT_OF_MEMORY : ERR_OUTCOME_UNKNOWN);
}

/* A request that the web server gave up on must not change anything later. */
static bool gate_peer(const struct call *call, struct error *err)
{
    const struct request *request = call->request;

    if (!call->match.route->reads_only && request->peer_gone && request->peer_gone(request->peer))
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
    if (!gate_input(call, base_url, err))
        return refuse_input(call, err);
    if (!call->match.ids_valid)
        return refuse_identifier(call, err);
    return gate_peer(call, err) && run(call, err);
}

bool call_answer(struct call *call, int status)
{
    response_finish(call->response, status);
    return true;
}

bool call_answer_resource(struct call *call, int status, int64_t revision, call_write *write,
                          const void *resource, struct error *err)
{
    char etag[ETAG_SIZE];

    if (call->match.route->reads_only) {
        switch (precondition_check(&call->caller.condition, revision)) {
        case PRECONDITION_FAILED:
            return error_set(err, ERR_PRECONDITION_FAILED);
        case PRECONDITION_NOT_MODIFIED:
            status = 304;
            break;
        case PRECONDITION_HOLDS:
            break;
        }
    }
    etag_write(etag, revision);
    response_header(call->response, "ETag", etag);
    if (status != 304)
        write(call, resource);
    return call_answer(call, status);
}

static void log_answer(const struct call *call, const char *operation_id, const struct error *err)
{
    const struct api_settings *settings = call->settings;
    enum log_level level = call->response->status >= 500 ? LOG_LEVEL_ERROR : LOG_LEVEL_DEBUG;
    char status[12];
    struct log_pair pairs[] = {{"operation_id", operation_id},
                               {"method", call->request->method},
                               {"route", call->match.route ? call->match.route->path : ""},
                               {"status", status},
                               {"error", err->code ? error_row(err->code)->symbol : ""},
                               {"cause", err->cause},
                               {NULL, NULL}};

    if (!log_wants(&settings->log, level))
        return;
    snprintf(status, sizeof status, "%d", call->response->status);
    if (call->response->status == 503)
        log_often(&settings->log, level, "request", pairs);
    else
        log_event(&settings->log, level, "request", pairs);
}

static bool write_error(struct call *call, const char *operation_id, const struct buf *allow,
                        const struct error *err)
{
    struct response *response = call->response;

    response_error(response, &call->settings->names, operation_id, err);
    if (err->code == ERR_METHOD_NOT_ALLOWED)
        response_header(response, "Allow", buf_text(allow).s);
    return has_room(response);
}

/* An error for which there is no memory becomes the one that says so, which has its room reserved;
 * where it has not, the answer is a status and nothing else. */
static void answer_error(struct call *call, const char *operation_id, const struct buf *allow,
                         struct error *err)
{
    struct response *response = call->response;

    if (write_error(call, operation_id, allow, err))
        return;
    error_set(err, ERR_OUT_OF_MEMORY);
    if (write_error(call, operation_id, allow, err))
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
                        .response = response};
    char operation_id[IDENT_SIZE] = "";
    struct error err = {.code = ERR_INTERNAL};
    struct buf allow = {0};
    struct buf base_url = {0};
    bool ok;

    ident_make(operation_id, IDENT_OPERATION);
    call.caller.operation_id = operation_id;
    response_start(response, &settings->names, operation_id);
    ok = handle(&call, &allow, &base_url, &err);
    if (ok && !has_room(response))
        ok = error_set(&err, ERR_OUT_OF_MEMORY);
    if (ok)
        err.code = ERR_NONE;
    else
        answer_error(&call, operation_id, &allow, &err);
    log_answer(&call, operation_id, &err);
    json_free(&call.body);
    buf_free(&allow);
    buf_free(&base_url);
    arena_reset(arena);
}
