/* SPDX-License-Identifier: MIT */
/* OAuth modules in the database, their client secrets sealed.  Every function returns false with
 * *err as caller_run() does, beside what it says itself. */
#ifndef ADIT_STORE_OAUTH_MODULE_H
#define ADIT_STORE_OAUTH_MODULE_H

#include "model/oauth_module.h"
#include "store/store.h"

/* The route that a module belongs to. */
struct oauth_route {
    struct text edge_id;
    struct text route_id;
};

/* Makes or replaces the module of a route, and sets its revision.  ERR_PRECONDITION_FAILED. */
bool store_oauth_module_put(struct store *store, const struct caller *caller,
                            const struct oauth_route *route, struct oauth_module *module,
                            struct arena *arena, struct error *err);

/* Reads the module of a route; text and arrays belong to the arena.  For a read-only key, the
 * client secret is not given.  ERR_OAUTH_NOT_FOUND, ERR_SECRET_UNREADABLE. */
bool store_oauth_module_get(struct store *store, const struct caller *caller,
                            const struct oauth_route *route, struct arena *arena,
                            struct oauth_module *module, struct error *err);

/* Removes the module of a route, if it is there.  ERR_PRECONDITION_FAILED. */
bool store_oauth_module_delete(struct store *store, const struct caller *caller,
                               const struct oauth_route *route, struct arena *arena,
                               struct error *err);

#endif
