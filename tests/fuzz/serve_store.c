/* SPDX-License-Identifier: MIT */
/* A store that knows no rule. */
#include "serve_store.h"

#include <string.h>

#include "store/audit_event.h"
#include "store/resource.h"
#include "store/ssh_credential.h"
#include "store/ssh_decision.h"

#define PUBLIC_KEY                                                                                 \
    "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAID5SbIpVnFfJIc9McVvd+X81MKSG/SHWfskTzyZTpF9R"

bool store_caller(const struct store *store, struct text key, struct caller *caller,
                  struct error *err)
{
    (void)store, (void)err;
    caller->digest[0] = text_eq(key, text_of(SERVE_KEY));
    return true;
}

bool store_find_account(struct store *store, struct caller *caller, struct error *err)
{
    (void)store, (void)caller, (void)err;
    return true;
}

bool store_ready(struct store *store, struct error *err)
{
    return store->failure == ERR_NONE || error_cause(err, store->failure, SERVE_CAUSE);
}

bool store_authenticate(struct store *store, const struct store_request *request, struct error *err)
{
    return store_ready(store, err) &&
           (request->caller.digest[0] || error_set(err, ERR_KEY_UNKNOWN));
}

bool store_authorize(struct store *store, const struct store_request *request, bool writes,
                     struct error *err)
{
    (void)writes;
    return store_authenticate(store, request, err);
}

static bool change(struct store *store, const struct store_request *request, struct error *err)
{
    if (!store_authenticate(store, request, err))
        return false;
    store->n_changes++;
    return true;
}

/* Returns n items without text, if the request succeeds. */
static void *make_items(struct store *store, const struct store_request *request, bool writes,
                        size_t n, size_t size, struct error *err)
{
    void *items = arena_array(request->arena, n, size);

    if (!(writes ? change : store_authenticate)(store, request, err))
        return NULL;
    if (items)
        memset(items, 0, n * size);
    else
        error_set(err, ERR_OUT_OF_MEMORY);
    return items;
}

/* ---- modules ---- */

bool store_resource_put(struct store *store, const struct store_request *request,
                        enum resource_kind kind, const struct module_place *place, void *module,
                        struct error *err)
{
    const struct resource_row *row = resource_row(kind);

    (void)place;
    if (!change(store, request, err))
        return false;
    memcpy(&store->modules[kind], module, row->size);
    store->has[kind] = true;
    return fields_copy(row->members, *row->n_members, &store->modules[kind], &store->memory) ||
           error_set(err, ERR_OUT_OF_MEMORY);
}

bool store_resource_get(struct store *store, const struct store_request *request,
                        enum resource_kind kind, const struct module_place *place, void *module,
                        struct error *err)
{
    (void)place;
    if (!store_authenticate(store, request, err))
        return false;
    memcpy(module, &store->modules[kind], resource_row(kind)->size);
    return store->has[kind] || error_set(err, resource_row(kind)->missing);
}

bool store_resource_delete(struct store *store, const struct store_request *request,
                           enum resource_kind kind, const struct module_place *place,
                           struct error *err)
{
    (void)place;
    if (!change(store, request, err))
        return false;
    store->has[kind] = false;
    return true;
}

const struct filter_member *store_resource_filter(enum resource_kind kind)
{
    static const struct filter_member none[] = {{.name = NULL}};

    (void)kind;
    return none;
}

bool store_resource_list(struct store *store, const struct store_request *request,
                         enum resource_kind kind, const struct resource_page *page,
                         struct resource_list *list, struct error *err)
{
    *list = (struct resource_list){
        .items = make_items(store, request, false, 1, sizeof *list->items, err),
        .n = store->has[kind] && !page->after.edge_id.s};
    if (!list->items)
        return false;
    list->items[0].module = store->modules[kind];
    list->items[0].place = (struct module_place){text_of("e"), text_of("r")};
    return true;
}

/* ---- credentials ---- */

const struct filter_member ssh_credential_filter_members[] = {{.name = "id", .type = FILTER_STRING},
                                                              {.name = NULL}};

void ssh_credential_list_free(struct ssh_credential_list *list)
{
    *list = (struct ssh_credential_list){0};
}

/* Answers with a credential that has what the input gives. */
static bool answer(struct store *store, const struct store_request *request, bool writes,
                   struct text id, const struct ssh_credential *input,
                   struct ssh_credential_list *list, struct error *err)
{
    struct ssh_credential *one = make_items(store, request, writes, 1, sizeof *one, err);

    *list = (struct ssh_credential_list){.items = one, .n = 1};
    if (!one)
        return false;
    *one = *input;
    fields_fill(ssh_credential_members, ssh_credential_n_members, one);
    one->id = id;
    one->revision = 1;
    if (!one->owner_id.s)
        one->owner_id = text_of("usr_admin");
    if (!one->public_key.s)
        one->public_key = text_of(PUBLIC_KEY);
    return true;
}

bool store_ssh_credential_create(struct store *store, const struct store_request *request,
                                 const struct ssh_credential *input,
                                 struct ssh_credential_list *list, struct error *err)
{
    return answer(store, request, true, text_of("sshcr_created"), input, list, err);
}

bool store_ssh_credential_get(struct store *store, const struct store_request *request,
                              struct text id, struct ssh_credential_list *list, struct error *err)
{
    return answer(store, request, false, id, &(struct ssh_credential){0}, list, err);
}

bool store_ssh_credential_update(struct store *store, const struct store_request *request,
                                 struct text id, const struct ssh_credential *input,
                                 struct ssh_credential_list *list, struct error *err)
{
    return answer(store, request, true, id, input, list, err);
}

bool store_ssh_credential_delete(struct store *store, const struct store_request *request,
                                 struct text id, struct error *err)
{
    (void)id;
    return change(store, request, err);
}

bool store_ssh_credential_list(struct store *store, const struct store_request *request,
                               const struct ssh_credential_page *page,
                               struct ssh_credential_list *list, struct error *err)
{
    bool ok = answer(store, request, false, text_of("sshcr_listed"), &(struct ssh_credential){0},
                     list, err);

    list->more = page->limit == 1;
    return ok;
}

/* ---- decisions ---- */

void ssh_grant_list_free(struct ssh_grant_list *list)
{
    *list = (struct ssh_grant_list){0};
}

bool store_ssh_decision_find(struct store *store, const struct store_request *request,
                             struct text fingerprint, struct ssh_grant_list *list,
                             struct error *err)
{
    (void)fingerprint;
    list->items = make_items(store, request, false, 1, sizeof *list->items, err);
    if (!list->items)
        return false;
    list->items[list->n++] =
        (struct ssh_grant){.id = text_of("sshcr_granted"), .owner_id = text_of("usr_admin")};
    return true;
}

/* ---- audit events ---- */

const struct filter_member audit_event_filter_members[] = {
    {.name = "event", .type = FILTER_STRING},
    {.name = NULL},
};

void audit_event_list_free(struct audit_event_list *list)
{
    *list = (struct audit_event_list){0};
}

bool store_audit_event_list(struct store *store, const struct store_request *request,
                            const struct audit_event_page *page, struct audit_event_list *list,
                            struct error *err)
{
    *list = (struct audit_event_list){
        .items = make_items(store, request, false, 1, sizeof *list->items, err),
        .n = 1,
        .more = page->limit == 1};
    if (!list->items)
        return false;
    list->items[0] = (struct audit_event){
        .number = 42,
        .event = text_of("mutual_tls_module_created"),
        .resource = text_of("e"),
        .after = text_of("{\"edge_id\": \"e\", \"enabled\": true,"
                         " \"certificate_authority_ids\": [\"a\", \"b\"]}"),
    };
    return true;
}

bool store_audit_event_get(struct store *store, const struct store_request *request, int64_t number,
                           struct audit_event_list *list, struct error *err)
{
    (void)number;
    return store_audit_event_list(store, request, &(struct audit_event_page){0}, list, err);
}
