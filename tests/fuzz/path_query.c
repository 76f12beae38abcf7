/* SPDX-License-Identifier: MIT */
/* Fuzz target: a method, a path and a query string.  A NUL ends each. */
#include "api/ssh_credential.h"
#include "base/ident.h"
#include "base/percent.h"
#include "base/utf8.h"
#include "fuzz.h"

/* ---- paths ---- */

/* The template with its identifiers filled in equals the path. */
static void look_at_ids(const struct route_match *match, const char *path)
{
    const char *template = match->route->path;
    struct buf built = {0};
    size_t n_ids = 0;
    const char *malformed = NULL; /* the name of the first one */
    struct error err;

    while (*template) {
        if (*template != '{') {
            buf_add(&built, template ++, 1);
            continue;
        }
        MUST(n_ids < ROUTE_MAX_IDS);
        MUST(match->ids[n_ids].len > 0);
        if (!malformed && !ident_valid(match->ids[n_ids]))
            malformed = template + 1;
        buf_add(&built, match->ids[n_ids].s, match->ids[n_ids].len);
        n_ids++;
        template += strcspn(template, "}") + 1;
    }
    MUST(!built.failed && strcmp(buf_text(&built).s, path) == 0);
    MUST(route_check_ids(match, &err) == !malformed);
    MUST(!malformed || (utf8_valid(err.msg, strlen(err.msg)) &&
                        strncmp(err.field, malformed, strcspn(malformed, "}")) == 0));
    buf_free(&built);
}

static bool allows(const struct buf *allow, const char *method)
{
    size_t len = strlen(method);

    for (const char *at = buf_text(allow).s; *at; at += strspn(at, ", ")) {
        size_t word = strcspn(at, ", ");

        if (word == len && memcmp(at, method, len) == 0)
            return true;
        at += word;
    }
    return false;
}

static bool path_known(const char *path, struct buf *allow)
{
    struct route_match match;
    struct error err;
    bool known = route_find(api_routes, "OPTIONS", path, &match, allow, &err);

    MUST(known == (allow->len > 0));
    MUST(known || err.code == ERR_PATH_UNKNOWN);
    return known;
}

static const struct route *try_path(const char *method, const char *path)
{
    struct route_match match;
    struct buf all = {0};
    struct buf allow = {0};
    struct error err;
    bool known = path_known(path, &all);
    bool ok = route_find(api_routes, method, path, &match, &allow, &err);

    MUST(match.is_options == (strcmp(method, "OPTIONS") == 0));
    MUST(match.is_head == (strcmp(method, "HEAD") == 0));
    if (ok && match.route) {
        MUST(known && strcmp(match.route->method, match.is_head ? "GET" : method) == 0);
        look_at_ids(&match, path);
    } else if (ok) {
        MUST(known && match.is_options);
    } else {
        MUST(err.code == (known ? ERR_METHOD_NOT_ALLOWED : ERR_PATH_UNKNOWN));
    }
    MUST(text_eq(buf_text(&allow), ok && match.route ? text_of("") : buf_text(&all)));
    MUST(allows(&all, method) == ok);
    buf_free(&all);
    buf_free(&allow);
    return ok ? match.route : NULL;
}

/* ---- queries ---- */

static bool try_query(const char *query, const struct query_param *params, struct arena *arena,
                      struct text *values)
{
    struct error err;
    bool ok = query_read(query, params, arena, values, &err);

    if (!ok) {
        MUST(error_row(err.code)->status == 400);
        MUST(utf8_valid(err.msg, strlen(err.msg)));
    }
    return ok;
}

static size_t n_params(const struct query_param *params)
{
    size_t n = 0;

    while (params && params[n].name)
        n++;
    return n;
}

/* Encoded values decode to the same bytes. */
static void read_again(const struct query_param *params, const struct text *values,
                       struct arena *arena)
{
    struct text again[QUERY_MAX_PARAMS] = {{0}};
    struct buf query = {0};

    for (size_t i = 0; i < n_params(params); i++) {
        if (!values[i].s)
            continue;
        MUST(utf8_valid(values[i].s, values[i].len) && values[i].s[values[i].len] == '\0');
        buf_printf(&query, "%s%s=", query.len ? "&" : "",
                   params[i].alias ? params[i].alias : params[i].name);
        percent_encode(&query, values[i]);
    }
    MUST(is_plain(buf_text(&query)));
    MUST(try_query(buf_text(&query).s, params, arena, again));
    for (size_t i = 0; i < n_params(params); i++)
        MUST(text_eq(values[i], again[i]));
    buf_free(&query);
}

static bool look_at_query(const char *query, const struct query_param *params)
{
    struct arena arena = {0};
    struct text values[QUERY_MAX_PARAMS] = {{0}};
    bool ok = try_query(query, params, &arena, values);

    if (ok && params)
        read_again(params, values, &arena);
    if (ok && !params)
        MUST(strspn(query, "&") == strlen(query));
    arena_free(&arena);
    return ok;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct input input = input_of(data, size);
    char *method = take_string(&input);
    char *path = take_string(&input);
    char *query = take_string(&input);
    const struct route *route = try_path(method, path);

    look_at_query(query, NULL);
    if (look_at_query(query, api_ssh_credential_query) && route && (!*query || route->query))
        accepted();
    free(method);
    free(path);
    free(query);
    return 0;
}
