/* SPDX-License-Identifier: MIT */
/* CGI variables and answers, and the program run as plain CGI. */
#include "serve/cgi.h"

#include <errno.h>
#include <fcgiapp.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/number.h"

extern char **environ;

void serve_cgi_begin(struct serve_cgi_reader *reader, struct request *request,
                     const struct request_wants *wants)
{
    const struct serve_cgi_variable known[] = {
        {text_of("REQUEST_METHOD"), &request->method, NULL},
        {text_of("PATH_INFO"), &request->path, NULL},
        {text_of("QUERY_STRING"), &request->query, NULL},
        {text_of("SCRIPT_NAME"), &request->script_name, NULL},
        {text_of("REQUEST_SCHEME"), &request->scheme, NULL},
        {text_of("HTTPS"), &reader->https, NULL},
        {text_of("HTTP_HOST"), &request->host, NULL},
        {text_of("SERVER_NAME"), &request->server_name, NULL},
        {text_of("SERVER_PORT"), &request->server_port, NULL},
        {text_of("REMOTE_ADDR"), &request->remote_addr, NULL},
        {text_of("CONTENT_TYPE"), &request->content_type, NULL},
        {text_of("HTTP_CONTENT_ENCODING"), &request->content_encoding, NULL},
        {text_of("CONTENT_LENGTH"), &reader->content_length, NULL},
        {text_of("HTTP_TRANSFER_ENCODING"), &reader->transfer_encoding, NULL},
        {text_of("HTTP_AUTHORIZATION"), &request->authorization, &request->authorization_repeated},
        {text_of("REDIRECT_HTTP_AUTHORIZATION"), &reader->redirect_authorization, NULL},
        {text_of("HTTP_ORIGIN"), &request->origin, NULL},
        {text_of("HTTP_ACCESS_CONTROL_REQUEST_METHOD"), &request->preflight_method, NULL},
        {text_of("HTTP_IF_MATCH"), &request->if_match, &request->condition_repeated},
        {text_of("HTTP_IF_NONE_MATCH"), &request->if_none_match, &request->condition_repeated},
        {text_of("HTTP_IDEMPOTENCY_KEY"), &request->idempotency_key,
         &request->idempotency_key_repeated},
        /* The last: a program may want no version. */
        {text_of(wants->version), &request->version, &request->version_repeated},
    };
    _Static_assert(sizeof known == sizeof reader->known,
                   "SERVE_CGI_N_VARIABLES is the number of rows");

    *request = (struct request){.authorization_repeated = false};
    reader->request = request;
    reader->wants = wants;
    reader->n_known = SERVE_CGI_N_VARIABLES - (wants->version ? 0 : 1);
    memcpy(reader->known, known, sizeof known);
    memset(reader->is_seen, 0, sizeof reader->is_seen);
    for (size_t i = 0; i < SERVE_CGI_N_VARIABLES; i++)
        *known[i].value = "";
    for (size_t i = 0; i < wants->n_others; i++)
        request->others[i] = "";
    request->if_match = NULL;
    request->if_none_match = NULL;
    request->idempotency_key = NULL;
}

void serve_cgi_see(void *reader, struct text name, const char *value)
{
    struct serve_cgi_reader *to = reader;

    for (size_t i = 0; i < to->n_known; i++) {
        const struct serve_cgi_variable *known = &to->known[i];

        if (known->name.len != name.len || memcmp(known->name.s, name.s, name.len) != 0)
            continue;
        if (known->repeated && to->is_seen[i])
            *known->repeated = true;
        to->is_seen[i] = true;
        *known->value = value;
    }
    for (size_t i = 0; i < to->wants->n_others; i++) {
        const char *other = to->wants->others[i];

        if (strncmp(other, name.s, name.len) == 0 && !other[name.len])
            to->request->others[i] = value;
    }
}

void serve_cgi_end(const struct serve_cgi_reader *reader, struct serve_cgi_announced *announced)
{
    struct request *request = reader->request;

    /* Apache's mod_rewrite renames the variables of the request that it redirects. */
    if (!request->authorization[0])
        request->authorization = reader->redirect_authorization;
    if (strcmp(reader->https, "on") == 0 || strcmp(reader->https, "1") == 0 ||
        strcmp(request->scheme, "https") == 0)
        request->scheme = "https";
    else
        request->scheme = "http";
    *announced = (struct serve_cgi_announced){.is_chunked = reader->transfer_encoding[0] != '\0'};
    announced->is_given =
        number_read(text_of(reader->content_length), 10, UINT64_MAX, &announced->length);
}

void serve_cgi_read_variables(char *const *variables, const struct request_wants *wants,
                              struct request *request, struct serve_cgi_announced *announced)
{
    struct serve_cgi_reader reader;

    serve_cgi_begin(&reader, request, wants);
    for (; *variables; variables++) {
        const char *equals = strchr(*variables, '=');

        if (equals)
            serve_cgi_see(&reader, (struct text){*variables, (size_t)(equals - *variables)},
                          equals + 1);
    }
    serve_cgi_end(&reader, announced);
}

void serve_cgi_set_body(struct request *request, const struct buf *body,
                        const struct serve_cgi_announced *announced)
{
    request->body = buf_text(body);
    if (body->len > REQUEST_BODY_MAX ||
        (announced->is_given && announced->length > REQUEST_BODY_MAX)) {
        request->body_state = BODY_TOO_LARGE;
        request->body = text_of("");
    } else if (announced->is_given && body->len < announced->length) {
        request->body_state = BODY_CUT;
    } else if (announced->is_given && body->len > announced->length) {
        request->body_state = BODY_OVERLONG;
    } else {
        request->body_state = BODY_WHOLE;
    }
}

/* The phrases of RFC 9110.  Some servers would send a status line without one. */
static const struct {
    int status;
    const char *phrase;
} phrases[] = {
    {200, "OK"},
    {201, "Created"},
    {204, "No Content"},
    {302, "Found"},
    {304, "Not Modified"},
    {400, "Bad Request"},
    {401, "Unauthorized"},
    {403, "Forbidden"},
    {404, "Not Found"},
    {405, "Method Not Allowed"},
    {409, "Conflict"},
    {412, "Precondition Failed"},
    {413, "Content Too Large"},
    {415, "Unsupported Media Type"},
    {422, "Unprocessable Content"},
    {500, "Internal Server Error"},
    {503, "Service Unavailable"},
};

static const char *find_phrase(int status)
{
    for (size_t i = 0; i < sizeof phrases / sizeof phrases[0]; i++) {
        if (phrases[i].status == status)
            return phrases[i].phrase;
    }
    return "";
}

/* A wrong Content-Length desynchronises some servers, so it is exact or absent. */
void serve_cgi_write_head(struct buf *out, const struct response *response)
{
    buf_puts(out, "Status: ");
    buf_uint(out, (uint64_t)response->status);
    buf_puts(out, " ");
    buf_puts(out, find_phrase(response->status));
    buf_puts(out, "\r\n");
    buf_add(out, response->headers.data, response->headers.len);
    if (response->status != 204 && response->status != 304 && !response->omit_body) {
        buf_puts(out, "Content-Length: ");
        buf_uint(out, response->body.len);
        buf_puts(out, "\r\n");
    }
    buf_puts(out, "\r\n");
}

void serve_cgi_write(struct buf *out, const struct response *response)
{
    serve_cgi_write_head(out, response);
    if (!response->omit_body)
        buf_add(out, response->body.data, response->body.len);
}

/* Reads until the end of the stream, at most so many bytes.  Returns how many it read. */
static uint64_t read_up_to(char *room, uint64_t most)
{
    uint64_t len = 0;

    while (len < most) {
        ssize_t n = read(STDIN_FILENO, room + len, most - len);

        if (n == 0 || (n < 0 && errno != EINTR))
            break;
        if (n > 0)
            len += (uint64_t)n;
    }
    return len;
}

/* A program may not read past the announced length (RFC 3875, 4.2).  A chunked body has none and
 * goes to the end of the stream.  Bytes that are not kept are read too: a server that cannot pass
 * on the whole body may not look for an answer. */
static bool read_body(struct buf *body, const struct serve_cgi_announced *announced)
{
    uint64_t left = REQUEST_BODY_MAX + 1 + SERVE_CGI_DRAIN_MAX;
    uint64_t kept;
    char rest[4096];
    char *room;

    if (announced->is_given && announced->length < left)
        left = announced->length;
    else if (!announced->is_given && !announced->is_chunked)
        left = 0;
    kept = left < REQUEST_BODY_MAX + 1 ? left : REQUEST_BODY_MAX + 1;
    room = buf_room(body, kept);
    if (!room)
        return false;
    body->len += read_up_to(room, kept);
    for (left -= kept; left > 0;) {
        uint64_t most = left < sizeof rest ? left : sizeof rest;
        uint64_t n = read_up_to(rest, most);

        left = n < most ? 0 : left - n;
    }
    return true;
}

bool serve_is_cgi(void)
{
    return FCGX_IsCGI() != 0;
}

bool serve_cgi_read(struct request *request, struct buf *body, const struct request_wants *wants)
{
    struct serve_cgi_announced announced;

    serve_cgi_read_variables(environ, wants, request, &announced);
    if (!request->method[0] || !read_body(body, &announced))
        return false;
    serve_cgi_set_body(request, body, &announced);
    return true;
}

bool serve_cgi_answer(const struct response *response)
{
    struct buf out = {0};
    size_t sent = 0;
    bool whole;

    serve_cgi_write(&out, response);
    while (!out.failed && sent < out.len) {
        ssize_t n = write(STDOUT_FILENO, out.data + sent, out.len - sent);

        if (n < 0 && errno != EINTR)
            break;
        if (n > 0)
            sent += (size_t)n;
    }
    whole = !out.failed && sent == out.len;
    buf_free(&out);
    return whole;
}
