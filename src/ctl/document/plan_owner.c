/* SPDX-License-Identifier: MIT */
/* The owners of credentials that are written. */
#include <stdlib.h>

#include "ctl/document/plan_kind.h"

static bool has_text(const struct text_list *sorted, struct text text)
{
    return bsearch(&text, sorted->items, sorted->n, sizeof text, plan_text_order) != NULL;
}

bool plan_find_only_owner(const struct plan_looking *looking, struct text *owner)
{
    const struct document_items *principals = &looking->account->kinds[DOCUMENT_PRINCIPAL];
    const struct text_list *owners = &looking->account->account->entry.of.account_entry.owners;
    struct document_scan scan = {.pg = looking->plan->ctl->pg,
                                 .kind = DOCUMENT_PRINCIPAL,
                                 .account_id = looking->account_id};
    struct document_row row;
    struct error err;
    size_t n = 0;
    bool ok = true;

    if (owners->n == 1)
        *owner = owners->items[0];
    if (owners->n == 1)
        return true;
    for (size_t i = 0; i < principals->n; i++) {
        n += !principals->items[i]->is_found;
        if (!principals->items[i]->is_found)
            *owner = principals->items[i]->entry.of.principal.id;
    }
    while (ok && n < 2 && (ok = document_scan_next(&scan, &row, &err) || plan_fail(&err)) &&
           row.account_id.s) {
        n++;
        *owner = plan_keep(looking->plan, row.entry.of.principal.id, &ok);
    }
    document_scan_free(&scan);
    if (n != 1)
        *owner = (struct text){0};
    return ok;
}

/* Adds the owners that the database has in the account: all, or those that are disabled there. */
static bool add_stored(const struct plan_looking *looking, const struct text_list *wanted,
                       bool only_disabled, struct text_list *known)
{
    bool ok = true;

    for (size_t from = 0; ok && from < wanted->n; from += PLAN_BATCH) {
        size_t left = wanted->n - from;
        struct document_keys keys = {.ids = {.items = wanted->items + from,
                                             .n = left < PLAN_BATCH ? left : PLAN_BATCH,
                                             .given = true}};
        struct arena arena = {0};
        struct pg_result *result;
        struct document_row row;
        struct error err;

        ok = document_find(looking->plan->ctl->pg, DOCUMENT_PRINCIPAL, looking->account_id, &keys,
                           &arena, &result, &err) ||
             plan_fail(&err);
        for (int i = 0; ok && i < pg_rows(result); i++) {
            const struct document_principal *stored = &row.entry.of.principal;

            ok = document_row_read(result, DOCUMENT_PRINCIPAL, i, &arena, &row, &err) ||
                 plan_fail(&err);
            if (ok && text_eq(row.account_id, looking->account_id) &&
                (stored->is_disabled || !only_disabled))
                known->items[known->n++] = plan_keep(looking->plan, stored->id, &ok);
        }
        pg_result_free(result);
        arena_free(&arena);
    }
    return ok;
}

/* Lists the distinct owners of what is written, or of what they get. */
static void list_owners(const struct plan_looking *looking, bool only_given,
                        struct text_list *wanted)
{
    size_t n = 0;

    for (size_t i = 0; i < looking->items->n; i++) {
        const struct document_item *item = looking->items->items[i];
        const struct plan_change *change = item->change;

        if (change && (change->is_given || !only_given) &&
            change->write.row.entry.of.credential.input.owner_id.s)
            wanted->items[wanted->n++] = change->write.row.entry.of.credential.input.owner_id;
    }
    if (wanted->n > 0)
        qsort(wanted->items, wanted->n, sizeof *wanted->items, plan_text_order);
    for (size_t i = 0; i < wanted->n; i++) {
        if (n == 0 || !text_eq(wanted->items[n - 1], wanted->items[i]))
            wanted->items[n++] = wanted->items[i];
    }
    wanted->n = n;
}

/* Gives every credential that is written an owner, and tells which owners there are not. */
bool plan_settle_owners(const struct plan_looking *looking)
{
    const struct document_account_items *account = looking->account;
    const struct document_items *principals = &account->kinds[DOCUMENT_PRINCIPAL];
    bool only_these =
        looking->plan->prunes && account->account->entry.of.account_entry.has[DOCUMENT_PRINCIPAL];
    struct text_list wanted = {.n = 0};
    struct text_list known = {.n = 0};
    struct text only = {0};
    bool has_looked = false;
    struct error err;

    wanted.items = arena_array(&looking->plan->arena, looking->items->n, sizeof *wanted.items);
    known.items =
        arena_array(&looking->plan->arena, looking->items->n + principals->n, sizeof *known.items);
    if (!wanted.items || !known.items)
        return plan_out_of_memory();
    list_owners(looking, false, &wanted);
    for (size_t i = 0; i < principals->n; i++)
        known.items[known.n++] = principals->items[i]->entry.of.principal.id;
    if (!only_these && !add_stored(looking, &wanted, false, &known))
        return false;
    if (known.n > 0)
        qsort(known.items, known.n, sizeof *known.items, plan_text_order);
    for (size_t i = 0; i < looking->items->n; i++) {
        struct document_item *item = looking->items->items[i];
        struct text *owner;

        if (!item->change)
            continue;
        owner = &item->change->write.row.entry.of.credential.input.owner_id;
        if (!owner->s && !has_looked && !plan_find_only_owner(looking, &only))
            return false;
        has_looked = has_looked || !owner->s;
        if (!owner->s && only.s) {
            *owner = only;
            continue;
        }
        if (owner->s && has_text(&known, *owner))
            continue;
        error_say(&err, ERR_OWNER_UNKNOWN, "%s",
                  owner->s ? error_row(ERR_OWNER_UNKNOWN)->text
                           : "owner_id is missing, and the account has not just one User or Bot. "
                             "Give the identifier of one.");
        plan_tell(looking, item, &err);
    }
    return true;
}

/* ---- owners that are disabled ---- */

/* Lists the Users and Bots that the document itself enables, sorted. */
static bool list_enabled(const struct plan_looking *looking, struct text_list *enabled)
{
    const struct document_items *principals = &looking->account->kinds[DOCUMENT_PRINCIPAL];

    *enabled = (struct text_list){.n = 0};
    enabled->items = arena_array(&looking->plan->arena, principals->n, sizeof *enabled->items);
    if (!enabled->items)
        return plan_out_of_memory();
    for (size_t i = 0; i < principals->n; i++) {
        const struct document_principal *principal = &principals->items[i]->entry.of.principal;

        if (principal->has_disabled && !principal->is_disabled)
            enabled->items[enabled->n++] = principal->id;
    }
    if (enabled->n > 0)
        qsort(enabled->items, enabled->n, sizeof *enabled->items, plan_text_order);
    return true;
}

/* An older file must not let somebody in again who left. */
bool plan_check_disabled(const struct plan_looking *looking)
{
    struct text_list wanted = {.n = 0};
    struct text_list disabled = {.n = 0};
    struct text_list enabled;
    struct error err;

    if (looking->plan->enables)
        return true;
    wanted.items = arena_array(&looking->plan->arena, looking->items->n, sizeof *wanted.items);
    disabled.items = arena_array(&looking->plan->arena, looking->items->n, sizeof *disabled.items);
    if (!wanted.items || !disabled.items)
        return plan_out_of_memory();
    list_owners(looking, true, &wanted);
    if (!add_stored(looking, &wanted, true, &disabled))
        return false;
    if (disabled.n == 0)
        return true;
    qsort(disabled.items, disabled.n, sizeof *disabled.items, plan_text_order);
    if (!list_enabled(looking, &enabled))
        return false;
    for (size_t i = 0; i < looking->items->n; i++) {
        const struct document_item *item = looking->items->items[i];
        const struct ssh_credential *input =
            item->change ? &item->change->write.row.entry.of.credential.input : NULL;

        if (!input || !item->change->is_given || !input->owner_id.s ||
            !has_text(&disabled, input->owner_id) || has_text(&enabled, input->owner_id))
            continue;
        error_say(&err, ERR_WRONG_VALUE,
                  "The owner of %s is %s, which is disabled. Take the credential out of the file, "
                  "or add --enable.",
                  input->id.s ? input->id.s : input->fingerprint.s, input->owner_id.s);
        plan_tell(looking, item, &err);
    }
    return true;
}
