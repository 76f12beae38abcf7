/* SPDX-License-Identifier: MIT */
/* What only OAuth modules have in the database: their secret, and what filters name. */
#ifndef ADIT_STORE_OAUTH_MODULE_H
#define ADIT_STORE_OAUTH_MODULE_H

#include "store/resource.h"

extern const struct filter_member oauth_module_filter_members[];

/* Appends the parameters $6 to $8 of a list with a filter. */
void oauth_module_add_filter(struct pg_params *params, const struct resource_page *page,
                             struct arena *arena);

/* Seals the secret of a module that has one.  Sets *account_id to the account for which it is
 * sealed, which may be wrong; absent: there is no secret.  Returns false with *err as
 * store_authorize() or keyring_seal(). */
MUST_CHECK bool oauth_module_seal(struct store *store, const struct store_request *request,
                                  const struct module_place *place, struct oauth_module *module,
                                  struct text *account_id, struct error *err);

/* Opens the secret of a module that was read, and forgets what is sealed.  Returns false as
 * keyring_open(). */
MUST_CHECK bool oauth_module_open(const struct store *store, struct text account_id,
                                  const struct module_place *place, struct arena *arena,
                                  struct oauth_module *module, struct error *err);

#endif
