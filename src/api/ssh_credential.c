/* SPDX-License-Identifier: MIT */
/* The handlers of SSH credentials. */
#include "api/ssh_credential.h"

#include "base/percent.h"
#include "api/page.h"
#include "store/ssh_credential.h"

const struct query_param api_ssh_credential_query[] = {
    [API_PAGE_LIMIT] = {.name = "limit"},
    [API_PAGE_PLACE] = {.name = "before_id", .alias = "beforeId"},
    [API_PAGE_FILTER] = {.name = "filter"},
    {.name = NULL},
};

static void write_one(struct call *call, const void *resource)
{
    const struct ssh_credential_list *list = resource;

    ssh_credential_write(&call->response->body, &list->items[0], call->base_url);
}

/* Answers with the one credential of the list if it was found.  Frees the list either way. */
static bool answer_one(struct call *call, bool found, struct ssh_credential_list *list, int status,
                       struct error *err)
{
    bool ok;

    if (found && list->is_replay)
        response_header(call->response, "Idempotent-Replayed", "true");
    ok = found && call_answer_resource(call, status, list->items[0].revision, write_one, list, err);
    ssh_credential_list_free(list);
    return ok;
}

bool api_ssh_credential_read_create(struct call *call, struct error *err)
{
    struct ssh_credential *input = call_input(call, sizeof *input, err);

    return input && ssh_credential_read_create(&call->body, call->arena, input, err) &&
           (!call->settings->require_acl || ssh_credential_check_rules(&input->acl, err));
}

bool api_ssh_credential_create(struct call *call, struct error *err)
{
    struct ssh_credential_list list = {0};
    bool ok =
        store_ssh_credential_create(call->store, &call->store_request, call->input, &list, err);

    return answer_one(call, ok, &list, 201, err);
}

bool api_ssh_credential_read_list(struct call *call, struct error *err)
{
    struct api_page *page = call_input(call, sizeof *page, err);

    return page && api_page_read(call, ssh_credential_filter_members, page, err) &&
           api_page_check_before_id(page, err);
}

static void write_credential_item(struct call *call, const void *list, size_t i)
{
    const struct ssh_credential_list *credentials = list;

    ssh_credential_write(&call->response->body, &credentials->items[i], call->base_url);
}

static void write_credential_place(struct buf *out, const void *list, size_t i)
{
    const struct ssh_credential_list *credentials = list;

    percent_encode(out, credentials->items[i].id);
}

bool api_ssh_credential_list(struct call *call, struct error *err)
{
    const struct api_page *input = call->input;
    const struct ssh_credential_page page = {.before_id = input->place,
                                             .limit = input->limit,
                                             .filter = input->filter,
                                             .most_bytes = API_PAGE_MAX};
    struct ssh_credential_list list = {0};
    bool ok = store_ssh_credential_list(call->store, &call->store_request, &page, &list, err);

    if (ok) {
        const struct api_page_items items = {.n = list.n,
                                             .more = list.more,
                                             .list = &list,
                                             .write = write_credential_item,
                                             .write_place = write_credential_place};

        api_page_write(call, input, &items);
    }
    ssh_credential_list_free(&list);
    return ok && call_answer(call, 200);
}

bool api_ssh_credential_get(struct call *call, struct error *err)
{
    struct ssh_credential_list list = {0};
    bool ok =
        store_ssh_credential_get(call->store, &call->store_request, call->match.ids[0], &list, err);

    return answer_one(call, ok, &list, 200, err);
}

bool api_ssh_credential_read_update(struct call *call, struct error *err)
{
    struct ssh_credential *input = call_input(call, sizeof *input, err);

    return input &&
           ssh_credential_read_update(&call->body, call->match.ids[0], call->arena, input, err) &&
           (!call->settings->require_acl || !input->acl.given ||
            ssh_credential_check_rules(&input->acl, err));
}

bool api_ssh_credential_update(struct call *call, struct error *err)
{
    struct ssh_credential_list list = {0};
    bool ok = store_ssh_credential_update(call->store, &call->store_request, call->match.ids[0],
                                          call->input, &list, err);

    return answer_one(call, ok, &list, 200, err);
}

bool api_ssh_credential_delete(struct call *call, struct error *err)
{
    return store_ssh_credential_delete(call->store, &call->store_request, call->match.ids[0],
                                       err) &&
           call_answer(call, 204);
}
