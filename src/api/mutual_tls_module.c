/* SPDX-License-Identifier: MIT */
/* The handlers of mutual TLS modules. */
#include "api/mutual_tls_module.h"

#include "api/page.h"
#include "base/ident.h"
#include "base/percent.h"
#include "json/write.h"
#include "store/mutual_tls_module.h"

const struct query_param api_mutual_tls_module_query[] = {
    [API_PAGE_LIMIT] = {.name = "limit"},
    [API_PAGE_PLACE] = {.name = "after_id", .alias = "afterId"},
    [API_PAGE_FILTER] = {.name = "filter"},
    {.name = NULL},
};

static void write_mutual_tls(struct call *call, const void *resource)
{
    mutual_tls_module_write(&call->response->body, resource, call->base_url);
}

static bool answer_mutual_tls(struct call *call, const struct mutual_tls_module *module,
                              struct error *err)
{
    return call_answer_resource(call, 200, module->revision, write_mutual_tls, module, err);
}

bool api_mutual_tls_module_read_put(struct call *call, struct error *err)
{
    const struct field_reader reader = {.arena = call->arena};
    struct mutual_tls_module *module = call_input(call, sizeof *module, err);

    return module && mutual_tls_module_read(&call->body, call->match.ids[0], &reader, module, err);
}

bool api_mutual_tls_module_put(struct call *call, struct error *err)
{
    struct mutual_tls_module *module = call->input;

    return store_mutual_tls_module_put(call->store, &call->store_request, call->match.ids[0],
                                       module, err) &&
           answer_mutual_tls(call, module, err);
}

bool api_mutual_tls_module_get(struct call *call, struct error *err)
{
    struct mutual_tls_module module;

    return store_mutual_tls_module_get(call->store, &call->store_request, call->match.ids[0],
                                       &module, err) &&
           answer_mutual_tls(call, &module, err);
}

bool api_mutual_tls_module_delete(struct call *call, struct error *err)
{
    return store_mutual_tls_module_delete(call->store, &call->store_request, call->match.ids[0],
                                          err) &&
           call_answer(call, 204);
}

bool api_mutual_tls_module_read_list(struct call *call, struct error *err)
{
    struct api_page *page = call_input(call, sizeof *page, err);
    char quote[ERROR_QUOTE_SIZE];

    if (!page || !api_page_read(call, mutual_tls_module_filter_members, page, err))
        return false;
    return !page->place.s || ident_valid(page->place) ||
           error_say(err, ERR_AFTER_ID_MALFORMED,
                     "after_id is '%s', which is not an identifier. Follow next_page_uri.",
                     error_quote(quote, page->place));
}

static void write_mutual_tls_item(struct call *call, const void *list, size_t i)
{
    const struct mutual_tls_module_item *item =
        &((const struct mutual_tls_module_list *)list)->items[i];
    struct buf *out = &call->response->body;

    json_open(out, '{');
    json_put_member(out, "edge_id", item->edge_id);
    json_put_member(out, "id", item->edge_id);
    json_put_name(out, "uri");
    buf_puts(out, "\"");
    mutual_tls_module_write_uri(out, call->base_url, item->edge_id);
    buf_puts(out, "\"");
    mutual_tls_module_write_members(out, &item->module, call->base_url);
    json_close(out, '}');
}

static void write_mutual_tls_place(struct buf *out, const void *list, size_t i)
{
    percent_encode(out, ((const struct mutual_tls_module_list *)list)->items[i].edge_id);
}

bool api_mutual_tls_module_list(struct call *call, struct error *err)
{
    const struct api_page *input = call->input;
    const struct mutual_tls_module_page page = {.after_edge_id = input->place,
                                                .limit = input->limit,
                                                .most_bytes = API_PAGE_MAX,
                                                .filter = input->filter};
    struct mutual_tls_module_list list;
    struct api_page_items items = {
        .list = &list, .write = write_mutual_tls_item, .write_place = write_mutual_tls_place};

    if (!store_mutual_tls_module_list(call->store, &call->store_request, &page, &list, err))
        return false;
    items.n = list.n;
    items.more = list.more;
    api_page_write(call, input, &items);
    return call_answer(call, 200);
}
