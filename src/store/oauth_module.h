/* SPDX-License-Identifier: MIT */
/* OAuth modules in the database, their client secrets sealed.  Every function returns false with
 * *err: as executor_run(), or with the error named beside it. */
#ifndef ADIT_STORE_OAUTH_MODULE_H
#define ADIT_STORE_OAUTH_MODULE_H

#include "base/must_check.h"
#include "filter/filter.h"
#include "model/oauth_admission.h"
#include "store/store.h"

/* The route that a module belongs to. */
struct oauth_route {
    struct text edge_id;
    struct text route_id;
};

extern const struct filter_member oauth_module_filter_members[];

/* The part of the list that a request asks for. */
struct oauth_module_page {
    struct oauth_route after; /* absent: from the first module on */
    int limit;
    size_t most_bytes;                /* stop after the module whose text reaches this sum */
    const struct filter_node *filter; /* NULL: there is none */
    const struct oauth_names *names;  /* for the filter, as the next one */
    const enum oauth_application *applications; /* OAUTH_N_PROVIDERS */
};

struct oauth_module_item {
    struct oauth_route route;
    struct oauth_module module;
};

/* Modules from one answer of the database, in the request's arena. */
struct oauth_module_list {
    struct oauth_module_item *items;
    size_t n;
    bool more; /* there are others after these */
};

/* Creates or replaces the module of a route, and sets its revision.  ERR_PRECONDITION_FAILED, or as
 * keyring_seal(). */
MUST_CHECK bool store_oauth_module_put(struct store *store, const struct store_request *request,
                                       const struct oauth_route *route, struct oauth_module *module,
                                       struct error *err);

/* Reads the module of a route into *module, with text in the request's arena.  A key that may not
 * write modules gets no client secret.  ERR_OAUTH_NOT_FOUND, or as keyring_open(). */
MUST_CHECK bool store_oauth_module_get(struct store *store, const struct store_request *request,
                                       const struct oauth_route *route, struct oauth_module *module,
                                       struct error *err);

/* Deletes the module of a route.  No such module is no error.  ERR_PRECONDITION_FAILED. */
MUST_CHECK bool store_oauth_module_delete(struct store *store, const struct store_request *request,
                                          const struct oauth_route *route, struct error *err);

/* Reads a page of the account's modules, in byte order of edges and routes.  A client secret that
 * cannot be opened is absent, so that one lost key does not hide the other modules. */
MUST_CHECK bool store_oauth_module_list(struct store *store, const struct store_request *request,
                                        const struct oauth_module_page *page,
                                        struct oauth_module_list *list, struct error *err);

#endif
