/* SPDX-License-Identifier: MIT */
/* What the changes of Users and Bots mean for the rest of their account. */
#include <stdlib.h>

#include "base/ident.h"
#include "ctl/accounts.h"
#include "ctl/document/plan_kind.h"
#include "store/history.h"

/* ---- the last admin ---- */

/* Whether a User or Bot is an enabled admin once the plan is written.  row: NULL if it is new. */
static bool will_be_admin(const struct plan_looking *looking, const struct document_item *item,
                          const struct document_row *row)
{
    const struct document_principal *stored = row ? &row->entry.of.principal : NULL;
    const struct document_principal *wanted = item ? &item->entry.of.principal : stored;

    if (!item && plan_prunes_row(looking, row))
        return false;
    return (wanted->has_admin || !stored ? wanted->is_admin : stored->is_admin) &&
           !(wanted->has_disabled || !stored ? wanted->is_disabled : stored->is_disabled);
}

/* Counts the admins of the account that are enabled, now and once the plan is written.  Stops at
 * the first one of the latter. */
static bool count_admins(const struct plan_looking *looking, size_t *n_before, size_t *n_after)
{
    struct document_scan scan = {.pg = looking->plan->ctl->pg,
                                 .kind = DOCUMENT_PRINCIPAL,
                                 .account_id = looking->account_id};
    struct document_row row;
    struct error err;
    bool ok = true;

    *n_before = *n_after = 0;
    for (size_t i = 0; i < looking->items->n; i++)
        *n_after += !looking->items->items[i]->is_found &&
                    will_be_admin(looking, looking->items->items[i], NULL);
    while (ok && *n_after == 0 && (ok = document_scan_next(&scan, &row, &err) || plan_fail(&err)) &&
           row.account_id.s) {
        *n_before += row.entry.of.principal.is_admin && !row.entry.of.principal.is_disabled;
        *n_after += will_be_admin(looking, plan_find_wanting(looking, &row), &row);
    }
    document_scan_free(&scan);
    return ok;
}

bool plan_warn_last_admin(const struct plan_looking *looking)
{
    struct plan *plan = looking->plan;
    bool changes_people = false;
    size_t n_before;
    size_t n_after;

    for (size_t i = looking->first_change; i < plan->n_changes; i++)
        changes_people =
            changes_people || plan->changes[i]->write.row.entry.kind == DOCUMENT_PRINCIPAL;
    if (!changes_people || looking->is_new)
        return true;
    if (!count_admins(looking, &n_before, &n_after))
        return false;
    if (n_before > 0 && n_after == 0)
        plan_warn(plan, ACCOUNTS_NO_ADMIN, looking->account_id.s, looking->account_id.s);
    return true;
}

/* ---- owners that are deleted ---- */

/* The Users and Bots that are deleted in an account, sorted. */
struct leavers {
    struct text_list ids;
    bool *are_told; /* that something of them stays */
};

static bool list_leavers(const struct plan_looking *looking, struct leavers *leavers)
{
    struct plan *plan = looking->plan;
    size_t room = plan->n_changes - looking->first_change;

    leavers->ids = (struct text_list){.given = true};
    leavers->ids.items = arena_array(&plan->arena, room, sizeof *leavers->ids.items);
    leavers->are_told = arena_array(&plan->arena, room, sizeof *leavers->are_told);
    if (!leavers->ids.items || !leavers->are_told)
        return plan_out_of_memory();
    for (size_t i = looking->first_change; i < plan->n_changes; i++) {
        const struct plan_change *change = plan->changes[i];

        if (change->verb == DOCUMENT_DELETE && change->write.row.entry.kind == DOCUMENT_PRINCIPAL)
            leavers->ids.items[leavers->ids.n++] = change->write.row.entry.of.principal.id;
    }
    if (leavers->ids.n > 0)
        qsort(leavers->ids.items, leavers->ids.n, sizeof *leavers->ids.items, plan_text_order);
    return true;
}

/* Marks the credentials that are deleted with their owner. */
static void mark_owned(const struct plan_looking *looking, const struct leavers *leavers)
{
    struct plan *plan = looking->plan;

    for (size_t i = looking->first_change; i < plan->n_changes; i++) {
        struct plan_change *change = plan->changes[i];
        const struct document_entry *entry = &change->write.row.entry;

        change->goes_with_owner =
            change->verb == DOCUMENT_DELETE && entry->kind == DOCUMENT_CREDENTIAL &&
            bsearch(&entry->of.credential.input.owner_id, leavers->ids.items, leavers->ids.n,
                    sizeof *leavers->ids.items, plan_text_order) != NULL;
    }
}

/* Tells of a credential that stays, though its owner does not. */
static void tell_kept(const struct plan_looking *looking, struct leavers *leavers,
                      const struct document_item *item, const struct document_credential *stored)
{
    struct text *leaver = bsearch(&stored->input.owner_id, leavers->ids.items, leavers->ids.n,
                                  sizeof *leavers->ids.items, plan_text_order);
    struct error err;

    if (item) {
        error_say(&err, ERR_OWNER_UNKNOWN,
                  "The owner of %s is %s, which is not in principals, so --prune deletes it. Add "
                  "it there, or give the credential another owner.",
                  stored->input.id.s, stored->input.owner_id.s);
        plan_tell(looking, item, &err);
    } else if (leaver && !leavers->are_told[leaver - leavers->ids.items]) {
        leavers->are_told[leaver - leavers->ids.items] = true;
        error_say(&err, ERR_OWNER_UNKNOWN,
                  "%s is not in principals, so --prune deletes it, but it owns credentials that "
                  "the file is not about, such as %s. Add it there, or first run: aditctl %s "
                  "delete --give-to ID %s",
                  leaver->s, stored->input.id.s,
                  ident_assigned(*leaver, IDENT_BOT) ? "bot" : "user", leaver->s);
        plan_tell(looking, looking->account->account, &err);
    }
}

bool plan_check_leavers(const struct plan_looking *looking)
{
    struct document_scan scan = {.pg = looking->plan->ctl->pg,
                                 .kind = DOCUMENT_CREDENTIAL,
                                 .account_id = looking->account_id};
    struct leavers leavers;
    struct document_row row;
    struct error err;
    bool ok = list_leavers(looking, &leavers);

    if (!ok || leavers.ids.n == 0)
        return ok;
    mark_owned(looking, &leavers);
    scan.owners = leavers.ids;
    while (ok && (ok = document_scan_next(&scan, &row, &err) || plan_fail(&err)) &&
           row.account_id.s) {
        const struct document_item *item = plan_find_wanting(looking, &row);

        /* An item that changes has had its owner checked. */
        if (item ? !item->change : !plan_prunes_row(looking, &row))
            tell_kept(looking, &leavers, item, &row.entry.of.credential);
    }
    document_scan_free(&scan);
    return ok;
}

/* ---- people who were deleted ---- */

bool plan_warn_deleted(const struct plan_looking *looking)
{
    struct plan *plan = looking->plan;
    struct text room[PLAN_BATCH];
    struct text_list ids = {.items = room, .given = true};
    bool ok = true;

    for (size_t i = 0; ok && i < looking->items->n; i++) {
        const struct document_item *item = looking->items->items[i];
        struct pg_result *result;
        struct error err;

        if (!item->is_found)
            ids.items[ids.n++] = item->entry.of.principal.id;
        if (ids.n == 0 || (ids.n < PLAN_BATCH && i + 1 < looking->items->n))
            continue;
        ok = history_find_deleted(plan->ctl->pg, looking->account_id, ids, &result, &err) ||
             plan_fail(&err);
        for (int row = 0; ok && row < pg_rows(result); row++)
            plan_warn(plan,
                      "%s was deleted at %s, and this creates it again; if it is to stay away, "
                      "take it and its credentials out of the file",
                      pg_text(result, row, 0).s, pg_text(result, row, 1).s);
        pg_result_free(result);
        ids.n = 0;
    }
    return ok;
}
