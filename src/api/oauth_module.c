/* SPDX-License-Identifier: MIT */
/* The handlers of OAuth modules. */
#include "api/oauth_module.h"

#include "api/oauth_admission.h"
#include "api/page.h"
#include "base/ascii.h"
#include "base/ident.h"
#include "base/percent.h"
#include "json/write.h"
#include "store/oauth_module.h"

const struct query_param api_oauth_module_query[] = {
    [API_PAGE_LIMIT] = {.name = "limit"},
    [API_PAGE_PLACE] = {.name = "after_id", .alias = "afterId"},
    [API_PAGE_FILTER] = {.name = "filter"},
    {.name = NULL},
};

/* What a request asks of the list. */
struct list_input {
    struct api_page page;
    struct oauth_route after;
};

static struct oauth_route route_of(const struct call *call)
{
    return (struct oauth_route){.edge_id = call->match.ids[0], .route_id = call->match.ids[1]};
}

static void write_oauth(struct call *call, const void *resource)
{
    oauth_module_write(&call->response->body, resource, &call->settings->oauth);
}

static bool answer_oauth(struct call *call, const struct oauth_module *module, struct error *err)
{
    return call_answer_resource(call, 200, module->revision, write_oauth, module, err);
}

bool api_oauth_module_read_put(struct call *call, struct error *err)
{
    struct module_ids ids = {.edge_id = call->match.ids[0], .id = call->match.ids[1]};
    const struct field_reader reader = {.arena = call->arena};
    struct oauth_module *module = call_input(call, sizeof *module, err);

    return module &&
           oauth_module_read(&call->body, &ids, &call->settings->oauth, &reader, module, err);
}

bool api_oauth_module_put(struct call *call, struct error *err)
{
    struct oauth_route route = route_of(call);
    struct oauth_module *module = call->input;

    return store_oauth_module_put(call->store, &call->store_request, &route, module, err) &&
           answer_oauth(call, module, err);
}

bool api_oauth_module_get(struct call *call, struct error *err)
{
    struct oauth_route route = route_of(call);
    struct oauth_module module;

    return store_oauth_module_get(call->store, &call->store_request, &route, &module, err) &&
           answer_oauth(call, &module, err);
}

bool api_oauth_module_delete(struct call *call, struct error *err)
{
    struct oauth_route route = route_of(call);

    return store_oauth_module_delete(call->store, &call->store_request, &route, err) &&
           call_answer(call, 204);
}

/* Reads "<edge>/<route>". */
static bool read_after(struct text place, struct oauth_route *after, struct error *err)
{
    const char *slash = place.s ? memchr(place.s, '/', place.len) : NULL;
    size_t at = slash ? (size_t)(slash - place.s) : 0;
    char quote[ERROR_QUOTE_SIZE];

    if (!place.s)
        return true;
    *after = (struct oauth_route){.edge_id = text_part(place, 0, at),
                                  .route_id = text_part(place, at + 1, place.len)};
    return (slash && ident_valid(after->edge_id) && ident_valid(after->route_id)) ||
           error_say(err, ERR_AFTER_ID_MALFORMED,
                     "after_id is '%s', which is not EDGE/ROUTE. Follow next_page_uri.",
                     error_quote(quote, place));
}

/* ---- a provider's title in place of its name ---- */

/* Returns whether the text is how people call a provider, and no name of one. */
static bool is_title(const void *context, struct text word)
{
    return oauth_names_find(context, word) == 0 && identity_provider_called(word) > 0;
}

/* Returns the word behind "provider." at the byte that an error is about. */
static struct text member_of_provider(struct text source, size_t offset)
{
    static const char front[] = "provider.";
    struct text rest = offset < source.len ? text_part(source, offset, source.len) : source;
    size_t from = sizeof front - 1;
    size_t to = from;

    if (!text_begins(rest, front))
        return (struct text){0};
    while (to < rest.len && (ascii_is_alnum(rest.s[to]) || rest.s[to] == '_'))
        to++;
    return text_part(rest, from, to);
}

static bool refuse_title(const struct call *call, size_t offset, struct text title,
                         struct error *err)
{
    int position = identity_provider_called(title);

    return filter_refuse(err, offset,
                         "obj.provider is a provider's name, and %s is \"%s\"; write: "
                         "obj.provider == \"%s\"",
                         identity_provider_at(position)->title,
                         call->settings->oauth.providers[position - 1],
                         call->settings->oauth.providers[position - 1]);
}

/* Parses the page.  A filter that means a provider by what people call it would find nothing. */
static bool read_page(struct call *call, struct api_page *page, struct error *err)
{
    struct text title;
    size_t offset;

    if (!api_page_read(call, oauth_module_filter_members, page, err)) {
        title = member_of_provider(page->source, err->offset);
        return err->code == ERR_FILTER && identity_provider_called(title) > 0
                   ? refuse_title(call, err->offset, title, err)
                   : false;
    }
    if (!page->filter)
        return true;
    title = filter_find_text(page->filter, "provider", is_title, &call->settings->oauth, &offset);
    return !title.s || refuse_title(call, offset, title, err);
}

bool api_oauth_module_read_list(struct call *call, struct error *err)
{
    struct list_input *input = call_input(call, sizeof *input, err);

    return input && read_page(call, &input->page, err) &&
           read_after(input->page.place, &input->after, err);
}

static void write_oauth_item(struct call *call, const void *list, size_t i)
{
    const struct oauth_module_item *item = &((const struct oauth_module_list *)list)->items[i];
    struct buf *out = &call->response->body;

    json_open(out, '{');
    json_put_member(out, "edge_id", item->route.edge_id);
    json_put_member(out, "id", item->route.route_id);
    json_put_name(out, "uri");
    buf_puts(out, "\"");
    oauth_module_write_uri(out, call->base_url, item->route.edge_id, item->route.route_id);
    buf_puts(out, "\"");
    oauth_module_write_members(out, &item->module, &call->settings->oauth);
    json_put_name(out, "admits");
    api_oauth_admission_write(call, &item->module, out);
    json_close(out, '}');
}

static void write_oauth_place(struct buf *out, const void *list, size_t i)
{
    const struct oauth_module_item *item = &((const struct oauth_module_list *)list)->items[i];

    percent_encode(out, item->route.edge_id);
    percent_encode(out, text_of("/"));
    percent_encode(out, item->route.route_id);
}

bool api_oauth_module_list(struct call *call, struct error *err)
{
    const struct list_input *input = call->input;
    const struct oauth_module_page page = {.after = input->after,
                                           .limit = input->page.limit,
                                           .most_bytes = API_PAGE_MAX,
                                           .filter = input->page.filter,
                                           .names = &call->settings->oauth,
                                           .applications = call->settings->oauth_applications};
    struct oauth_module_list list;
    struct api_page_items items = {
        .list = &list, .write = write_oauth_item, .write_place = write_oauth_place};

    if (!store_oauth_module_list(call->store, &call->store_request, &page, &list, err))
        return false;
    items.n = list.n;
    items.more = list.more;
    api_page_write(call, &input->page, &items);
    return call_answer(call, 200);
}
