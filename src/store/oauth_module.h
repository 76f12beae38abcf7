/* SPDX-License-Identifier: MIT */
/* OAuth modules in the database, their client secrets sealed.  Every function returns false with
 * *err: as executor_run(), or with the error named beside it. */
#ifndef ADIT_STORE_OAUTH_MODULE_H
#define ADIT_STORE_OAUTH_MODULE_H

#include "base/must_check.h"
#include "model/oauth_module.h"
#include "store/store.h"

/* The route that a module belongs to. */
struct oauth_route {
    struct text edge_id;
    struct text route_id;
};

/* Creates or replaces the module of a route, and sets its revision.  ERR_PRECONDITION_FAILED, or as
 * keyring_seal(). */
MUST_CHECK bool store_oauth_module_put(struct store *store, const struct store_request *request,
                                       const struct oauth_route *route, struct oauth_module *module,
                                       struct error *err);

/* Reads the module of a route into *module, with text in the request's arena.  A read-only key gets
 * no client secret.  ERR_OAUTH_NOT_FOUND, or as keyring_open(). */
MUST_CHECK bool store_oauth_module_get(struct store *store, const struct store_request *request,
                                       const struct oauth_route *route, struct oauth_module *module,
                                       struct error *err);

/* Deletes the module of a route.  No such module is no error.  ERR_PRECONDITION_FAILED. */
MUST_CHECK bool store_oauth_module_delete(struct store *store, const struct store_request *request,
                                          const struct oauth_route *route, struct error *err);

#endif
