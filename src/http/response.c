/* SPDX-License-Identifier: MIT */
/* The headers that all answers have, and the body of errors. */
#include "http/response.h"

#include <stdio.h>

#include "json/write.h"

/* Seconds until a client should retry after a 503. */
#define RETRY_AFTER "1"

/* Bytes of the headers and of the body of ERR_OUT_OF_MEMORY. */
#define RESERVED_HEADERS 1024
#define RESERVED_BODY 1024

bool response_reserve(struct response *response)
{
    bool ok =
        buf_room(&response->headers, RESERVED_HEADERS) && buf_room(&response->body, RESERVED_BODY);

    buf_clear(&response->headers);
    buf_clear(&response->body);
    return ok;
}

void response_start(struct response *response, const struct http_names *names,
                    const char *operation_id)
{
    response->status = 0;
    response->omit_body = false;
    response->payer = 0;
    buf_clear(&response->headers);
    buf_clear(&response->body);
    response_header(response, names->operation_header, operation_id);
    response_header(response, "Cache-Control", "no-store");
}

void response_header(struct response *response, const char *name, const char *value)
{
    buf_puts(&response->headers, name);
    buf_puts(&response->headers, ": ");
    buf_puts(&response->headers, value);
    buf_puts(&response->headers, "\r\n");
}

void response_finish_as(struct response *response, int status, const char *content_type)
{
    response->status = status;
    if (status != 204 && status != 304)
        response_header(response, "Content-Type", content_type);
}

void response_finish(struct response *response, int status)
{
    response_finish_as(response, status, "application/json");
}

static void write_details(struct buf *out, const char *operation_id, const struct error *err)
{
    json_put_name(out, "details");
    json_open(out, '{');
    json_put_member(out, "operation_id", text_of(operation_id));
    if (err->has_field) {
        json_put_member(out, "field", text_of(err->field));
    }
    if (err->has_offset) {
        char offset[24];

        snprintf(offset, sizeof offset, "%zu", err->offset);
        json_put_member(out, "offset", text_of(offset));
    }
    json_close(out, '}');
}

static void write_error_body(struct buf *out, const struct http_names *names,
                             const char *operation_id, const struct error *err)
{
    const struct error_row *row = error_row(err->code);
    char code[sizeof names->error_prefix + 12];

    snprintf(code, sizeof code, "%s%d", names->error_prefix, row->number);
    json_open(out, '{');
    json_put_member(out, "error_code", text_of(code));
    json_put_name(out, "status_code");
    json_put_uint(out, (uint64_t)row->status);
    json_put_member(out, "msg", text_of(err->msg[0] ? err->msg : row->text));
    write_details(out, operation_id, err);
    json_close(out, '}');
}

static void add_error_headers(struct response *response, enum error_code code, int status)
{
    if (status == 401)
        response_header(response, "WWW-Authenticate",
                        code == ERR_KEY_MALFORMED || code == ERR_KEY_UNKNOWN
                            ? "Bearer error=\"invalid_token\""
                            : "Bearer");
    if (status == 503)
        response_header(response, "Retry-After", RETRY_AFTER);
}

bool response_error(struct response *response, const struct http_names *names,
                    const char *operation_id, const struct error *err)
{
    int status = error_row(err->code)->status;
    bool omit_body = response->omit_body;

    response_start(response, names, operation_id);
    response->omit_body = omit_body;
    write_error_body(&response->body, names, operation_id, err);
    add_error_headers(response, err->code, status);
    response_finish(response, status);
    return !response->headers.failed && !response->body.failed;
}
