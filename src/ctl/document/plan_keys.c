/* SPDX-License-Identifier: MIT */
/* Public keys that a deployment permits in one credential only. */
#include <stdlib.h>

#include "ctl/document/plan_kind.h"

#define ONLY_ONE                                                                                   \
    "and the database permits each key in one credential of an account only "                      \
    "(sql/optional/unique_public_keys.sql)."

static struct text fingerprint_of(const struct document_item *item)
{
    return item->entry.of.credential.input.fingerprint;
}

/* Orders items by their key, then as the file has them. */
static int by_fingerprint(const void *a, const void *b)
{
    const struct document_item *one = *(struct document_item *const *)a;
    const struct document_item *other = *(struct document_item *const *)b;
    int order = text_cmp(fingerprint_of(one), fingerprint_of(other));

    return order
               ? order
               : (one->entry.index > other->entry.index) - (one->entry.index < other->entry.index);
}

/* Lists the credentials of the account that the plan deletes, sorted. */
static bool list_deleted(const struct plan_looking *looking, struct text_list *deleted)
{
    struct plan *plan = looking->plan;
    size_t room = plan->n_changes - looking->first_change;

    *deleted = (struct text_list){.items = arena_array(&plan->arena, room, sizeof *deleted->items)};
    if (!deleted->items)
        return plan_out_of_memory();
    for (size_t i = looking->first_change; i < plan->n_changes; i++) {
        const struct plan_change *change = plan->changes[i];

        if (change->verb == DOCUMENT_DELETE && change->write.row.entry.kind == DOCUMENT_CREDENTIAL)
            deleted->items[deleted->n++] = change->write.row.entry.of.credential.input.id;
    }
    if (deleted->n > 0)
        qsort(deleted->items, deleted->n, sizeof *deleted->items, plan_text_order);
    return true;
}

/* Tells if another credential has the key of an item that is created.  before is the item before it
 * in the order of keys, or NULL; stored is the credential that has the key, or absent. */
static void check_key(const struct plan_looking *looking, const struct document_item *item,
                      const struct document_item *before, struct text stored,
                      const struct text_list *deleted)
{
    struct error err;

    if (before && text_eq(fingerprint_of(before), fingerprint_of(item)))
        error_say(&err, ERR_PUBLIC_KEY_EXISTS,
                  "ssh_credentials[%zu] has this public key too, " ONLY_ONE, before->entry.index);
    else if (stored.s &&
             !bsearch(&stored, deleted->items, deleted->n, sizeof stored, plan_text_order))
        error_say(&err, ERR_PUBLIC_KEY_EXISTS, "%s has this public key already, " ONLY_ONE,
                  stored.s);
    else
        return;
    plan_tell(looking, item, &err);
}

bool plan_check_keys(const struct plan_looking *looking)
{
    struct arena *arena = &looking->plan->arena;
    struct document_item **created = arena_array(arena, looking->items->n, sizeof *created);
    struct text *keys = arena_array(arena, PLAN_BATCH, sizeof *keys);
    struct text_list deleted;
    bool is_unique = true;
    bool ok = true;
    size_t n = 0;

    if (!created || !keys)
        return plan_out_of_memory();
    if (!list_deleted(looking, &deleted))
        return false;
    for (size_t i = 0; i < looking->items->n; i++) {
        if (!looking->items->items[i]->is_found)
            created[n++] = looking->items->items[i];
    }
    if (n > 0)
        qsort(created, n, sizeof *created, by_fingerprint);
    for (size_t from = 0; ok && is_unique && from < n; from += PLAN_BATCH) {
        struct text_list wanted = {.items = keys, .given = true};
        struct pg_result *result;
        struct error err;

        while (wanted.n < PLAN_BATCH && from + wanted.n < n) {
            keys[wanted.n] = fingerprint_of(created[from + wanted.n]);
            wanted.n++;
        }
        ok = document_find_unique_keys(looking->plan->ctl->pg, looking->account_id, wanted, arena,
                                       &result, &err) ||
             plan_fail(&err);
        is_unique = ok && (size_t)pg_rows(result) == wanted.n;
        for (size_t i = from; is_unique && i < from + wanted.n; i++)
            check_key(looking, created[i], i > 0 ? created[i - 1] : NULL,
                      pg_text(result, (int)(i - from), 0), &deleted);
        pg_result_free(result);
    }
    return ok;
}
