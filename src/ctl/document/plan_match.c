/* SPDX-License-Identifier: MIT */
/* Which item of a document wants which row. */
#include "ctl/document/plan_match.h"

#include <stdlib.h>
#include <string.h>

#include "ctl/document/plan_change.h"

int plan_text_order(const void *a, const void *b)
{
    return text_cmp(*(const struct text *)a, *(const struct text *)b);
}

/* What tells the rows of a kind in an account apart.  A credential without an id goes by its key,
 * description and owner, and is of the second class. */
struct key {
    int class;
    struct text first;
    struct text second;
    struct text owner; /* absent, to look for an item: of any owner */
};

static struct key key_of(const struct document_entry *entry, bool by_id)
{
    const struct ssh_credential *input = &entry->of.credential.input;

    switch (entry->kind) {
    case DOCUMENT_PRINCIPAL:
        return (struct key){0, entry->of.principal.id, text_of(""), text_of("")};
    case DOCUMENT_CREDENTIAL:
        if (by_id && input->id.s)
            return (struct key){0, input->id, text_of(""), text_of("")};
        return (struct key){1, input->fingerprint, input->description,
                            input->owner_id.s ? input->owner_id : text_of("")};
    default:
        return (struct key){0, entry->of.module.place.edge_id,
                            document_of_route(entry->kind) ? entry->of.module.place.route_id
                                                           : text_of(""),
                            text_of("")};
    }
}

static int compare_keys(const struct key *a, const struct key *b)
{
    int order = a->class - b->class;

    if (order == 0)
        order = text_cmp(a->first, b->first);
    if (order == 0)
        order = text_cmp(a->second, b->second);
    return order || !a->owner.s ? order : text_cmp(a->owner, b->owner);
}

static int item_order(const void *a, const void *b)
{
    const struct document_item *const *x = a;
    const struct document_item *const *y = b;
    struct key key_x = key_of(&(*x)->entry, true);
    struct key key_y = key_of(&(*y)->entry, true);
    int order = compare_keys(&key_x, &key_y);

    /* The first of two in the file stays the first. */
    return order ? order : ((*x)->entry.index > (*y)->entry.index) * 2 - 1;
}

static int key_order(const void *key, const void *element)
{
    const struct document_item *const *item = element;
    struct key item_key = key_of(&(*item)->entry, true);

    return compare_keys(key, &item_key);
}

static struct document_item *find_item(const struct plan_looking *looking, struct key key)
{
    struct document_item **found =
        bsearch(&key, looking->sorted, looking->items->n, sizeof *looking->sorted, key_order);

    return found ? *found : NULL;
}

bool plan_is_of_owners(const struct plan_looking *looking, const struct document_row *row)
{
    const struct text_list *owners = &looking->account->account->entry.of.account_entry.owners;
    struct text owner = looking->kind == DOCUMENT_PRINCIPAL
                            ? row->entry.of.principal.id
                            : row->entry.of.credential.input.owner_id;
    bool is_within = !owners->given;

    for (size_t i = 0; !is_within && i < owners->n; i++)
        is_within = text_eq(owners->items[i], owner);
    return is_within;
}

struct document_item *plan_item_of_row(const struct plan_looking *looking,
                                       const struct document_row *row)
{
    struct document_item *item = find_item(looking, key_of(&row->entry, true));

    if (!item && looking->kind == DOCUMENT_CREDENTIAL)
        item = find_item(looking, key_of(&row->entry, false));
    return item;
}

struct document_item *plan_item_like_row(const struct plan_looking *looking,
                                         const struct document_row *row)
{
    struct key key = key_of(&row->entry, false);

    key.owner = (struct text){0};
    return find_item(looking, key);
}

const struct document_item *plan_find_wanting(const struct plan_looking *looking,
                                              const struct document_row *row)
{
    const struct document_item *item = plan_item_of_row(looking, row);

    /* Of several credentials with one key, description and owner, it wants one. */
    if (item && looking->kind == DOCUMENT_CREDENTIAL &&
        !text_eq(item->found_id, row->entry.of.credential.input.id))
        item = NULL;
    return item;
}

bool plan_prunes_row(const struct plan_looking *looking, const struct document_row *row)
{
    const struct document_account *account = &looking->account->account->entry.of.account_entry;

    return looking->plan->prunes && account->has[looking->kind] && plan_is_of_owners(looking, row);
}

void plan_tell(const struct plan_looking *looking, const struct document_item *item,
               const struct error *err)
{
    document_tell(looking->plan->document, &item->entry, err);
}

bool plan_sort_items(struct plan_looking *looking)
{
    struct document_items *items = looking->items;
    struct error err;

    looking->sorted = arena_array(&looking->plan->arena, items->n, sizeof *looking->sorted);
    if (!looking->sorted)
        return plan_out_of_memory();
    if (items->n == 0)
        return true;
    memcpy(looking->sorted, items->items, items->n * sizeof *looking->sorted);
    qsort(looking->sorted, items->n, sizeof *looking->sorted, item_order);
    for (size_t i = 1; i < items->n; i++) {
        struct key before = key_of(&looking->sorted[i - 1]->entry, true);
        struct key key = key_of(&looking->sorted[i]->entry, true);

        if (compare_keys(&before, &key) != 0)
            continue;
        error_say(&err, ERR_WRONG_VALUE, "This is the same as %s[%zu]: %s.",
                  document_list_name(looking->kind), looking->sorted[i - 1]->entry.index,
                  key.class == 0 ? "both have the same id"
                                 : "both have the same key, description and owner, and no id");
        plan_tell(looking, looking->sorted[i], &err);
    }
    return true;
}

static void add_to(struct text_list *list, struct text text)
{
    list->items[list->n++] = text;
}

void plan_fill_keys(struct document_keys *keys, struct document_item *const *items, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        struct key key = key_of(&items[i]->entry, true);

        add_to(key.class == 0 ? &keys->ids : &keys->fingerprints, key.first);
        add_to(key.class == 0 ? &keys->second : &keys->descriptions, key.second);
    }
}
