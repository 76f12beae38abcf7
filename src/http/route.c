/* SPDX-License-Identifier: MIT */
/* Matching paths against templates. */
#include "http/route.h"

#include <string.h>

#include "base/ident.h"
#include "base/utf8.h"

/* Bytes of the longest name of an identifier in a template. */
#define ID_NAME_MAX 15

static size_t n_params(const struct query_param *params)
{
    size_t n = 0;

    while (params && params[n].name)
        n++;
    return n;
}

static bool ids_fit(const char *template)
{
    size_t n_ids = 0;

    for (const char *at = strchr(template, '{'); at; at = strchr(at + 1, '{')) {
        if (++n_ids > ROUTE_MAX_IDS || strcspn(at + 1, "}") > ID_NAME_MAX)
            return false;
    }
    return true;
}

bool route_table_fits(const struct route *routes, const char **which)
{
    for (; routes->method; routes++) {
        *which = routes->path;
        if (!ids_fit(routes->path) || n_params(routes->query) > QUERY_MAX_PARAMS)
            return false;
    }
    return true;
}

/* The segment of an identifier matches one or more bytes of any kind. */
static bool path_matches(const char *pattern, const char *path, struct text *ids)
{
    size_t n_ids = 0;

    while (*pattern) {
        if (*pattern != '{') {
            if (*pattern++ != *path++)
                return false;
            continue;
        }
        ids[n_ids] = (struct text){.s = path, .len = strcspn(path, "/")};
        if (ids[n_ids].len == 0)
            return false;
        path += ids[n_ids++].len;
        pattern += strcspn(pattern, "/");
    }
    return *path == '\0';
}

static void add_method(struct buf *allow, const char *method)
{
    buf_puts(allow, allow->len ? ", " : "");
    buf_puts(allow, method);
    if (strcmp(method, "GET") == 0)
        buf_puts(allow, ", HEAD");
}

/* Returns the first row of the path, or NULL. */
static const struct route *list_methods(const struct route *routes, const char *path,
                                        struct buf *allow)
{
    const struct route *first = NULL;
    struct text ids[ROUTE_MAX_IDS];

    for (const struct route *route = routes; route->method; route++) {
        if (!path_matches(route->path, path, ids))
            continue;
        add_method(allow, route->method);
        if (!first)
            first = route;
    }
    if (first)
        add_method(allow, "OPTIONS");
    return first;
}

bool route_find(const struct route *routes, const char *method, const char *path,
                struct route_match *match, struct buf *allow, struct error *err)
{
    *match = (struct route_match){.is_options = strcmp(method, "OPTIONS") == 0,
                                  .is_head = strcmp(method, "HEAD") == 0};
    if (match->is_head)
        method = "GET";
    for (const struct route *route = routes; route->method; route++) {
        struct text ids[ROUTE_MAX_IDS] = {{0}};

        if (strcmp(method, route->method) != 0 || !path_matches(route->path, path, ids))
            continue;
        match->route = route;
        match->of_path = route;
        memcpy(match->ids, ids, sizeof ids);
        return true;
    }
    match->of_path = list_methods(routes, path, allow);
    if (allow->failed)
        return error_set(err, ERR_OUT_OF_MEMORY);
    if (!match->of_path)
        return error_set(err, ERR_PATH_UNKNOWN);
    return match->is_options ||
           error_say(err, ERR_METHOD_NOT_ALLOWED,
                     "The path does not take this method. It takes: %s.", allow->data);
}

/* A path may have any bytes, but an answer has to be UTF-8. */
static bool refuse_id(const char *name, struct text id, const char *fault, struct error *err)
{
    char quote[ERROR_QUOTE_SIZE];

    if (!utf8_valid(id.s, id.len))
        return error_field(err, ERR_IDENTIFIER_MALFORMED, name,
                           "%s in the path is not an identifier: %s.", name, fault);
    return error_field(err, ERR_IDENTIFIER_MALFORMED, name,
                       "%s in the path is '%s', which is not an identifier: %s.", name,
                       error_quote(quote, id), fault);
}

bool route_check_ids(const struct route_match *match, struct error *err)
{
    const char *at = match->route->path;

    for (size_t i = 0; i < ROUTE_MAX_IDS && match->ids[i].s; i++) {
        const char *fault = ident_fault(match->ids[i]);
        char name[ID_NAME_MAX + 1] = "";

        at = strchr(at, '{') + 1;
        if (!fault)
            continue;
        memcpy(name, at, strcspn(at, "}"));
        return refuse_id(name, match->ids[i], fault, err);
    }
    return true;
}
