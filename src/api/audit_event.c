/* SPDX-License-Identifier: MIT */
/* The handlers of audit events. */
#include "api/audit_event.h"

#include "base/percent.h"
#include "api/page.h"
#include "store/audit_event.h"

const struct query_param api_audit_event_query[] = {
    [API_PAGE_LIMIT] = {.name = "limit"},
    [API_PAGE_PLACE] = {.name = "before_id", .alias = "beforeId"},
    [API_PAGE_FILTER] = {.name = "filter"},
    {.name = NULL},
};

/* What a request asks of the list. */
struct audit_input {
    struct api_page page;
    int64_t before;
};

bool api_audit_event_read_list(struct call *call, struct error *err)
{
    struct audit_input *input = call_input(call, sizeof *input, err);
    char quote[ERROR_QUOTE_SIZE];

    if (!input || !api_page_read(call, audit_event_filter_members, &input->page, err))
        return false;
    input->before = INT64_MAX;
    return !input->page.place.s || audit_event_read_id(input->page.place, &input->before) ||
           error_say(err, ERR_BEFORE_ID_MALFORMED,
                     "before_id is '%s', which is not an audit event's identifier. Follow "
                     "next_page_uri.",
                     error_quote(quote, input->page.place));
}

static void write_event(struct call *call, const void *resource)
{
    audit_event_write(&call->response->body, resource, &call->settings->oauth, call->base_url);
}

static void write_event_item(struct call *call, const void *list, size_t i)
{
    write_event(call, &((const struct audit_event_list *)list)->items[i]);
}

static void write_event_place(struct buf *out, const void *list, size_t i)
{
    char id[AUDIT_EVENT_ID_SIZE];

    audit_event_write_id(id, ((const struct audit_event_list *)list)->items[i].number);
    percent_encode(out, text_of(id));
}

bool api_audit_event_list(struct call *call, struct error *err)
{
    const struct audit_input *input = call->input;
    const struct audit_event_page page = {.before = input->before,
                                          .limit = input->page.limit,
                                          .most_bytes = API_PAGE_MAX,
                                          .filter = input->page.filter};
    struct audit_event_list list = {0};
    bool ok = store_audit_event_list(call->store, &call->store_request, &page, &list, err);

    if (ok) {
        const struct api_page_items items = {.n = list.n,
                                             .more = list.more,
                                             .list = &list,
                                             .write = write_event_item,
                                             .write_place = write_event_place};

        api_page_write(call, &input->page, &items);
    }
    audit_event_list_free(&list);
    return ok && call_answer(call, 200);
}

/* An event never changes, so its number will do as its revision.  A malformed identifier is that of
 * no event: whether the caller is an admin comes first, and the store knows that. */
bool api_audit_event_get(struct call *call, struct error *err)
{
    struct audit_event_list list = {0};
    int64_t number = 0;
    bool ok;

    if (!audit_event_read_id(call->match.ids[0], &number))
        number = 0;
    ok = store_audit_event_get(call->store, &call->store_request, number, &list, err) &&
         call_answer_resource(call, 200, list.items[0].number, write_event, &list.items[0], err);
    audit_event_list_free(&list);
    if (!ok && err->code == ERR_AUDIT_EVENT_NOT_FOUND)
        (void)!route_check_ids(&call->match, err);
    return ok;
}
