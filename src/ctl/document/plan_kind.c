/* SPDX-License-Identifier: MIT */
/* Compares the items of one kind in an account with their rows. */
#include <string.h>

#include "ctl/document/plan_kind.h"

/* Gives the items that go without an id the owner that they would get, since they go by it. */
static bool settle_keys(const struct plan_looking *looking)
{
    struct text only = {0};
    bool has_looked = false;

    for (size_t i = 0; looking->kind == DOCUMENT_CREDENTIAL && i < looking->items->n; i++) {
        struct ssh_credential *input = &looking->items->items[i]->entry.of.credential.input;

        if (input->id.s || input->owner_id.s)
            continue;
        if (!has_looked && !plan_find_only_owner(looking, &only))
            return false;
        has_looked = true;
        input->owner_id = only;
    }
    return true;
}

/* ---- what has a row ---- */

/* Checks what cannot be changed, and takes over what the item leaves out. */
static bool settle_credential(const struct plan_looking *looking, const struct document_item *item,
                              const struct document_row *row, struct document_entry *wanted,
                              bool *ok)
{
    const struct document_credential *stored = &row->entry.of.credential;
    struct document_credential *credential = &wanted->of.credential;
    struct ssh_credential *input = &credential->input;
    struct error err = {.code = ERR_NONE};
    bool needs_rules = looking->plan->ctl->conf.require_acl && stored->input.acl.n > 0;

    /* A key that is not taken any more has no fingerprint: its fault is told if it differs. */
    if (input->fingerprint.len > 0 && !text_eq(stored->input.fingerprint, input->fingerprint))
        error_say(
            &err, ERR_PUBLIC_KEY_FIXED,
            "public_key is another key than that of %s, and the key of a credential cannot be "
            "changed. Leave out id and created_at to create one; --prune deletes the old one.",
            stored->input.id.s);
    else if (credential->created_at.s && !text_eq(credential->created_at, stored->created_at))
        error_say(&err, ERR_WRONG_VALUE,
                  "created_at is %s, but %s was created at %s. Leave it out, or give the same.",
                  credential->created_at.s, stored->input.id.s, stored->created_at.s);
    else if (!input->owner_id.s && !plan_is_of_owners(looking, row))
        error_say(
            &err, ERR_WRONG_VALUE,
            "%s belongs to %s, which is not in the account's owners. Take it out of the file, "
            "or give its new owner_id.",
            stored->input.id.s, stored->input.owner_id.s);
    if (err.code || (needs_rules && !ssh_credential_check_rules(&input->acl, &err))) {
        plan_tell(looking, item, &err);
        return false;
    }
    input->id = item->found_id;
    if (!input->owner_id.s)
        input->owner_id = plan_keep(looking->plan, stored->input.owner_id, ok);
    /* An old document does not wake it up. */
    if (text_eq(stored->standing, text_of(STANDING_SUPERSEDED)) &&
        text_eq(credential->standing, text_of(STANDING_OWN)))
        credential->standing = text_of(STANDING_SUPERSEDED);
    return true;
}

/* Takes over what the item leaves out. */
static void settle_principal(const struct plan_looking *looking, const struct document_row *row,
                             struct document_entry *wanted, bool *ok)
{
    const struct document_principal *stored = &row->entry.of.principal;
    struct document_principal *principal = &wanted->of.principal;

    if (!principal->name.s)
        principal->name = plan_keep(looking->plan, stored->name, ok);
    if (!principal->has_admin)
        principal->is_admin = stored->is_admin;
    /* It was disabled at another time. */
    if (principal->is_disabled == stored->is_disabled)
        principal->has_disabled = false;
}

/* Compares an item with its row. */
static bool compare_item(const struct plan_looking *looking, struct document_item *item,
                         const struct document_row *row)
{
    struct plan *plan = looking->plan;
    struct document_entry wanted = item->entry;
    struct document_changes changes;
    struct plan_change *change;
    bool ok = true;
    struct error fault;

    if (looking->kind == DOCUMENT_CREDENTIAL &&
        !settle_credential(looking, item, row, &wanted, &ok))
        return true;
    if (looking->kind == DOCUMENT_PRINCIPAL)
        settle_principal(looking, row, &wanted, &ok);
    document_compare(&row->entry, &wanted, &plan->names, &changes);
    if (document_tell_values(plan->document, &item->entry, &changes))
        return true;
    if (changes.n == 0 && !document_has_provider(looking->kind))
        return ok || plan_out_of_memory();
    change = ok ? plan_new_change(plan, DOCUMENT_UPDATE, &wanted, looking->account_id) : NULL;
    if (!change)
        return false;
    if (document_has_provider(looking->kind) && !plan_secret(plan, item, row, change, &fault)) {
        if (fault.code)
            plan_tell(looking, item, &fault);
        return fault.code != ERR_NONE;
    }
    if (changes.n == 0 && !change->sets_secret)
        return true;
    item->change = change;
    change->is_given =
        looking->kind == DOCUMENT_CREDENTIAL &&
        !text_eq(wanted.of.credential.input.owner_id, row->entry.of.credential.input.owner_id);
    return plan_show_values(plan, change, &changes);
}

/* Warns, once for an item, of a credential that is like it and that it does not want. */
static void warn_alike(const struct plan_looking *looking, const struct document_row *row)
{
    const struct ssh_credential *input = &row->entry.of.credential.input;
    struct document_item *item = plan_item_like_row(looking, row);

    if (!item || item->is_like_another || !plan_is_of_owners(looking, row) ||
        plan_prunes_row(looking, row))
        return;
    item->is_like_another = true;
    plan_warn(
        looking->plan,
        "%s of %s has the key and description of ssh_credentials[%zu] in accounts[%zu], which "
        "is not about it; to mean it, give its id and owner_id",
        input->id.s, input->owner_id.s, item->entry.index, item->entry.account);
}

/* Takes a row that was found.  A row may be found twice, by its id and by its key.  Of credentials
 * alike with one owner, the oldest comes first: a later one takes no place. */
static bool take_row(const struct plan_looking *looking, const struct document_row *row)
{
    const struct text id = row->entry.of.credential.input.id;
    struct document_item *item = plan_item_of_row(looking, row);
    struct error err;
    bool ok = true;

    if (looking->kind == DOCUMENT_CREDENTIAL &&
        (!item || (item->is_found && !text_eq(item->found_id, id))))
        warn_alike(looking, row);
    if (!item)
        return true;
    if (looking->kind == DOCUMENT_PRINCIPAL && !text_eq(row->account_id, looking->account_id)) {
        error_say(&err, ERR_WRONG_VALUE, "%s is in the account %s already.",
                  row->entry.of.principal.id.s, row->account_id.s);
        plan_tell(looking, item, &err);
    } else if (!item->is_found) {
        item->is_found = true;
        if (looking->kind == DOCUMENT_CREDENTIAL)
            item->found_id = plan_keep(looking->plan, id, &ok);
        return ok ? compare_item(looking, item, row) : plan_out_of_memory();
    }
    return true;
}

/* ---- looking for rows ---- */

static bool look_for(const struct plan_looking *looking, struct document_item *const *items,
                     size_t n)
{
    struct text room[4][PLAN_BATCH];
    struct document_keys keys = {.ids = {.items = room[0], .given = true},
                                 .second = {.items = room[1], .given = true},
                                 .fingerprints = {.items = room[2], .given = true},
                                 .descriptions = {.items = room[3], .given = true}};
    struct plan *plan = looking->plan;
    struct arena arena = {0};
    struct pg_result *result;
    struct document_row row;
    struct error err;
    bool ok;

    plan_fill_keys(&keys, items, n);
    ok = document_find(plan->ctl->pg, looking->kind, looking->account_id, &keys, &arena, &result,
                       &err);
    if (!ok)
        plan_fail(&err);
    for (int i = 0; ok && i < pg_rows(result); i++) {
        if (!document_row_read(result, looking->kind, i, &arena, &row, &err))
            ok = plan_fail(&err);
        else
            ok = take_row(looking, &row);
    }
    pg_result_free(result);
    arena_free(&arena);
    return ok;
}

/* ---- what has no row ---- */

static bool create_item(const struct plan_looking *looking, struct document_item *item)
{
    struct plan *plan = looking->plan;
    struct error fault;

    if (document_tell_values(plan->document, &item->entry, NULL))
        return true;
    if (looking->kind == DOCUMENT_CREDENTIAL && plan->ctl->conf.require_acl &&
        !ssh_credential_check_rules(&item->entry.of.credential.input.acl, &fault)) {
        plan_tell(looking, item, &fault);
        return true;
    }
    item->change = plan_new_change(plan, DOCUMENT_CREATE, &item->entry, looking->account_id);
    if (!item->change)
        return false;
    item->change->is_given = looking->kind == DOCUMENT_CREDENTIAL;
    if (!document_has_provider(looking->kind))
        return true;
    if (plan_secret(plan, item, NULL, item->change, &fault))
        return plan_show_secret(plan, item->change);
    if (fault.code)
        plan_tell(looking, item, &fault);
    return fault.code != ERR_NONE;
}

/* The row is gone with its batch: keeps what names it. */
static bool delete_row(const struct plan_looking *looking, const struct document_row *row)
{
    struct plan *plan = looking->plan;
    const struct document_entry *entry = &row->entry;
    struct document_entry kept = {.kind = entry->kind};
    struct plan_change *change;
    bool ok = true;

    switch (entry->kind) {
    case DOCUMENT_PRINCIPAL:
        kept.of.principal.id = plan_keep(plan, entry->of.principal.id, &ok);
        kept.of.principal.name = plan_keep(plan, entry->of.principal.name, &ok);
        break;
    case DOCUMENT_CREDENTIAL:
        kept.of.credential.input.id = plan_keep(plan, entry->of.credential.input.id, &ok);
        kept.of.credential.input.owner_id =
            plan_keep(plan, entry->of.credential.input.owner_id, &ok);
        kept.of.credential.input.description =
            plan_keep(plan, entry->of.credential.input.description, &ok);
        break;
    default:
        kept.of.module.place.edge_id = plan_keep(plan, entry->of.module.place.edge_id, &ok);
        kept.of.module.place.route_id = plan_keep(plan, entry->of.module.place.route_id, &ok);
    }
    if (!ok)
        return plan_out_of_memory();
    change = plan_new_change(plan, DOCUMENT_DELETE, &kept, looking->account_id);
    return change && plan_add_change(plan, change);
}

/* Deletes the rows that no item wants. */
static bool prune(const struct plan_looking *looking)
{
    const struct document_account *account = &looking->account->account->entry.of.account_entry;
    struct plan *plan = looking->plan;
    struct document_scan scan = {.pg = plan->ctl->pg,
                                 .kind = looking->kind,
                                 .account_id = looking->account_id,
                                 .owners = account->owners};
    struct document_row row;
    struct error err;
    bool ok = true;

    while (ok && (ok = document_scan_next(&scan, &row, &err) || plan_fail(&err)) &&
           row.account_id.s) {
        if (!plan_find_wanting(looking, &row))
            ok = delete_row(looking, &row);
    }
    document_scan_free(&scan);
    return ok;
}

/* ---- all of it ---- */

bool plan_kind(struct plan_looking *looking)
{
    const struct document_account *account = &looking->account->account->entry.of.account_entry;
    struct plan *plan = looking->plan;

    looking->items = &looking->account->kinds[looking->kind];
    if (!settle_keys(looking) || !plan_sort_items(looking))
        return false;
    for (size_t from = 0; from < looking->items->n; from += PLAN_BATCH) {
        size_t left = looking->items->n - from;
        size_t n = left < PLAN_BATCH ? left : PLAN_BATCH;

        if (!looking->is_new || looking->kind == DOCUMENT_PRINCIPAL) {
            if (!look_for(looking, looking->items->items + from, n))
                return false;
        }
        plan->n_looked_at += n;
        progress_show(&plan->progress, (int64_t)plan->n_looked_at);
    }
    for (size_t i = 0; i < looking->items->n; i++) {
        struct document_item *item = looking->items->items[i];

        if (!item->is_found && !create_item(looking, item))
            return false;
    }
    if (looking->kind == DOCUMENT_PRINCIPAL && !plan_warn_deleted(looking))
        return false;
    if (looking->kind == DOCUMENT_CREDENTIAL &&
        !(plan_settle_owners(looking) && plan_check_disabled(looking)))
        return false;
    for (size_t i = 0; i < looking->items->n; i++) {
        if (looking->items->items[i]->change &&
            !plan_add_change(plan, looking->items->items[i]->change))
            return false;
    }
    if (plan->prunes && account->has[looking->kind] && !looking->is_new && !prune(looking))
        return false;
    if (looking->kind == DOCUMENT_PRINCIPAL)
        return plan_warn_last_admin(looking);
    return looking->kind != DOCUMENT_CREDENTIAL ||
           (plan_check_leavers(looking) && plan_check_keys(looking));
}
