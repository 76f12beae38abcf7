/* SPDX-License-Identifier: MIT */
/* The audit events of the store in memory: the one in STUB_EVENT, of the first account. */
#include "store/audit_event.h"
#include "stub_things.h"

const struct filter_member audit_event_filter_members[] = {
    {.name = "event", .type = FILTER_STRING},
    {.name = NULL},
};

void audit_event_list_free(struct audit_event_list *list)
{
    *list = (struct audit_event_list){0};
}

static bool find(struct store *store, const struct store_request *request, bool is_there,
                 struct audit_event_list *list, struct error *err)
{
    const struct known *known = stub_find_known(store, request, false, err);

    if (!known)
        return false;
    if (!known->is_admin)
        return error_set(err, ERR_AUDIT_NOT_ADMIN);
    *list = (struct audit_event_list){.items = arena_array(request->arena, 1, sizeof *list->items),
                                      .n = is_there && known->account == 1};
    if (!list->items)
        return error_set(err, ERR_OUT_OF_MEMORY);
    list->items[0] = (struct audit_event){
        .number = STUB_EVENT,
        .event = text_of("mutual_tls_module_created"),
        .resource = text_of("e"),
        .after = text_of("{\"edge_id\": \"e\", \"enabled\": true,"
                         " \"certificate_authority_ids\": [\"a\", \"b\"]}"),
    };
    return true;
}

bool store_audit_event_list(struct store *store, const struct store_request *request,
                            const struct audit_event_page *page, struct audit_event_list *list,
                            struct error *err)
{
    return find(store, request, page->before > STUB_EVENT && !page->filter, list, err);
}

bool store_audit_event_get(struct store *store, const struct store_request *request, int64_t number,
                           struct audit_event_list *list, struct error *err)
{
    return find(store, request, number == STUB_EVENT, list, err) &&
           (list->n == 1 || error_set(err, ERR_AUDIT_EVENT_NOT_FOUND));
}
