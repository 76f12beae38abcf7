/* SPDX-License-Identifier: MIT */
/* The modules of the store in memory. */
#include <stdlib.h>
#include <string.h>

#include "store/resource.h"
#include "stub_things.h"

static struct place place_of(enum resource_kind kind, const struct module_place *place)
{
    return (struct place){.kind = (int)kind, .ids = {place->edge_id, place->route_id}};
}

bool store_resource_put(struct store *store, const struct store_request *request,
                        enum resource_kind kind, const struct module_place *at, void *module,
                        struct error *err)
{
    const struct resource_row *row = resource_row(kind);
    struct place place = place_of(kind, at);
    int64_t *revision = (int64_t *)(void *)((char *)module + row->revision_offset);
    void *kept = stub_put(store, request, &place, module, row->size, revision, err);

    if (kept)
        stub_keep_fields(store, row->members, *row->n_members, kept);
    return kept != NULL;
}

/* Takes away what a key that reads no secrets does not see. */
static void hide_secret(const struct store *store, const struct store_request *request,
                        enum resource_kind kind, void *module, struct error *err)
{
    const struct known *known = stub_find_known(store, request, false, err);
    struct oauth_module *oauth = module;

    if (resource_row(kind)->has_provider && key_kind_row(known->kind)->reads != KEY_READS_SECRETS)
        oauth->config.client_secret = (struct field_secret){.plain = {0}};
}

bool store_resource_get(struct store *store, const struct store_request *request,
                        enum resource_kind kind, const struct module_place *at, void *module,
                        struct error *err)
{
    const struct resource_row *row = resource_row(kind);
    struct place place = place_of(kind, at);

    if (!stub_get(store, request, &place, module, row->size, row->missing, err))
        return false;
    hide_secret(store, request, kind, module, err);
    return true;
}

bool store_resource_delete(struct store *store, const struct store_request *request,
                           enum resource_kind kind, const struct module_place *at,
                           struct error *err)
{
    struct place place = place_of(kind, at);

    return stub_remove(store, request, &place, ERR_NONE, err);
}

/* ---- lists ---- */

static int in_order(const void *a, const void *b)
{
    const struct thing *x = *(const struct thing *const *)a;
    const struct thing *y = *(const struct thing *const *)b;
    int order = text_cmp(x->place.ids[0], y->place.ids[0]);

    /* Modules of edges have one identifier. */
    if (order || !x->place.ids[1].s || !y->place.ids[1].s)
        return order;
    return text_cmp(x->place.ids[1], y->place.ids[1]);
}

static bool is_after(const struct thing *thing, const struct place *after)
{
    struct thing last = {.place = *after};
    const struct thing *pair[] = {thing, &last};

    return !after->ids[0].s || in_order(&pair[0], &pair[1]) > 0;
}

/* Returns the resources of the caller's account after a place, in their order, and sets *n to their
 * number.  Returns NULL with *err on failure. */
static const struct thing **list_things(struct store *store, const struct store_request *request,
                                        const struct place *after, size_t *n, struct error *err)
{
    const struct known *known = stub_find_known(store, request, false, err);
    const struct thing **things =
        arena_array(request->arena, stub_count(store) + 1, sizeof(const struct thing *));

    *n = 0;
    if (!known)
        return NULL;
    for (const struct thing *thing = store->things; things && thing; thing = thing->next) {
        if (thing->account == known->account && thing->place.kind == after->kind &&
            is_after(thing, after))
            things[(*n)++] = thing;
    }
    if (things)
        qsort(things, *n, sizeof(const struct thing *), in_order);
    else
        error_set(err, ERR_OUT_OF_MEMORY);
    return things;
}

const struct filter_member *store_resource_filter(enum resource_kind kind)
{
    static const struct filter_member none[] = {{.name = NULL}};

    (void)kind;
    return none;
}

/* Ignores page->most_bytes and page->filter: tests list only small pages, all of them. */
bool store_resource_list(struct store *store, const struct store_request *request,
                         enum resource_kind kind, const struct resource_page *page,
                         struct resource_list *list, struct error *err)
{
    struct place after = place_of(kind, &page->after);
    size_t n;
    const struct thing **things = list_things(store, request, &after, &n, err);

    if (!things)
        return false;
    *list = (struct resource_list){.items = arena_array(request->arena, n, sizeof *list->items),
                                   .more = n > (size_t)page->limit};
    if (!list->items)
        return error_set(err, ERR_OUT_OF_MEMORY);
    for (; list->n < n && list->n < (size_t)page->limit; list->n++) {
        struct resource_item *item = &list->items[list->n];
        const struct thing *thing = things[list->n];

        memcpy(&item->module, thing->value, resource_row(kind)->size);
        item->place = (struct module_place){thing->place.ids[0], thing->place.ids[1]};
        hide_secret(store, request, kind, &item->module, err);
    }
    return true;
}
