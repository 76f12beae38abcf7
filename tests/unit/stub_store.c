/* SPDX-License-Identifier: MIT */
/* A store in memory. */
#include "stub_things.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "store/ssh_credential.h"
#include "store/ssh_decision.h"

static const struct known all_known[N_KNOWN] = {
    {STUB_ADMIN_KEY, STUB_ADMIN_ID, 1, KEY_READ_WRITE, true, false},
    {STUB_MEMBER_KEY, STUB_MEMBER_ID, 1, KEY_READ_WRITE, false, false},
    {STUB_READ_ONLY_KEY, STUB_READ_ONLY_ID, 1, KEY_READ_ONLY, false, false},
    {STUB_GATEWAY_KEY, STUB_GATEWAY_ID, 1, KEY_GATEWAY, false, false},
    {STUB_OWN_KEY, STUB_OWN_ID, 1, KEY_OWN, true, false},
    {STUB_REVOKED_KEY, STUB_ADMIN_ID, 1, KEY_READ_WRITE, true, true},
    {STUB_OTHER_KEY, STUB_OTHER_ID, 2, KEY_READ_WRITE, true, false},
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

void stub_store_fail(struct store *store, enum error_code code)
{
    store->failure = code;
}

int stub_store_n_changes(const struct store *store)
{
    return store->n_changes;
}

/* ---- callers ---- */

bool store_caller(const struct store *store, struct text key, struct caller *caller,
                  struct error *err)
{
    (void)store;
    (void)api_key_account(key, caller->account_id);
    return crypt_sha256(key.s, key.len, caller->digest) || error_set(err, ERR_OUT_OF_MEMORY);
}

bool store_find_account(struct store *store, struct caller *caller, struct error *err)
{
    (void)store;
    (void)caller;
    (void)err;
    return true;
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

/* Returns the caller, whatever it may do, or NULL with *err. */
static const struct known *find_any(const struct store *store, const struct store_request *request,
                                    struct error *err)
{
    const struct caller *caller = &request->caller;

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
        return &all_known[i];
    }
    error_set(err, ERR_KEY_UNKNOWN);
    return NULL;
}

/* Returns the caller if it may do what the request asks, or NULL with *err. */
const struct known *stub_find_known(const struct store *store, const struct store_request *request,
                                    bool writes, struct error *err)
{
    const struct known *known = find_any(store, request, err);
    enum error_code code =
        known ? key_kind_forbids(known->kind, request->keys, writes, KEY_WHOSE_UNKNOWN) : ERR_NONE;

    if (code == ERR_NONE)
        return known;
    error_set(err, code);
    return NULL;
}

bool store_authenticate(struct store *store, const struct store_request *request, struct error *err)
{
    return find_any(store, request, err) != NULL;
}

bool store_authorize(struct store *store, const struct store_request *request, bool writes,
                     struct error *err)
{
    return stub_find_known(store, request, writes, err) != NULL;
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

/* Copies the text of a struct into the store, by the table of its members. */
void stub_keep_fields(struct store *store, const struct field *fields, size_t n, void *target)
{
    (void)!fields_copy(fields, n, target, &store->memory);
}

/* Copies a value that is given. */
static void take_value(struct store *store, const struct field *member, void *target,
                       const void *input)
{
    void *to = (char *)target + member->offset;
    const void *from = (const char *)input + member->offset;

    if (member->kind == FIELD_TEXT && ((const struct text *)from)->s)
        *(struct text *)to = *(const struct text *)from;
    else if (member->kind == FIELD_TEXTS && ((const struct text_list *)from)->given)
        *(struct text_list *)to = *(const struct text_list *)from;
    else if (member->given && *((const bool *)input + member->given))
        memcpy(to, from,
               member->kind == FIELD_TIME_OR_NULL ? sizeof(int64_t)
               : member->kind == FIELD_UINT32     ? sizeof(uint32_t)
                                                  : sizeof(bool));
    else
        return;
    stub_keep_fields(store, member, 1, target);
}

/* ---- resources of any kind ---- */

static struct thing *find(const struct store *store, int account, const struct place *place)
{
    struct thing *thing = store->things;

    while (thing && (thing->account != account || thing->place.kind != place->kind ||
                     !text_eq(thing->place.ids[0], place->ids[0]) ||
                     !text_eq(thing->place.ids[1], place->ids[1])))
        thing = thing->next;
    return thing;
}

/* Returns whose the resource is; only credentials have an owner. */
static enum key_whose whose(const struct known *known, const struct thing *thing)
{
    const struct ssh_credential *credential = thing->value;

    if (thing->place.kind != CREDENTIAL)
        return KEY_WHOSE_UNKNOWN;
    return text_eq(credential->owner_id, text_of(known->principal_id)) ? KEY_WHOSE_OWN
                                                                       : KEY_WHOSE_OTHERS;
}

/* Finds the resource that a request reads or changes.  If there is none, returns false and sets
 * *err to missing.  If missing is ERR_NONE, returns true with *thing NULL. */
static bool look_up(const struct store *store, const struct store_request *request,
                    const struct place *place, bool writes, enum error_code missing,
                    struct thing **thing, struct error *err)
{
    const struct known *known = stub_find_known(store, request, writes, err);
    const struct precondition *condition = &request->condition;
    enum error_code code;

    if (!known)
        return false;
    *thing = find(store, known->account, place);
    if (!*thing && missing != ERR_NONE)
        return error_set(err, missing);
    code = *thing ? key_kind_forbids(known->kind, request->keys, writes, whose(known, *thing))
                  : ERR_NONE;
    if (code != ERR_NONE)
        return error_set(err, code);
    if (!writes || (*thing ? precondition_check(condition, (*thing)->revision) == PRECONDITION_HOLDS
                           : !condition->match.given))
        return true;
    return error_set(err, ERR_PRECONDITION_FAILED);
}

static struct thing *add(struct store *store, int account, const struct place *place)
{
    struct thing *thing = arena_alloc(&store->memory, sizeof *thing);

    if (!thing)
        return NULL;
    *thing = (struct thing){
        .next = store->things,
        .account = account,
        .place = {.kind = place->kind,
                  .ids = {keep(store, place->ids[0]), keep(store, place->ids[1])}},
    };
    store->things = thing;
    return thing;
}

static void mark_changed(struct store *store, struct thing *thing)
{
    thing->revision = ++store->revision;
    store->n_changes++;
}

/* Creates or replaces a resource.  Sets *revision in the value, and returns a copy whose text still
 * belongs to the request.  Returns NULL with *err on failure. */
void *stub_put(struct store *store, const struct store_request *request, const struct place *place,
               const void *value, size_t size, int64_t *revision, struct error *err)
{
    const struct known *known = stub_find_known(store, request, true, err);
    struct thing *thing;

    if (!look_up(store, request, place, true, ERR_NONE, &thing, err))
        return NULL;
    if (!thing)
        thing = add(store, known->account, place);
    if (thing)
        thing->value = arena_alloc(&store->memory, size);
    if (!thing || !thing->value) {
        error_set(err, ERR_OUT_OF_MEMORY);
        return NULL;
    }
    mark_changed(store, thing);
    *revision = thing->revision;
    memcpy(thing->value, value, size);
    return thing->value;
}

/* Copies the value of a resource to out.  Returns false with *err, which is missing if there is
 * none. */
bool stub_get(const struct store *store, const struct store_request *request,
              const struct place *place, void *out, size_t size, enum error_code missing,
              struct error *err)
{
    struct thing *thing;

    if (!look_up(store, request, place, false, missing, &thing, err))
        return false;
    memcpy(out, thing->value, size);
    return true;
}

bool stub_remove(struct store *store, const struct store_request *request,
                 const struct place *place, enum error_code missing, struct error *err)
{
    struct thing *thing;

    if (!look_up(store, request, place, true, missing, &thing, err))
        return false;
    if (thing) {
        thing->account = 0;
        store->n_changes++;
    }
    return true;
}

/* ---- credentials ---- */

/* The stub's lists ignore their filters. */
const struct filter_member ssh_credential_filter_members[] = {{.name = "id", .type = FILTER_STRING},
                                                              {.name = NULL}};

void ssh_credential_list_free(struct ssh_credential_list *list)
{
    *list = (struct ssh_credential_list){0};
}

static struct place credential_place(struct text id)
{
    return (struct place){.kind = CREDENTIAL, .ids = {id}};
}

static bool list_one(const struct thing *thing, struct arena *arena,
                     struct ssh_credential_list *list, struct error *err)
{
    *list = (struct ssh_credential_list){.items = arena_array(arena, 1, sizeof *list->items)};
    if (!list->items)
        return error_set(err, ERR_OUT_OF_MEMORY);
    memcpy(&list->items[list->n++], thing->value, sizeof *list->items);
    return true;
}

static bool may_own(const struct known *known, const struct store_request *request,
                    struct text owner_id, struct error *err)
{
    enum error_code code = key_kind_forbids(known->kind, request->keys, true, KEY_WHOSE_OTHERS);

    if (code == ERR_NONE)
        code = known->is_admin ? ERR_OWNER_UNKNOWN : ERR_NOT_ADMIN;

    if (!owner_id.s || text_eq(owner_id, text_of(known->principal_id)))
        return true;
    for (size_t i = 0; code == ERR_OWNER_UNKNOWN && i < N_KNOWN; i++) {
        if (all_known[i].account == known->account &&
            text_eq(owner_id, text_of(all_known[i].principal_id)))
            return true;
    }
    return error_field(err, code, "owner_id", "%s", error_row(code)->text);
}

/* Takes over what the input gives of members that PATCH changes, and of those of a new one. */
static void change(struct store *store, struct thing *thing, bool is_new,
                   const struct ssh_credential *input)
{
    struct ssh_credential *credential = thing->value;

    mark_changed(store, thing);
    credential->revision = thing->revision;
    for (size_t i = 0; i < ssh_credential_n_members; i++) {
        const struct field *member = &ssh_credential_members[i];

        if (member->use == FIELD_USE_CHANGE || (is_new && member->use == FIELD_USE_CREATE))
            take_value(store, member, credential, input);
    }
}

bool store_ssh_credential_create(struct store *store, const struct store_request *request,
                                 const struct ssh_credential *input,
                                 struct ssh_credential_list *list, struct error *err)
{
    const struct known *known = stub_find_known(store, request, true, err);
    struct ssh_credential *credential = arena_alloc(&store->memory, sizeof *credential);
    struct thing *thing;
    struct place place;
    char id[IDENT_SIZE];

    if (!known || !may_own(known, request, input->owner_id, err))
        return false;
    if (!ident_make(id, IDENT_CREDENTIAL, INT64_C(1000) * STUB_CREATED_AT + store->n_changes))
        return error_set(err, ERR_INTERNAL);
    place = credential_place(text_of(id));
    thing = add(store, known->account, &place);
    if (!thing || !credential)
        return error_set(err, ERR_OUT_OF_MEMORY);
    *credential = (struct ssh_credential){
        .id = thing->place.ids[0],
        .created_at = STUB_CREATED_AT,
        .owner_id = input->owner_id.s ? keep(store, input->owner_id) : text_of(known->principal_id),
    };
    fields_fill(ssh_credential_members, ssh_credential_n_members, credential);
    thing->value = credential;
    change(store, thing, true, input);
    return list_one(thing, request->arena, list, err);
}

bool store_ssh_credential_get(struct store *store, const struct store_request *request,
                              struct text id, struct ssh_credential_list *list, struct error *err)
{
    struct place place = credential_place(id);
    struct thing *thing;

    return look_up(store, request, &place, false, ERR_CREDENTIAL_NOT_FOUND, &thing, err) &&
           list_one(thing, request->arena, list, err);
}

bool store_ssh_credential_update(struct store *store, const struct store_request *request,
                                 struct text id, const struct ssh_credential *input,
                                 struct ssh_credential_list *list, struct error *err)
{
    struct place place = credential_place(id);
    struct thing *thing;

    if (!look_up(store, request, &place, true, ERR_CREDENTIAL_NOT_FOUND, &thing, err))
        return false;
    change(store, thing, false, input);
    return list_one(thing, request->arena, list, err);
}

bool store_ssh_credential_delete(struct store *store, const struct store_request *request,
                                 struct text id, struct error *err)
{
    struct place place = credential_place(id);

    return stub_remove(store, request, &place, ERR_CREDENTIAL_NOT_FOUND, err);
}

static int newest_first(const void *a, const void *b)
{
    const struct ssh_credential *x = a;
    const struct ssh_credential *y = b;

    return text_cmp(y->id, x->id);
}

size_t stub_count(const struct store *store)
{
    size_t n = 0;

    for (const struct thing *thing = store->things; thing; thing = thing->next)
        n++;
    return n;
}

/* Ignores page->most_bytes: tests list only small pages. */
bool store_ssh_credential_list(struct store *store, const struct store_request *request,
                               const struct ssh_credential_page *page,
                               struct ssh_credential_list *list, struct error *err)
{
    const struct known *known = stub_find_known(store, request, false, err);
    struct ssh_credential *items = arena_array(request->arena, stub_count(store), sizeof *items);
    size_t n = 0;

    if (!known)
        return false;
    if (!items)
        return error_set(err, ERR_OUT_OF_MEMORY);
    for (const struct thing *thing = store->things; thing; thing = thing->next) {
        if (thing->account == known->account && thing->place.kind == CREDENTIAL &&
            (!page->before_id.s || text_cmp(thing->place.ids[0], page->before_id) < 0))
            memcpy(&items[n++], thing->value, sizeof *items);
    }
    qsort(items, n, sizeof *items, newest_first);
    *list = (struct ssh_credential_list){.items = items, .n = n, .more = n > (size_t)page->limit};
    if (list->more)
        list->n = (size_t)page->limit;
    return true;
}

/* ---- decisions ---- */

void ssh_grant_list_free(struct ssh_grant_list *list)
{
    *list = (struct ssh_grant_list){0};
}

static int oldest_first(const void *a, const void *b)
{
    const struct ssh_grant *x = a;
    const struct ssh_grant *y = b;

    return text_cmp(x->id, y->id);
}

static bool has_fingerprint(const struct ssh_credential *credential, struct text fingerprint)
{
    struct public_key key;
    const char *reason;

    return public_key_read(credential->public_key, &key, &reason) &&
           text_eq(text_of(key.fingerprint), fingerprint);
}

/* There is no most: tests have only few credentials. */
bool store_ssh_decision_find(struct store *store, const struct store_request *request,
                             struct text fingerprint, struct ssh_grant_list *list,
                             struct error *err)
{
    const struct known *known = stub_find_known(store, request, false, err);

    if (!known)
        return false;
    list->items = arena_array(request->arena, stub_count(store), sizeof *list->items);
    if (!list->items)
        return error_set(err, ERR_OUT_OF_MEMORY);
    for (const struct thing *thing = store->things; thing; thing = thing->next) {
        const struct ssh_credential *credential = thing->value;

        if (thing->account == known->account && thing->place.kind == CREDENTIAL &&
            has_fingerprint(credential, fingerprint))
            list->items[list->n++] = (struct ssh_grant){
                .id = credential->id, .owner_id = credential->owner_id, .acl = credential->acl};
    }
    qsort(list->items, list->n, sizeof *list->items, oldest_first);
    return true;
}
