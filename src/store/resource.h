/* SPDX-License-Identifier: MIT */
/* Modules in the database (model/resource_table.h).  Every function returns false with *err: as
 * executor_run(), or with the error named beside it. */
#ifndef ADIT_STORE_RESOURCE_H
#define ADIT_STORE_RESOURCE_H

#include "base/must_check.h"
#include "filter/filter.h"
#include "model/oauth_admission.h"
#include "model/resource.h"
#include "store/store.h"

/* Returns what a filter of the list may name. */
const struct filter_member *store_resource_filter(enum resource_kind kind);

/* The part of the list that a request asks for. */
struct resource_page {
    struct module_place after; /* absent: from the first module on */
    int limit;
    size_t most_bytes;                /* stop after the module whose text reaches this sum */
    const struct filter_node *filter; /* NULL: there is none */
    const struct oauth_names *names;  /* for the filter of OAuth modules, as the next one */
    const enum oauth_application *applications; /* OAUTH_N_PROVIDERS */
};

struct resource_item {
    struct module_place place;
    union resource_value module;
};

/* Modules from one answer of the database, in the request's arena. */
struct resource_list {
    struct resource_item *items;
    size_t n;
    bool more; /* there are others after these */
};

/* Creates or replaces the module at a place, and sets its revision.  ERR_PRECONDITION_FAILED, or as
 * keyring_seal(). */
MUST_CHECK bool store_resource_put(struct store *store, const struct store_request *request,
                                   enum resource_kind kind, const struct module_place *place,
                                   void *module, struct error *err);

/* Reads the module at a place into the struct at module, with text in the request's arena.  A key
 * that may not write modules gets no client secret.  The error "missing" of the kind's row, or as
 * keyring_open(). */
MUST_CHECK bool store_resource_get(struct store *store, const struct store_request *request,
                                   enum resource_kind kind, const struct module_place *place,
                                   void *module, struct error *err);

/* Deletes the module at a place.  No such module is no error.  ERR_PRECONDITION_FAILED. */
MUST_CHECK bool store_resource_delete(struct store *store, const struct store_request *request,
                                      enum resource_kind kind, const struct module_place *place,
                                      struct error *err);

/* Reads a page of the account's modules, in byte order of edges and routes.  A client secret that
 * cannot be opened is absent, so that one lost key does not hide the other modules. */
MUST_CHECK bool store_resource_list(struct store *store, const struct store_request *request,
                                    enum resource_kind kind, const struct resource_page *page,
                                    struct resource_list *list, struct error *err);

#endif
