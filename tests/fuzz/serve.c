/* SPDX-License-Identifier: MIT */
/* Fuzz target: complete requests against a store that knows no rule.
 *
 * The input is a list of requests, separated by lines "%%".  Each request is a line
 * "METHOD PATH?QUERY", headers (the table below), an empty line and the body.  '$' stands for the
 * identifier of the last credential that was created. */
#include <unistd.h>

#include "api/call.h"
#include "base/ident.h"
#include "fuzz.h"
#include "json/check.h"
#include "providers.h"
#include "serve/cgi.h"
#include "serve_store.h"

#define MAX_REQUESTS 8
#define SEPARATOR "\n%%\n"

/* A request from the input. */
struct asked {
    char *text; /* all of it, cut into the strings below */
    const char *method;
    const char *path;
    const char *query;
    const char *authorization;
    const char *as; /* whose key to send instead of authorization */
    const char *version;
    const char *content_type;
    const char *content_length;
    const char *if_match; /* absent: NULL, also for the next two */
    const char *if_none_match;
    const char *idempotency_key;
    const char *host; /* absent: the settings have a base URL */
    const char *script_name;
    const char *remote_addr; /* absent: NULL */
    const char *origin;
    const char *preflight_method;
    const char *repeated; /* "authorization", "version" */
    const char *gone;     /* present: the peer has closed the connection */
    const char *failure;  /* present: the store fails */
    struct buf body;
};

struct header {
    const char *name;
    size_t offset;
};

#define ROW(name, member) name, offsetof(struct asked, member)

static const struct header headers[] = {
    {ROW("Authorization: ", authorization)},
    {ROW("As: ", as)},
    {ROW("Version: ", version)},
    {ROW("Content-Type: ", content_type)},
    {ROW("Content-Length: ", content_length)},
    {ROW("If-Match: ", if_match)},
    {ROW("If-None-Match: ", if_none_match)},
    {ROW("Idempotency-Key: ", idempotency_key)},
    {ROW("Host: ", host)},
    {ROW("Script-Name: ", script_name)},
    {ROW("Remote-Addr: ", remote_addr)},
    {ROW("Origin: ", origin)},
    {ROW("Preflight: ", preflight_method)},
    {ROW("Repeated: ", repeated)},
    {ROW("Gone: ", gone)},
    {ROW("Failure: ", failure)},
};

#undef ROW

/* The values of "As". */
struct key {
    const char *name;
    const char *authorization;
};

static const struct key keys[] = {
    {"admin", "Bearer " SERVE_KEY},
    {"unknown", "Bearer " SERVE_UNKNOWN_KEY},
};

static const enum error_code failures[] = {
    ERR_DATABASE_UNAVAILABLE, ERR_DATABASE_READ_ONLY, ERR_DATABASE_TIMEOUT,  ERR_OUTCOME_UNKNOWN,
    ERR_SCHEMA_MISMATCH,      ERR_OUT_OF_MEMORY,      ERR_SECRET_UNREADABLE, ERR_INTERNAL,
};

#define N_ROWS(table) (sizeof(table) / sizeof(table)[0])

/* The service, its answer and its log. */
struct service {
    struct api_settings settings;
    struct store store;
    struct arena arena;
    struct response response;
    char last_id[IDENT_SIZE]; /* of the last credential created, or "" */
};

/* ---- the log ---- */

static struct buf logged;

ssize_t __real_write(int fd, const void *data, size_t len);
ssize_t __wrap_write(int fd, const void *data, size_t len);

/* The linker replaces write() by this function, so that the target can check the log. */
ssize_t __wrap_write(int fd, const void *data, size_t len)
{
    if (fd != STDERR_FILENO)
        return __real_write(fd, data, len);
    buf_add(&logged, data, len);
    return (ssize_t)len;
}

/* Each request logs one line of JSON, which contains no key. */
static void look_at_log(const struct asked *asked)
{
    struct error err;

    MUST(!logged.failed && logged.len > 0 && logged.data[logged.len - 1] == '\n');
    MUST(memchr(logged.data, '\n', logged.len) == logged.data + logged.len - 1);
    MUST(is_plain((struct text){.s = logged.data, .len = logged.len - 1}));
    MUST(json_check(logged.data, logged.len, &err));
    for (size_t i = 0; i < N_ROWS(keys); i++) {
        const char *key = keys[i].authorization + strlen("Bearer ");

        MUST(!strstr(logged.data, key) || strstr(asked->method, key));
    }
    buf_clear(&logged);
}

/* ---- parsing the input ---- */

/* Appends the text before the next separator to *block, with '$' replaced by the identifier. */
static void take_block(struct input *input, const char *last_id, struct buf *block)
{
    const char *end =
        input->left > 0 ? memmem(input->at, input->left, SEPARATOR, strlen(SEPARATOR)) : NULL;
    size_t len = end ? (size_t)(end - input->at) : input->left;

    for (size_t i = 0; i < len; i++) {
        if (input->at[i] == '$' && last_id[0])
            buf_puts(block, last_id);
        else
            buf_add(block, input->at + i, 1);
    }
    buf_add(block, "", 0);
    MUST(!block->failed);
    if (end)
        len += strlen(SEPARATOR);
    input->at += len;
    input->left -= len;
}

/* Ends the string at the first such byte.  Returns the text after it, or the string's end. */
static char *cut(char *s, char byte)
{
    char *found = strchr(s, byte);

    if (!found)
        return s + strlen(s);
    *found = '\0';
    return found + 1;
}

static void read_header(struct asked *asked, const char *line)
{
    for (size_t i = 0; i < N_ROWS(headers); i++) {
        size_t len = strlen(headers[i].name);

        if (strncmp(line, headers[i].name, len) == 0)
            *(const char **)(void *)((char *)asked + headers[i].offset) = line + len;
    }
}

static void read_asked(struct asked *asked, const struct buf *block)
{
    char *line = malloc(block->len + 1);
    char *rest;

    MUST(line);
    memcpy(line, block->data, block->len + 1);
    *asked = (struct asked){.text = line,
                            .authorization = "",
                            .version = "",
                            .content_type = "",
                            .content_length = "",
                            .script_name = "",
                            .origin = "",
                            .preflight_method = "",
                            .repeated = ""};
    rest = cut(line, '\n');
    asked->method = line;
    asked->path = cut(line, ' ');
    asked->query = cut((char *)(uintptr_t)asked->path, '?');
    for (line = rest; *line && *line != '\n'; line = rest) {
        rest = cut(line, '\n');
        read_header(asked, line);
    }
    if (*line == '\n')
        buf_add(&asked->body, line + 1, block->len - (size_t)(line + 1 - asked->text));
    /* NOLINTNEXTLINE(clang-analyzer-unix.Malloc): asked->text owns the line */
    for (size_t i = 0; asked->as && i < N_ROWS(keys); i++) {
        if (strcmp(asked->as, keys[i].name) == 0)
            asked->authorization = keys[i].authorization;
    }
}

static bool has_gone(void *peer)
{
    (void)peer;
    return true;
}

static struct request request_of(const struct asked *asked)
{
    struct request request = {
        .method = asked->method,
        .path = asked->path,
        .query = asked->query,
        .script_name = asked->script_name,
        .scheme = "https",
        .host = asked->host ? asked->host : "",
        .server_name = "server.example",
        .server_port = "443",
        .remote_addr = asked->remote_addr,
        .authorization = asked->authorization,
        .version = asked->version,
        .content_type = asked->content_type,
        .origin = asked->origin,
        .preflight_method = asked->preflight_method,
        .if_match = asked->if_match,
        .if_none_match = asked->if_none_match,
        .idempotency_key = asked->idempotency_key,
        .authorization_repeated = strcmp(asked->repeated, "authorization") == 0,
        .version_repeated = strcmp(asked->repeated, "version") == 0,
        .peer_gone = asked->gone ? has_gone : NULL,
    };
    struct serve_cgi_announced announced = {.is_given = *asked->content_length != '\0'};

    announced.length = strtoull(asked->content_length, NULL, 10);
    serve_cgi_set_body(&request, &asked->body, &announced);
    return request;
}

/* ---- checks of every answer ---- */

static bool is_good(const struct request *request)
{
    return !request->authorization_repeated && strstr(request->authorization, SERVE_KEY);
}

static bool has_header(const struct response *response, const char *line)
{
    const char *at = strstr(buf_text(&response->headers).s, line);

    return at && (at == response->headers.data || at[-1] == '\n');
}

/* The headers are lines "Name: value" that end in CR LF, without other line breaks. */
static void look_at_header_lines(const struct response *response)
{
    const char *line = buf_text(&response->headers).s;

    MUST(strlen(line) == response->headers.len && *line);
    while (*line) {
        size_t name = strspn(line, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz-");
        size_t len = strcspn(line, "\r\n");

        MUST(name > 0 && line[name] == ':' && line[name + 1] == ' ');
        MUST(is_plain((struct text){.s = line, .len = len}));
        MUST(line[len] == '\r' && line[len + 1] == '\n');
        line += len + 2;
    }
}

/* Only the two origins of the setting get headers, and only for themselves. */
static void look_at_origin(const struct request *request, const struct response *response)
{
    static const char name[] = "Access-Control-Allow-Origin: ";
    const char *at = strstr(buf_text(&response->headers).s, name);
    bool is_allowed = strcmp(request->origin, "https://a.example") == 0 ||
                      strcmp(request->origin, "https://b.example:8443") == 0;

    MUST(has_header(response, "Vary: Origin\r\n"));
    MUST(is_allowed == (at != NULL));
    MUST(!at || (strncmp(at + sizeof name - 1, request->origin, strlen(request->origin)) == 0 &&
                 at[sizeof name - 1 + strlen(request->origin)] == '\r'));
    MUST(!has_header(response, "Access-Control-Max-Age: ") || is_allowed);
    MUST(!has_header(response, "Access-Control-Allow-Credentials"));
}

static void look_at_headers(const struct request *request, const struct response *response)
{
    int status = response->status;
    bool is_options = strcmp(request->method, "OPTIONS") == 0;

    look_at_header_lines(response);
    look_at_origin(request, response);
    MUST(has_header(response, "Service-Operation-Id: op_"));
    MUST(has_header(response, "Cache-Control: no-store\r\n"));
    MUST(has_header(response, "Content-Type: application/json\r\n") ==
         (status != 204 && status != 304));
    MUST(has_header(response, "WWW-Authenticate: Bearer") == (status == 401));
    MUST(has_header(response, "Retry-After: ") == (status == 503));
    MUST(has_header(response, "Allow: ") == (status == 405 || (is_options && status == 204)));
    MUST(!has_header(response, "Location"));
}

static struct text text_member(const struct json_node *object, const char *name)
{
    struct json_node node = json_member(object, name);
    struct text text = {0};
    struct error err;

    return json_get_text(&node, &text, &err) ? text : (struct text){0};
}

static bool is_error_member(const void *context, struct text name)
{
    static const char *const names[] = {"error_code", "status_code", "msg", "details"};
    size_t *n = *(size_t *const *)context;

    for (size_t i = 0; i < N_ROWS(names); i++) {
        if (text_eq(name, text_of(names[i]))) {
            ++*n;
            return true;
        }
    }
    return false;
}

static bool is_text_member(const void *context, struct text name)
{
    const struct json_node *details = context;

    return text_member(details, name.s).s != NULL;
}

/* An error has exactly four members.  All details are strings. */
static void look_at_error(const struct response *response)
{
    struct json_node top;
    struct json_node node;
    struct error err;
    struct text text;
    uint32_t status = 0;
    size_t n = 0;
    size_t *counter = &n;

    MUST(json_parse(response->body.data, response->body.len, &top, &err));
    MUST(!json_find_unknown(&top, is_error_member, &counter).s && n == 4);
    node = json_member(&top, "status_code");
    MUST(json_get_uint32(&node, &status, &err) && (int)status == response->status);
    text = text_member(&top, "error_code");
    MUST(text.s && strncmp(text.s, "ERR_SERVICE_", 12) == 0);
    MUST(text_present(text_member(&top, "msg")));
    node = json_member(&top, "details");
    MUST(json_is_object(&node, &err));
    MUST(!json_find_unknown(&node, is_text_member, &node).s);
    text = text_member(&node, "operation_id");
    MUST(text.s && ident_valid(text) && strncmp(text.s, "op_", 3) == 0);
    json_free(&top);
}

static void look_at_body(const struct request *request, const struct response *response)
{
    struct error err;
    const char *body = buf_text(&response->body).s;

    MUST(response->omit_body == (strcmp(request->method, "HEAD") == 0));
    MUST(strlen(body) == response->body.len);
    /* An answer to a fault of the service does not quote the cause. */
    MUST(response->status < 500 || !strstr(body, "SQLSTATE"));
    if (response->status == 204 || response->status == 304) {
        MUST(response->body.len == 0);
        return;
    }
    MUST(json_check(body, response->body.len, &err));
    if (response->status >= 400)
        look_at_error(response);
    /* A page with a next page is not empty. */
    if (strncmp(body, "{\"ssh_credentials\":[]", 21) == 0)
        MUST(strstr(body, "\"next_page_uri\":null"));
}

static void look_at_status(const struct asked *asked, int status)
{
    static const int statuses[] = {200, 201, 204, 304, 400, 401, 403, 404,
                                   405, 409, 412, 413, 415, 500, 503};
    bool known = false;

    for (size_t i = 0; i < N_ROWS(statuses); i++)
        known = known || statuses[i] == status;
    MUST(known);
    /* Nothing else makes this service fail. */
    MUST(status < 500 || asked->failure || asked->gone);
}

/* The order of the gates: what an answer may tell a caller without a valid key. */
static void look_at_rights(const struct request *request, int status, bool changed)
{
    struct route_match match;
    struct buf allow = {0};
    struct error err;
    bool found = route_find(api_routes, request->method, request->path, &match, &allow, &err);

    buf_free(&allow);
    if (!found)
        MUST(status == 404 || status == 405);
    if (!found || !match.route || match.route->is_public) {
        MUST(!changed);
        return;
    }
    if (!is_good(request))
        MUST(status == 401 || status == 413 || status >= 500);
    if (api_route_reads_only(match.route))
        MUST(!changed);
    if (changed)
        MUST(status < 300 && is_good(request) && !request->peer_gone);
}

/* ---- checks of some answers ---- */

static struct text_list list_member(const struct json_node *object, const char *name,
                                    struct arena *arena)
{
    struct json_node node = json_member(object, name);
    struct text_list list = {0};
    struct error err;

    MUST(json_get_texts(&node, FIELD_MAX_ENTRIES, ERR_ACL_TOO_MANY, arena, &list, &err));
    return list;
}

static void compare_rules(const struct json_node *sent, const struct json_node *got)
{
    struct arena arena = {0};
    struct text_list wanted = list_member(sent, "acl", &arena);
    struct text_list rules = list_member(got, "acl", &arena);

    MUST(rules.given && (!wanted.given || rules.n == wanted.n));
    for (size_t i = 0; i < wanted.n; i++)
        MUST(text_eq(rules.items[i], wanted.items[i]));
    arena_free(&arena);
}

/* A created or changed credential has the members that were sent, byte for byte. */
static void look_at_credential(struct service *service, const struct request *request)
{
    static const char *const names[] = {"id", "public_key", "description", "metadata", "owner_id"};
    const struct buf *body = &service->response.body;
    struct json_node sent;
    struct json_node got;
    struct error err;
    struct text id;

    MUST(json_parse(request->body.s, request->body.len, &sent, &err));
    MUST(json_parse(body->data, body->len, &got, &err));
    for (size_t i = 0; i < N_ROWS(names); i++) {
        struct text text = text_member(&sent, names[i]);

        MUST(text_member(&got, names[i]).s);
        MUST(!text.s || text_eq(text, text_member(&got, names[i])));
    }
    compare_rules(&sent, &got);
    id = text_member(&got, "id");
    MUST(ident_valid(id) && id.len < sizeof service->last_id);
    memcpy(service->last_id, id.s, id.len + 1);
    json_free(&sent);
    json_free(&got);
}

static void answer(struct service *service, const struct request *request)
{
    api_answer(&service->settings, &service->store, &service->arena, request, &service->response);
}

/* HEAD equals GET without the body, and changes nothing. */
static void ask_for_head(struct service *service, const struct asked *asked, struct request request)
{
    int status = service->response.status;
    size_t len = service->response.body.len;

    request.method = "HEAD";
    answer(service, &request);
    look_at_log(asked);
    look_at_headers(&request, &service->response);
    look_at_body(&request, &service->response);
    MUST(service->response.status == status && service->response.body.len == len);
}

/* A PUT of an OAuth module from an answer gives the same answer again. */
static void put_again(struct service *service, const struct asked *asked, struct request request)
{
    struct buf body = {0};
    const struct buf *again = &service->response.body;

    buf_add(&body, again->data, again->len);
    request.body = buf_text(&body);
    answer(service, &request);
    look_at_log(asked);
    MUST(service->response.status == 200);
    MUST(again->len == body.len && memcmp(again->data, body.data, body.len) == 0);
    buf_free(&body);
}

/* A body this short stays within the limit when the absent members are added. */
#define PUT_AGAIN_MAX 8192

static void run(struct service *service, const struct asked *asked)
{
    struct request request = request_of(asked);
    int before = service->store.n_changes;
    int status;

    service->settings.base_url = asked->host ? NULL : "https://adit.example/api";
    service->store.failure =
        asked->failure ? failures[(unsigned char)asked->failure[0] % N_ROWS(failures)] : ERR_NONE;
    answer(service, &request);
    status = service->response.status;
    look_at_log(asked);
    look_at_status(asked, status);
    look_at_headers(&request, &service->response);
    look_at_body(&request, &service->response);
    look_at_rights(&request, status, service->store.n_changes != before);
    if (status == 201 || (status == 200 && strcmp(request.method, "PATCH") == 0))
        look_at_credential(service, &request);
    if (strcmp(request.method, "GET") == 0)
        ask_for_head(service, asked, request);
    if (status == 200 && strncmp(request.path, "/edges/https/", 13) == 0 &&
        strcmp(request.method, "PUT") == 0 && request.body.len <= PUT_AGAIN_MAX)
        put_again(service, asked, request);
    if (status < 300)
        accepted();
}

static void open_service(struct service *service)
{
    *service = (struct service){.last_id = ""};
    names_fill(&service->settings.names, "service");
    service->settings.oauth = default_names;
    service->settings.oauth.cookie_prefix = service->settings.names.cookie_prefix;
    service->settings.allowed_origins = "https://a.example https://b.example:8443";
    service->settings.log = (struct log){.level = LOG_LEVEL_DEBUG, .target = LOG_TARGET_STDERR};
}

static void close_service(struct service *service)
{
    arena_free(&service->store.memory);
    arena_free(&service->arena);
    buf_free(&service->response.headers);
    buf_free(&service->response.body);
    buf_free(&logged);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct input input = input_of(data, size);
    struct service service;

    open_service(&service);
    for (int i = 0; i < MAX_REQUESTS && input.left > 0; i++) {
        struct buf block = {0};
        struct asked asked;

        take_block(&input, service.last_id, &block);
        read_asked(&asked, &block);
        run(&service, &asked);
        buf_free(&asked.body);
        buf_free(&block);
        free(asked.text);
    }
    close_service(&service);
    return 0;
}
