/* SPDX-License-Identifier: MIT */
/* The modules of the store in memory. */
#include <stdlib.h>
#include <string.h>

#include "store/mutual_tls_module.h"
#include "store/oauth_module.h"
#include "stub_things.h"

/* ---- OAuth modules ---- */

static struct place oauth_place(const struct oauth_route *route)
{
    return (struct place){.kind = OAUTH, .ids = {route->edge_id, route->route_id}};
}

bool store_oauth_module_put(struct store *store, const struct store_request *request,
                            const struct oauth_route *route, struct oauth_module *module,
                            struct error *err)
{
    struct place place = oauth_place(route);
    struct oauth_module *kept =
        stub_put(store, request, &place, module, sizeof *module, &module->revision, err);

    if (!kept)
        return false;
    stub_keep_fields(store, oauth_module_fields, oauth_module_n_fields, kept);
    stub_keep_fields(store, oauth_provider_fields, oauth_provider_n_fields, &kept->config);
    return true;
}

static bool reads_secrets(const struct known *known)
{
    return key_kind_row(known->kind)->reads == KEY_READS_SECRETS;
}

bool store_oauth_module_get(struct store *store, const struct store_request *request,
                            const struct oauth_route *route, struct oauth_module *module,
                            struct error *err)
{
    struct place place = oauth_place(route);

    if (!stub_get(store, request, &place, module, sizeof *module, ERR_OAUTH_NOT_FOUND, err))
        return false;
    if (!reads_secrets(stub_find_known(store, request, false, err)))
        module->config.client_secret = (struct field_secret){.plain = {0}};
    return true;
}

bool store_oauth_module_delete(struct store *store, const struct store_request *request,
                               const struct oauth_route *route, struct error *err)
{
    struct place place = oauth_place(route);

    return stub_remove(store, request, &place, ERR_NONE, err);
}

/* ---- mutual TLS modules ---- */

static struct place mutual_tls_place(struct text edge_id)
{
    return (struct place){.kind = MUTUAL_TLS, .ids = {edge_id}};
}

bool store_mutual_tls_module_put(struct store *store, const struct store_request *request,
                                 struct text edge_id, struct mutual_tls_module *module,
                                 struct error *err)
{
    struct place place = mutual_tls_place(edge_id);
    struct mutual_tls_module *kept =
        stub_put(store, request, &place, module, sizeof *module, &module->revision, err);

    if (kept)
        stub_keep_fields(store, mutual_tls_module_fields, mutual_tls_module_n_fields, kept);
    return kept != NULL;
}

bool store_mutual_tls_module_get(struct store *store, const struct store_request *request,
                                 struct text edge_id, struct mutual_tls_module *module,
                                 struct error *err)
{
    struct place place = mutual_tls_place(edge_id);

    return stub_get(store, request, &place, module, sizeof *module, ERR_MUTUAL_TLS_NOT_FOUND, err);
}

bool store_mutual_tls_module_delete(struct store *store, const struct store_request *request,
                                    struct text edge_id, struct error *err)
{
    struct place place = mutual_tls_place(edge_id);

    return stub_remove(store, request, &place, ERR_NONE, err);
}

/* ---- lists of modules ---- */

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

const struct filter_member oauth_module_filter_members[] = {{.name = NULL}};
const struct filter_member mutual_tls_module_filter_members[] = {{.name = NULL}};

/* Ignores page->most_bytes and page->filter: tests list only small pages, all of them. */
bool store_oauth_module_list(struct store *store, const struct store_request *request,
                             const struct oauth_module_page *page, struct oauth_module_list *list,
                             struct error *err)
{
    struct place after = oauth_place(&page->after);
    size_t n;
    const struct thing **things = list_things(store, request, &after, &n, err);

    if (!things)
        return false;
    *list = (struct oauth_module_list){.items = arena_array(request->arena, n, sizeof *list->items),
                                       .more = n > (size_t)page->limit};
    if (!list->items)
        return error_set(err, ERR_OUT_OF_MEMORY);
    for (; list->n < n && list->n < (size_t)page->limit; list->n++) {
        struct oauth_module_item *item = &list->items[list->n];

        memcpy(&item->module, things[list->n]->value, sizeof item->module);
        item->route =
            (struct oauth_route){things[list->n]->place.ids[0], things[list->n]->place.ids[1]};
        if (!reads_secrets(stub_find_known(store, request, false, err)))
            item->module.config.client_secret = (struct field_secret){.plain = {0}};
    }
    return true;
}

bool store_mutual_tls_module_list(struct store *store, const struct store_request *request,
                                  const struct mutual_tls_module_page *page,
                                  struct mutual_tls_module_list *list, struct error *err)
{
    struct place after = mutual_tls_place(page->after_edge_id);
    size_t n;
    const struct thing **things = list_things(store, request, &after, &n, err);

    if (!things)
        return false;
    *list = (struct mutual_tls_module_list){.items =
                                                arena_array(request->arena, n, sizeof *list->items),
                                            .more = n > (size_t)page->limit};
    if (!list->items)
        return error_set(err, ERR_OUT_OF_MEMORY);
    for (; list->n < n && list->n < (size_t)page->limit; list->n++) {
        memcpy(&list->items[list->n].module, things[list->n]->value,
               sizeof list->items[list->n].module);
        list->items[list->n].edge_id = things[list->n]->place.ids[0];
    }
    return true;
}
