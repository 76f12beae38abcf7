/* SPDX-License-Identifier: MIT */
/* A store in memory. */
#include "stub_store.h"

#include <stdio.h>
#include <stdlib.h>

#include "store/mutual_tls_module.h"
#include "store/oauth_module.h"
#include "store/ssh_credential.h"

/* Things of a kind; past that the store says that it is unavailable. */
#define MAX_THINGS 256

#define N_KNOWN 5

struct known {
    const char *key;
    const char *principal_id;
    int account;
    bool is_admin;
    bool is_read_only;
    bool is_revoked;
};

static const struct known all_known[N_KNOWN] = {
    {STUB_ADMIN_KEY, STUB_ADMIN_ID, 1, true, false, false},
    {STUB_MEMBER_KEY, STUB_MEMBER_ID, 1, false, false, false},
    {STUB_READ_ONLY_KEY, STUB_READ_ONLY_ID, 1, false, true, false},
    {STUB_REVOKED_KEY, STUB_ADMIN_ID, 1, true, false, true},
    {STUB_OTHER_KEY, STUB_OTHER_ID, 2, true, false, false},
};

/* A thing of an account under one or two identifiers; account 0: a free place. */
struct place {
    int account;
    struct text ids[2];
};

struct stored_credential {
    struct place place;
    struct ssh_credential credential;
};

struct stored_oauth {
    struct place place;
    struct oauth_module module;
};

struct stored_mutual_tls {
    struct place place;
    struct mutual_tls_module module;
};

struct store {
    struct caller callers[N_KNOWN];
    struct stored_credential credentials[MAX_THINGS];
    struct stored_oauth oauth[MAX_THINGS];
    struct stored_mutual_tls mutual_tls[MAX_THINGS];
    struct arena memory; /* of all text in them */
    int64_t revision;    /* the latest */
    enum error_code failure;
    int n_changes;
};

struct store *stub_store_new(void)
{
    struct store *store = calloc(1, sizeof *store);
    struct error err;

    for (size_t i = 0; store && i < N_KNOWN; i++) {
        if (!store_caller(store, text_of(all_known[i].key), &store->callers[i], &err)) {
            free(store);
            return NULL;
        }
    }
    return store;
}

void stub_store_free(struct store *store)
{
    if (!store)
        return;
    arena_free(&store->memory);
    free(store);
}

void stub_store_clear(struct store *store)
{
    memset(store->credentials, 0, sizeof store->credentials);
    memset(store->oauth, 0, sizeof store->oauth);
    memset(store->mutual_tls, 0, sizeof store->mutual_tls);
    arena_reset(&store->memory);
}

void stub_store_fail(struct store *store, enum error_code code)
{
    store->failure = code;
}

int stub_store_n_changes(const struct store *store)
{
    return store->n_changes;
}

/* ---- who asks ---- */

bool store_caller(const struct store *store, struct text key, struct caller *caller,
                  struct error *err)
{
    (void)store;
    return crypt_sha256(key.s, key.len, caller->digest) || error_set(err, ERR_OUT_OF_MEMORY);
}

static struct caller_identity identity_of(const struct known *known)
{
    struct caller_identity identity = {.key_id = ""};

    snprintf(identity.key_id, sizeof identity.key_id, "ak_%s", known->principal_id);
    snprintf(identity.account_id, sizeof identity.account_id, "ac_%d", known->account);
    return identity;
}

struct caller_identity stub_store_identity(const char *key)
{
    for (size_t i = 0; i < N_KNOWN; i++) {
        if (strcmp(all_known[i].key, key) == 0 && !all_known[i].is_revoked)
            return identity_of(&all_known[i]);
    }
    return (struct caller_identity){.key_id = ""};
}

/* Returns the known if it may do that, or NULL with *err. */
static const struct known *find_known(const struct store *store, const struct caller *caller,
                                      bool writes, struct error *err)
{
    if (store->failure != ERR_NONE) {
        error_cause(err, store->failure, "%s", STUB_CAUSE);
        return NULL;
    }
    for (size_t i = 0; i < N_KNOWN; i++) {
        if (memcmp(store->callers[i].digest, caller->digest, sizeof caller->digest) != 0 ||
            all_known[i].is_revoked)
            continue;
        if (caller->identity)
            *caller->identity = identity_of(&all_known[i]);
        if (!writes || !all_known[i].is_read_only)
            return &all_known[i];
        error_set(err, ERR_KEY_READ_ONLY);
        return NULL;
    }
    error_set(err, ERR_KEY_UNKNOWN);
    return NULL;
}

bool store_authenticate(struct store *store, const struct caller *caller, bool writes,
                        struct error *err)
{
    return find_known(store, caller, writes, err) != NULL;
}

bool store_ready(struct store *store, struct error *err)
{
    return store->failure == ERR_NONE || error_cause(err, store->failure, "%s", STUB_CAUSE);
}

/* ---- copies that outlive the request ---- */

static struct text keep(struct store *store, struct text value)
{
    if (value.s)
        value.s = arena_copy(&store->memory, value.s, value.len);
    return value;
}

static struct text_list keep_list(struct store *store, struct text_list list)
{
    struct text *items = arena_array(&store->memory, list.n, sizeof *items);

    for (size_t i = 0; items && i < list.n; i++)
        items[i] = keep(store, list.items[i]);
    list.items = items;
    return list;
}

static struct place keep_place(struct store *store, const struct place *place)
{
    return (struct place){.account = place->account,
                          .ids = {keep(store, place->ids[0]), keep(store, place->ids[1])}};
}

static bool is_at(const struct place *a, const struct place *b)
{
    return a->account == b->account && text_eq(a->ids[0], b->ids[0]) &&
           text_eq(a->ids[1], b->ids[1]);
}

/* Whether a change may be made: where there is nothing, revision is -1. */
static bool condition_holds(const struct caller *caller, int64_t revision, struct error *err)
{
    const struct precondition *condition = &caller->condition;

    if (revision < 0 ? !condition->match.given
                     : precondition_check(condition, revision) == PRECONDITION_HOLDS)
        return true;
    return error_set(err, ERR_PRECONDITION_FAILED);
}

static bool is_full(struct error *err)
{
    return error_cause(err, ERR_DATABASE_UNAVAILABLE, "stub: full");
}

/* ---- credentials ---- */

void ssh_credential_list_free(struct ssh_credential_list *list)
{
    *list = (struct ssh_credential_list){0};
}

static struct stored_credential *find_credential(struct store *store, const struct place *place)
{
    for (size_t i = 0; i < MAX_THINGS; i++) {
        if (is_at(&store->credentials[i].place, place))
            return &store->credentials[i];
    }
    return NULL;
}

static bool list_one(const struct stored_credential *stored, struct arena *arena,
                     struct ssh_credential_list *list, struct error *err)
{
    *list = (struct ssh_credential_list){.items = arena_array(arena, 1, sizeof *list->items)};
    if (!list->items)
        return error_set(err, ERR_OUT_OF_MEMORY);
    list->items[list->n++] = stored->credential;
    return true;
}

static bool may_own(const struct known *known, struct text owner_id, struct error *err)
{
    if (!owner_id.s || text_eq(owner_id, text_of(known->principal_id)))
        return true;
    if (!known->is_admin)
        return error_field(err, ERR_NOT_ADMIN, "owner_id", "%s", error_row(ERR_NOT_ADMIN)->text);
    for (size_t i = 0; i < N_KNOWN; i++) {
        if (all_known[i].account == known->account &&
            text_eq(owner_id, text_of(all_known[i].principal_id)))
            return true;
    }
    return error_field(err, ERR_OWNER_UNKNOWN, "owner_id", "%s",
                       error_row(ERR_OWNER_UNKNOWN)->text);
}

static void change(struct store *store, struct ssh_credential *credential,
                   const struct ssh_credential_input *input)
{
    credential->revision = ++store->revision;
    if (input->description.s)
        credential->description = keep(store, input->description);
    if (input->metadata.s)
        credential->metadata = keep(store, input->metadata);
    if (input->acl.given)
        credential->acl = keep_list(store, input->acl);
}

bool store_ssh_credential_create(struct store *store, const struct caller *caller,
                                 const struct ssh_credential_input *input, struct arena *arena,
                                 struct ssh_credential_list *list, struct error *err)
{
    const struct known *known = find_known(store, caller, true, err);
    const struct place free_place = {.account = 0};
    struct stored_credential *stored = find_credential(store, &free_place);
    char id[IDENT_SIZE];

    if (!known || !may_own(known, input->owner_id, err))
        return false;
    if (!stored)
        return is_full(err);
    if (!ident_make(id, IDENT_CREDENTIAL, INT64_C(1000) * STUB_CREATED_AT + store->n_changes))
        return error_set(err, ERR_INTERNAL);
    stored->place.account = known->account;
    stored->place.ids[0] = keep(store, text_of(id));
    stored->credential = (struct ssh_credential){
        .id = stored->place.ids[0],
        .created_at = STUB_CREATED_AT,
        .description = text_of(""),
        .metadata = text_of(""),
        .public_key = keep(store, input->public_key),
        .acl = {.given = true},
        .owner_id = input->owner_id.s ? keep(store, input->owner_id) : text_of(known->principal_id),
    };
    change(store, &stored->credential, input);
    store->n_changes++;
    return list_one(stored, arena, list, err);
}

static struct stored_credential *look_up(struct store *store, const struct caller *caller,
                                         struct text id, bool writes, struct error *err)
{
    const struct known *known = find_known(store, caller, writes, err);
    struct place place = {.ids = {id}};
    struct stored_credential *stored = NULL;

    if (known) {
        place.account = known->account;
        stored = find_credential(store, &place);
        if (!stored)
            error_set(err, ERR_CREDENTIAL_NOT_FOUND);
    }
    return stored;
}

bool store_ssh_credential_get(struct store *store, const struct caller *caller, struct text id,
                              struct arena *arena, struct ssh_credential_list *list,
                              struct error *err)
{
    const struct stored_credential *stored = look_up(store, caller, id, false, err);

    return stored && list_one(stored, arena, list, err);
}

bool store_ssh_credential_update(struct store *store, const struct caller *caller, struct text id,
                                 const struct ssh_credential_input *input, struct arena *arena,
                                 struct ssh_credential_list *list, struct error *err)
{
    struct stored_credential *stored = look_up(store, caller, id, true, err);

    if (!stored || !condition_holds(caller, stored->credential.revision, err))
        return false;
    change(store, &stored->credential, input);
    store->n_changes++;
    return list_one(stored, arena, list, err);
}

bool store_ssh_credential_delete(struct store *store, const struct caller *caller, struct text id,
                                 struct arena *arena, struct error *err)
{
    struct stored_credential *stored = look_up(store, caller, id, true, err);

    (void)arena;
    if (!stored || !condition_holds(caller, stored->credential.revision, err))
        return false;
    *stored = (struct stored_credential){.place = {.account = 0}};
    store->n_changes++;
    return true;
}

static int newest_first(const void *a, const void *b)
{
    const struct ssh_credential *x = a;
    const struct ssh_credential *y = b;

    return text_cmp(y->id, x->id);
}

bool store_ssh_credential_list(struct store *store, const struct caller *caller,
                               struct text before_id, int limit, size_t most_bytes,
                               struct arena *arena, struct ssh_credential_list *list,
                               struct error *err)
{
    const struct known *known = find_known(store, caller, false, err);
    struct ssh_credential *items = arena_array(arena, MAX_THINGS, sizeof *items);
    size_t n = 0;

    (void)most_bytes; /* there are too few for it to matter */
    if (!known)
        return false;
    if (!items)
        return error_set(err, ERR_OUT_OF_MEMORY);
    for (size_t i = 0; i < MAX_THINGS; i++) {
        const struct stored_credential *stored = &store->credentials[i];

        if (stored->place.account == known->account &&
            (!before_id.s || text_cmp(stored->credential.id, before_id) < 0))
            items[n++] = stored->credential;
    }
    qsort(items, n, sizeof *items, newest_first);
    *list = (struct ssh_credential_list){.items = items, .n = n, .more = n > (size_t)limit};
    if (list->more)
        list->n = (size_t)limit;
    return true;
}

/* ---- OAuth modules ---- */

static struct stored_oauth *find_oauth(struct store *store, const struct place *place)
{
    for (size_t i = 0; i < MAX_THINGS; i++) {
        if (is_at(&store->oauth[i].place, place))
            return &store->oauth[i];
    }
    return NULL;
}

static struct place oauth_place(const struct known *known, const struct oauth_route *route)
{
    return (struct place){.account = known->account, .ids = {route->edge_id, route->route_id}};
}

bool store_oauth_module_put(struct store *store, const struct caller *caller,
                            const struct oauth_route *route, struct oauth_module *module,
                            struct arena *arena, struct error *err)
{
    const struct known *known = find_known(store, caller, true, err);
    const struct place free_place = {.account = 0};
    struct stored_oauth *stored;
    struct oauth_provider *config;
    struct place place;

    (void)arena;
    if (!known)
        return false;
    place = oauth_place(known, route);
    stored = find_oauth(store, &place);
    if (!condition_holds(caller, stored ? stored->module.revision : -1, err))
        return false;
    if (!stored)
        stored = find_oauth(store, &free_place);
    if (!stored)
        return is_full(err);
    stored->place = keep_place(store, &place);
    module->revision = ++store->revision;
    stored->module = *module;
    stored->module.cookie_prefix = keep(store, module->cookie_prefix);
    config = &stored->module.config;
    config->client_id = keep(store, config->client_id);
    config->client_secret = keep(store, config->client_secret);
    config->scopes = keep_list(store, config->scopes);
    config->email_addresses = keep_list(store, config->email_addresses);
    config->email_domains = keep_list(store, config->email_domains);
    config->teams = keep_list(store, config->teams);
    config->organizations = keep_list(store, config->organizations);
    store->n_changes++;
    return true;
}

bool store_oauth_module_get(struct store *store, const struct caller *caller,
                            const struct oauth_route *route, struct arena *arena,
                            struct oauth_module *module, struct error *err)
{
    const struct known *known = find_known(store, caller, false, err);
    const struct stored_oauth *stored;
    struct place place;

    (void)arena;
    if (!known)
        return false;
    place = oauth_place(known, route);
    stored = find_oauth(store, &place);
    if (!stored)
        return error_set(err, ERR_OAUTH_NOT_FOUND);
    *module = stored->module;
    if (known->is_read_only)
        module->config.client_secret = (struct text){0};
    return true;
}

bool store_oauth_module_delete(struct store *store, const struct caller *caller,
                               const struct oauth_route *route, struct arena *arena,
                               struct error *err)
{
    const struct known *known = find_known(store, caller, true, err);
    struct stored_oauth *stored;
    struct place place;

    (void)arena;
    if (!known)
        return false;
    place = oauth_place(known, route);
    stored = find_oauth(store, &place);
    if (!condition_holds(caller, stored ? stored->module.revision : -1, err))
        return false;
    if (stored) {
        *stored = (struct stored_oauth){.place = {.account = 0}};
        store->n_changes++;
    }
    return true;
}

/* ---- mutual TLS modules ---- */

static struct stored_mutual_tls *find_mutual_tls(struct store *store, const struct place *place)
{
    for (size_t i = 0; i < MAX_THINGS; i++) {
        if (is_at(&store->mutual_tls[i].place, place))
            return &store->mutual_tls[i];
    }
    return NULL;
}

bool store_mutual_tls_module_put(struct store *store, const struct caller *caller,
                                 struct text edge_id, struct mutual_tls_module *module,
                                 struct arena *arena, struct error *err)
{
    const struct known *known = find_known(store, caller, true, err);
    const struct place free_place = {.account = 0};
    struct place place = {.ids = {edge_id}};
    struct stored_mutual_tls *stored;

    (void)arena;
    if (!known)
        return false;
    place.account = known->account;
    stored = find_mutual_tls(store, &place);
    if (!condition_holds(caller, stored ? stored->module.revision : -1, err))
        return false;
    if (!stored)
        stored = find_mutual_tls(store, &free_place);
    if (!stored)
        return is_full(err);
    stored->place = keep_place(store, &place);
    module->revision = ++store->revision;
    stored->module = *module;
    stored->module.certificate_authority_ids = keep_list(store, module->certificate_authority_ids);
    store->n_changes++;
    return true;
}

bool store_mutual_tls_module_get(struct store *store, const struct caller *caller,
                                 struct text edge_id, struct arena *arena,
                                 struct mutual_tls_module *module, struct error *err)
{
    const struct known *known = find_known(store, caller, false, err);
    struct place place = {.ids = {edge_id}};
    const struct stored_mutual_tls *stored;

    (void)arena;
    if (!known)
        return false;
    place.account = known->account;
    stored = find_mutual_tls(store, &place);
    if (!stored)
        return error_set(err, ERR_MUTUAL_TLS_NOT_FOUND);
    *module = stored->module;
    return true;
}

bool store_mutual_tls_module_delete(struct store *store, const struct caller *caller,
                                    struct text edge_id, struct arena *arena, struct error *err)
{
    const struct known *known = find_known(store, caller, true, err);
    struct place place = {.ids = {edge_id}};
    struct stored_mutual_tls *stored;

    (void)arena;
    if (!known)
        return false;
    place.account = known->account;
    stored = find_mutual_tls(store, &place);
    if (!condition_holds(caller, stored ? stored->module.revision : -1, err))
        return false;
    if (stored) {
        *stored = (struct stored_mutual_tls){.place = {.account = 0}};
        store->n_changes++;
    }
    return true;
}
