/* SPDX-License-Identifier: MIT */
/* Matching paths against templates. */
#include "http/route.h"

#include <string.h>

#include "base/ident.h"

/* An identifier's segment takes any bytes but none at all. */
static bool path_matches(const char *template, const char *path, struct text *ids)
{
    size_t n_ids = 0;

    while (*template) {
        if (*template != '{') {
            if (*template ++ != *path++)
                return false;
            continue;
        }
        ids[n_ids] = (struct text){.s = path, .len = strcspn(path, "/")};
        if (ids[n_ids].len == 0)
            return false;
        path += ids[n_ids++].len;
        template += strcspn(template, "/");
    }
    return *path == '\0';
}

static bool all_valid(const struct text *ids)
{
    for (size_t i = 0; i < ROUTE_MAX_IDS; i++) {
        if (ids[i].s && !ident_valid(ids[i]))
            return false;
    }
    return true;
}

static void add_method(struct buf *allow, const char *method)
{
    buf_puts(allow, allow->len ? ", " : "");
    buf_puts(allow, method);
    if (strcmp(method, "GET") == 0)
        buf_puts(allow, ", HEAD");
}

static void list_methods(const struct route *routes, const char *path, struct buf *allow)
{
    struct text ids[ROUTE_MAX_IDS];

    for (const struct route *route = routes; route->method; route++) {
        if (path_matches(route->path, path, ids))
            add_method(allow, route->method);
    }
    if (allow->len > 0)
        add_method(allow, "OPTIONS");
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
        memcpy(match->ids, ids, sizeof ids);
        match->ids_valid = all_valid(ids);
        return true;
    }
    list_methods(routes, path, allow);
    if (allow->failed)
        return error_set(err, ERR_OUT_OF_MEMORY);
    if (allow->len == 0)
        return error_set(err, ERR_PATH_UNKNOWN);
    return match->is_options ||
           error_say(err, ERR_METHOD_NOT_ALLOWED,
                     "The path does not take this method. It takes: %s.", allow->data);
}
