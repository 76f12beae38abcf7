/* SPDX-License-Identifier: MIT */
/* Fuzz target: the variables of FastCGI and CGI, and the output of answers.  The input is an
 * environment of "NAME=value", each ended by a NUL, then an empty string, and the body. */
#include "serve/cgi.h"

#include "fuzz.h"

#define MAX_VARIABLES 32
#define VERSION_VARIABLE "HTTP_SERVICE_VERSION"

static const char *const others[] = {"HTTP_COOKIE", "REQUEST_URI"};
static const struct request_wants wants = {
    .version = VERSION_VARIABLE, .others = others, .n_others = 2};

struct environment {
    char *variables[MAX_VARIABLES + 1];
    size_t n;
};

static void take_environment(struct input *input, struct environment *environment)
{
    while (environment->n < MAX_VARIABLES && input->left > 0) {
        char *variable = take_string(input);

        if (!*variable) {
            free(variable);
            break;
        }
        environment->variables[environment->n++] = variable;
    }
}

static void free_environment(struct environment *environment)
{
    for (size_t i = 0; i < environment->n; i++)
        free(environment->variables[i]);
}

/* Returns the last value of that name, or "".  Sets *n to how many there are. */
static const char *value_of(const struct environment *environment, const char *name, int *n)
{
    size_t len = strlen(name);
    const char *value = "";

    *n = 0;
    for (size_t i = 0; i < environment->n; i++) {
        const char *variable = environment->variables[i];

        if (strncmp(variable, name, len) != 0 || variable[len] != '=')
            continue;
        value = variable + len + 1;
        (*n)++;
    }
    return value;
}

static void expect(const struct environment *environment, const char *name, const char *value)
{
    int n;

    MUST(value && strcmp(value, value_of(environment, name, &n)) == 0);
}

static void look_at_headers(const struct environment *environment, const struct request *request)
{
    int n_authorization;
    int n_version;
    int n;
    const char *authorization = value_of(environment, "HTTP_AUTHORIZATION", &n_authorization);

    if (!*authorization)
        authorization = value_of(environment, "REDIRECT_HTTP_AUTHORIZATION", &n);
    MUST(strcmp(request->authorization, authorization) == 0);
    MUST(request->authorization_repeated == (n_authorization > 1));
    expect(environment, VERSION_VARIABLE, request->version);
    for (size_t i = 0; i < wants.n_others; i++)
        expect(environment, others[i], request->others[i]);
    value_of(environment, VERSION_VARIABLE, &n_version);
    MUST(request->version_repeated == (n_version > 1));
}

static void look_at_request(const struct environment *environment, const struct request *request)
{
    expect(environment, "REQUEST_METHOD", request->method);
    expect(environment, "PATH_INFO", request->path);
    expect(environment, "QUERY_STRING", request->query);
    expect(environment, "SCRIPT_NAME", request->script_name);
    expect(environment, "HTTP_HOST", request->host);
    expect(environment, "SERVER_NAME", request->server_name);
    expect(environment, "SERVER_PORT", request->server_port);
    expect(environment, "REMOTE_ADDR", request->remote_addr);
    expect(environment, "CONTENT_TYPE", request->content_type);
    look_at_headers(environment, request);
    MUST(strcmp(request->scheme, "http") == 0 || strcmp(request->scheme, "https") == 0);
    MUST(!request->peer_gone && !request->peer);
}

/* A length counts only if it consists of digits and fits. */
static void look_at_length(const struct environment *environment,
                           const struct serve_cgi_announced *announced)
{
    char digits[24];
    int n;
    const char *value = value_of(environment, "CONTENT_LENGTH", &n);

    if (!announced->is_given) {
        MUST(!*value || strspn(value, "0123456789") != strlen(value) || strlen(value) > 19);
        return;
    }
    snprintf(digits, sizeof digits, "%llu", (unsigned long long)announced->length);
    MUST(strspn(value, "0123456789") == strlen(value) && *value);
    while (*value == '0' && value[1])
        value++;
    MUST(strcmp(value, digits) == 0);
}

static void look_at_body(const struct request *request, const struct buf *body,
                         const struct serve_cgi_announced *announced)
{
    uint64_t length = announced->is_given ? announced->length : body->len;
    bool too_large = body->len > REQUEST_BODY_MAX || length > REQUEST_BODY_MAX;

    MUST(request->body.s && request->body.len <= REQUEST_BODY_MAX);
    switch (request->body_state) {
    case BODY_WHOLE:
        MUST(body->len == length);
        break;
    case BODY_CUT:
        MUST(body->len < length);
        break;
    case BODY_OVERLONG:
        MUST(body->len > length);
        break;
    case BODY_TOO_LARGE:
        MUST(too_large && request->body.len == 0);
        return;
    }
    MUST(!too_large);
    MUST(request->body.len == body->len);
    MUST(body->len == 0 || memcmp(request->body.s, body->data, body->len) == 0);
}

/* Sends the body as an answer: Content-Length matches the bytes that follow. */
static void look_at_answer(const struct buf *body, int status, bool omit_body)
{
    struct response response = {.status = status, .omit_body = omit_body};
    struct buf out = {0};
    const char *blank;
    const char *length;
    size_t sent;

    buf_puts(&response.headers, "A: b\r\n");
    buf_add(&response.body, body->data, status == 204 ? 0 : body->len);
    serve_cgi_write(&out, &response);
    MUST(!out.failed && strncmp(out.data, "Status: ", 8) == 0);
    blank = strstr(out.data, "\r\n\r\n");
    length = strstr(out.data, "\r\nContent-Length: ");
    MUST(blank);
    sent = out.len - (size_t)(blank + 4 - out.data);
    if (length && length < blank)
        MUST(!omit_body && strtoull(length + 18, NULL, 10) == sent && sent == body->len);
    else
        MUST((omit_body || status == 204) && sent == 0);
    buf_free(&out);
    buf_free(&response.headers);
    buf_free(&response.body);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct input input = input_of(data, size);
    struct environment environment = {.n = 0};
    struct request request;
    struct serve_cgi_announced announced;
    struct buf body = {0};

    memset(&request, 0xA5, sizeof request);
    memset(&announced, 0xA5, sizeof announced);
    take_environment(&input, &environment);
    serve_cgi_read_variables(environment.variables, &wants, &request, &announced);
    look_at_request(&environment, &request);
    look_at_length(&environment, &announced);
    if (input.left > 0)
        buf_add(&body, input.at,
                input.left > REQUEST_BODY_MAX + 1 ? REQUEST_BODY_MAX + 1 : input.left);
    serve_cgi_set_body(&request, &body, &announced);
    look_at_body(&request, &body, &announced);
    look_at_answer(&body, 200, false);
    look_at_answer(&body, 404, true);
    look_at_answer(&body, 204, false);
    if (request.method[0] && request.body_state == BODY_WHOLE)
        accepted();
    buf_free(&body);
    free_environment(&environment);
    return 0;
}
