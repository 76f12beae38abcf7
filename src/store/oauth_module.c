/* SPDX-License-Identifier: MIT */
/* What only OAuth modules have in the database. */
#include "store/oauth_module.h"

#include "store/executor.h"
#include "store/filter.h"
#include "store/oauth_admission.h"
#include "store/oauth_secret.h"

/* clang-format off */
const struct filter_member oauth_module_filter_members[] = {
    OAUTH_MODULE_MEMBERS(FILTER_MEMBER, FILTER_MEMBER, "m")
    {"id", FILTER_STRING, "m.route_id"},
    {"provider", FILTER_STRING, "coalesce(($6::text[])[m.provider], '')"},
    {"admits", FILTER_STRING, OAUTH_ADMITS("$7", "$8")},
    {.name = NULL},
};
/* clang-format on */

void oauth_module_add_filter(struct pg_params *params, const struct resource_page *page,
                             struct arena *arena)
{
    struct text items[OAUTH_N_PROVIDERS];

    for (size_t i = 0; i < OAUTH_N_PROVIDERS; i++)
        items[i] = text_of(page->names->providers[i]);
    pg_add_texts(params, (struct text_list){.items = items, .n = OAUTH_N_PROVIDERS, .given = true},
                 arena);
    oauth_admission_add(params, page->applications, arena);
}

/* The account of a secret may come from an earlier request.  Then only this tells whether the key
 * is still good and may write, which comes first.  Returns false. */
static bool refuse_unsealed(struct store *store, const struct store_request *request,
                            struct error *err)
{
    struct error refused;

    if (!store_authorize(store, request, true, &refused))
        *err = refused;
    return false;
}

bool oauth_module_seal(struct store *store, const struct store_request *request,
                       const struct module_place *place, struct oauth_module *module,
                       struct text *account_id, struct error *err)
{
    struct field_secret *secret = &module->config.client_secret;
    struct keyring_place at;

    *account_id = (struct text){0};
    if (!secret->plain.s)
        return true;
    *account_id = executor_account_hint(store, &request->caller);
    if (!account_id->s) {
        if (!store_authorize(store, request, true, err))
            return false;
        *account_id = executor_account_hint(store, &request->caller);
    }
    at = oauth_secret_place(*account_id, place, module->provider);
    return keyring_seal(store->keyring, &at, secret->plain, request->arena, &secret->key_id,
                        &secret->sealed, err) ||
           refuse_unsealed(store, request, err);
}

bool oauth_module_open(const struct store *store, struct text account_id,
                       const struct module_place *place, struct arena *arena,
                       struct oauth_module *module, struct error *err)
{
    struct field_secret *secret = &module->config.client_secret;
    struct keyring_place at = oauth_secret_place(account_id, place, module->provider);

    /* Of a provider that only a later version knows, nothing is shown. */
    bool ok = !secret->sealed.s || module->provider == 0 ||
              keyring_open(store->keyring, &at, secret->key_id, secret->sealed, arena,
                           &secret->plain, err);

    *secret = (struct field_secret){.plain = secret->plain};
    return ok;
}
