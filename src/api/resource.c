/* SPDX-License-Identifier: MIT */
/* The handlers of modules. */
#include "api/resource.h"

#include "api/oauth_admission.h"
#include "api/oauth_module.h"
#include "base/ident.h"
#include "base/percent.h"
#include "json/write.h"
#include "store/resource.h"

const struct query_param api_resource_query[] = {
    [API_PAGE_LIMIT] = {.name = "limit"},
    [API_PAGE_PLACE] = {.name = "after_id", .alias = "afterId"},
    [API_PAGE_FILTER] = {.name = "filter"},
    {.name = NULL},
};

/* What a request asks of the list. */
struct list_input {
    struct api_page page;
    struct module_place after;
};

static enum resource_kind kind_of(const struct call *call)
{
    return (enum resource_kind)call->match.route->resource;
}

static struct module_place asked_place(const struct call *call)
{
    return (struct module_place){.edge_id = call->match.ids[0], .route_id = call->match.ids[1]};
}

static struct resource_context context_of(const struct call *call)
{
    return (struct resource_context){.names = &call->settings->oauth, .base_url = call->base_url};
}

static void write_module(struct call *call, const void *module)
{
    const struct resource_context context = context_of(call);

    resource_write(&call->response->body, kind_of(call), module, &context);
}

static bool answer_module(struct call *call, const void *module, struct error *err)
{
    const char *revision = (const char *)module + resource_row(kind_of(call))->revision_offset;

    return call_answer_resource(call, 200, *(const int64_t *)(const void *)revision, write_module,
                                module, err);
}

bool api_resource_read_put(struct call *call, struct error *err)
{
    const struct module_place place = asked_place(call);
    const struct resource_reader reader = {.fields = &(struct field_reader){.arena = call->arena},
                                           .place = &place,
                                           .names = &call->settings->oauth};
    void *module = call_input(call, resource_row(kind_of(call))->size, err);

    return module && resource_read(kind_of(call), &call->body, &reader, module, err);
}

bool api_resource_put(struct call *call, struct error *err)
{
    const struct module_place place = asked_place(call);

    return store_resource_put(call->store, &call->store_request, kind_of(call), &place, call->input,
                              err) &&
           answer_module(call, call->input, err);
}

bool api_resource_get(struct call *call, struct error *err)
{
    const struct module_place place = asked_place(call);
    union resource_value module;

    return store_resource_get(call->store, &call->store_request, kind_of(call), &place, &module,
                              err) &&
           answer_module(call, &module, err);
}

bool api_resource_delete(struct call *call, struct error *err)
{
    const struct module_place place = asked_place(call);

    return store_resource_delete(call->store, &call->store_request, kind_of(call), &place, err) &&
           call_answer(call, 204);
}

/* ---- lists ---- */

static bool read_after(enum resource_kind kind, struct text text, struct module_place *after,
                       struct error *err)
{
    bool of_route = resource_row(kind)->of_route;
    char quote[ERROR_QUOTE_SIZE];

    if (!text.s)
        return true;
    *after = resource_place(text);
    if (ident_valid(after->edge_id) && of_route == (after->route_id.s != NULL) &&
        (!of_route || ident_valid(after->route_id)))
        return true;
    return error_say(err, ERR_AFTER_ID_MALFORMED,
                     "after_id is '%s', which is not %s. Follow next_page_uri.",
                     error_quote(quote, text), of_route ? "EDGE/ROUTE" : "an identifier");
}

static bool read_page(struct call *call, struct api_page *page, struct error *err)
{
    return resource_row(kind_of(call))->has_provider
               ? api_oauth_module_read_page(call, page, err)
               : api_page_read(call, store_resource_filter(kind_of(call)), page, err);
}

bool api_resource_read_list(struct call *call, struct error *err)
{
    struct list_input *input = call_input(call, sizeof *input, err);

    return input && read_page(call, &input->page, err) &&
           read_after(kind_of(call), input->page.place, &input->after, err);
}

static void write_item(struct call *call, const void *list, size_t i)
{
    const struct resource_item *item = &((const struct resource_list *)list)->items[i];
    const struct module_place *place = &item->place;
    const struct resource_context context = context_of(call);
    struct buf *out = &call->response->body;

    json_open(out, '{');
    json_put_member(out, "edge_id", place->edge_id);
    json_put_member(out, "id", place->route_id.s ? place->route_id : place->edge_id);
    json_put_name(out, "uri");
    buf_puts(out, "\"");
    resource_write_uri(out, kind_of(call), call->base_url, place);
    buf_puts(out, "\"");
    resource_write_members(out, kind_of(call), &item->module, &context);
    if (resource_row(kind_of(call))->has_provider) {
        json_put_name(out, "admits");
        api_oauth_admission_write(call, &item->module.oauth_module, out);
    }
    json_close(out, '}');
}

static void write_module_place(struct buf *out, const void *list, size_t i)
{
    const struct module_place *place = &((const struct resource_list *)list)->items[i].place;

    percent_encode(out, place->edge_id);
    if (!place->route_id.s)
        return;
    percent_encode(out, text_of("/"));
    percent_encode(out, place->route_id);
}

bool api_resource_list(struct call *call, struct error *err)
{
    const struct list_input *input = call->input;
    const struct resource_page page = {.after = input->after,
                                       .limit = input->page.limit,
                                       .most_bytes = API_PAGE_MAX,
                                       .filter = input->page.filter,
                                       .names = &call->settings->oauth,
                                       .applications = call->settings->oauth_applications};
    struct resource_list list;
    struct api_page_items items = {
        .list = &list, .write = write_item, .write_place = write_module_place};

    if (!store_resource_list(call->store, &call->store_request, kind_of(call), &page, &list, err))
        return false;
    items.n = list.n;
    items.more = list.more;
    api_page_write(call, &input->page, &items);
    return call_answer(call, 200);
}
