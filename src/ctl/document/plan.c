/* SPDX-License-Identifier: MIT */
/* Plans what a document changes, and writes it. */
#include "ctl/document/plan.h"

#include <stdlib.h>
#include <string.h>

#include "ctl/accounts.h"
#include "ctl/document/plan_kind.h"
#include "ctl/retry.h"
#include "store/account.h"
#include "store/store.h"

/* ---- accounts ---- */

/* Warns once if the database has just one account, and the document creates another. */
static bool warn_second(struct plan *plan)
{
    char only[IDENT_SIZE];
    struct error err;

    if (plan->makes_account)
        return true;
    plan->makes_account = true;
    if (!accounts_find_second(plan->ctl, only, &err))
        return plan_fail(&err);
    plan->makes_second = only[0] != '\0';
    if (plan->makes_second)
        plan_warn(plan, ACCOUNTS_SECOND, only);
    return true;
}

/* Finds the account, or plans to create it. */
static bool plan_account(struct plan_looking *looking)
{
    struct document_item *item = looking->account->account;
    struct document_account *account = &item->entry.of.account_entry;
    struct plan *plan = looking->plan;
    struct document_keys keys = {.ids = {.items = &account->id, .n = 1, .given = true}};
    struct arena arena = {0};
    struct plan_change *change = NULL;
    struct document_changes changes;
    struct document_row row;
    struct pg_result *result;
    struct error err;
    bool ok;

    ok = document_find(plan->ctl->pg, DOCUMENT_ACCOUNT, account->id, &keys, &arena, &result, &err);
    looking->is_new = ok && pg_rows(result) == 0;
    if (looking->is_new) {
        if (warn_second(plan))
            change = plan_new_change(plan, DOCUMENT_CREATE, &item->entry, account->id);
        ok = change && plan_add_change(plan, change);
    } else if (ok && document_row_read(result, DOCUMENT_ACCOUNT, 0, &arena, &row, &err)) {
        document_compare(&row.entry, &item->entry, &plan->names, &changes);
        if (changes.n > 0) {
            change = plan_new_change(plan, DOCUMENT_UPDATE, &item->entry, account->id);
            ok =
                change && plan_show_values(plan, change, &changes) && plan_add_change(plan, change);
        }
    } else {
        ok = plan_fail(&err);
    }
    looking->account_id = account->id;
    pg_result_free(result);
    arena_free(&arena);
    return ok;
}

/* Fills in the ids of accounts that go without, and tells which are there twice. */
static bool settle_accounts(struct plan *plan)
{
    struct document *document = plan->document;
    struct error err = {.code = ERR_NONE};
    char only[IDENT_SIZE];
    bool ok = true;
    int n;

    for (size_t i = 0; i < document->n_accounts; i++) {
        struct document_item *item = document->accounts[i].account;
        struct text *id = &item->entry.of.account_entry.id;

        if (!id->s && account_find_only(plan->ctl->pg, only, &n, &err))
            *id = plan_keep(plan, text_of(only), &ok);
        else if (!id->s && err.code)
            return plan_fail(&err);
        if (!ok)
            return plan_out_of_memory();
        if (!id->s) {
            error_say(&err, ERR_WRONG_VALUE,
                      "id is missing, and there is not just one account. "
                      "'aditctl account list' shows the ids.");
            document_tell(document, &item->entry, &err);
        }
        for (size_t j = 0; id->s && j < i; j++) {
            if (!text_eq(*id, document->accounts[j].account->entry.of.account_entry.id))
                continue;
            error_say(&err, ERR_WRONG_VALUE,
                      "This is the same as accounts[%zu]: both have the "
                      "same id.",
                      j);
            document_tell(document, &item->entry, &err);
            break;
        }
    }
    return document_is_good(document);
}

bool plan_make(struct plan *plan)
{
    struct document *document = plan->document;
    bool ok = settle_accounts(plan);

    memcpy(plan->names.providers, plan->ctl->conf.provider_names, sizeof plan->names.providers);
    progress_start(&plan->progress, plan->ctl, "entries compared", (int64_t)document->n_items);
    for (size_t i = 0; ok && i < document->n_accounts; i++) {
        struct plan_looking looking = {
            .plan = plan, .account = &document->accounts[i], .first_change = plan->n_changes};

        ok = plan_account(&looking);
        for (enum document_kind kind = DOCUMENT_PRINCIPAL; ok && kind < DOCUMENT_N_KINDS; kind++) {
            looking.kind = kind;
            ok = plan_kind(&looking);
        }
    }
    progress_erase(&plan->progress);
    return ok && document_is_good(document);
}

size_t plan_count(const struct plan *plan, enum document_verb verb)
{
    size_t n = 0;

    for (size_t i = 0; i < plan->n_changes; i++)
        n += plan->changes[i]->verb == verb;
    return n;
}

/* ---- writing ---- */

/* What refers to something comes after it.  A credential is deleted before another with the same
 * key is created: a deployment may permit a key only once. */
/* clang-format off */
static const struct {
    enum document_kind kind;
    enum document_verb verb;
} steps[] = {
    {DOCUMENT_ACCOUNT, DOCUMENT_CREATE},
    {DOCUMENT_ACCOUNT, DOCUMENT_UPDATE},
    {DOCUMENT_PRINCIPAL, DOCUMENT_CREATE},
    {DOCUMENT_PRINCIPAL, DOCUMENT_UPDATE},
    {DOCUMENT_CREDENTIAL, DOCUMENT_DELETE},
    {DOCUMENT_CREDENTIAL, DOCUMENT_UPDATE},
    {DOCUMENT_CREDENTIAL, DOCUMENT_CREATE},
#define MODULE_STEPS(with, NAME, ...)                                                              \
    {DOCUMENT_##NAME, DOCUMENT_DELETE}, {DOCUMENT_##NAME, DOCUMENT_UPDATE},                        \
        {DOCUMENT_##NAME, DOCUMENT_CREATE},
    MODULES(MODULE_STEPS, _)
    {DOCUMENT_PRINCIPAL, DOCUMENT_DELETE},
};
/* clang-format on */

/* Gives a credential that is created without an id one. */
static bool make_id(struct plan *plan, struct plan_change *change, struct error *err)
{
    struct ssh_credential *input = &change->write.row.entry.of.credential.input;
    char id[IDENT_SIZE];

    if (change->write.row.entry.kind != DOCUMENT_CREDENTIAL || input->id.s)
        return true;
    if (!store_make_ident(plan->ctl->pg, IDENT_CREDENTIAL, id, NULL, err))
        return false;
    input->id = text_of(arena_copy(&plan->arena, id, strlen(id)));
    return input->id.s || error_set(err, ERR_OUT_OF_MEMORY);
}

static bool write_step(struct plan *plan, enum document_kind kind, enum document_verb verb,
                       size_t *n_done, struct error *err)
{
    const struct document_change *batch[PLAN_BATCH];
    size_t n = 0;

    for (size_t i = 0; i < plan->n_changes; i++) {
        struct plan_change *change = plan->changes[i];

        if (change->write.row.entry.kind != kind || change->verb != verb)
            continue;
        if (!make_id(plan, change, err))
            return false;
        batch[n++] = &change->write;
        if (n < PLAN_BATCH)
            continue;
        if (!document_write(plan->ctl->pg, kind, verb, batch, n, err))
            return false;
        *n_done += n;
        n = 0;
        progress_show(&plan->progress, (int64_t)*n_done);
    }
    *n_done += n;
    return n == 0 || document_write(plan->ctl->pg, kind, verb, batch, n, err);
}

/* Whether the plan itself disables a User or Bot. */
static bool disables(const struct plan *plan, struct text id)
{
    bool found = false;

    for (size_t i = 0; !found && i < plan->n_changes; i++) {
        const struct document_entry *entry = &plan->changes[i]->write.row.entry;

        found = entry->kind == DOCUMENT_PRINCIPAL && entry->of.principal.is_disabled &&
                text_eq(entry->of.principal.id, id);
    }
    return found;
}

static bool hold_batch(const struct plan *plan, const struct document_change *const *batch,
                       size_t n, struct error *err)
{
    struct pg_result *owners = NULL;
    bool ok = document_hold_owners(plan->ctl->pg, batch, n, &owners, err);

    for (int i = 0; ok && i < pg_rows(owners); i++) {
        ok = pg_bool(owners, i, 1) || disables(plan, pg_text(owners, i, 0)) || ctl_set_beaten(err);
    }
    pg_result_free(owners);
    return ok;
}

/* Somebody who was disabled since the plan was made must not get a credential.  At the end, since a
 * 'user disable' waits for this. */
static bool hold_owners(struct plan *plan, struct error *err)
{
    bool ok = true;
    const struct document_change *batch[PLAN_BATCH];
    size_t n = 0;

    for (size_t i = 0; ok && !plan->enables && i < plan->n_changes; i++) {
        if (!plan->changes[i]->is_given)
            continue;
        batch[n++] = &plan->changes[i]->write;
        if (n < PLAN_BATCH)
            continue;
        ok = hold_batch(plan, batch, n, err);
        n = 0;
    }
    return ok && (n == 0 || hold_batch(plan, batch, n, err));
}

bool plan_write(struct plan *plan, struct error *err)
{
    size_t n_done = 0;
    bool ok = true;

    progress_start(&plan->progress, plan->ctl, "changes written", (int64_t)plan->n_changes);
    for (size_t i = 0; ok && i < sizeof steps / sizeof steps[0]; i++)
        ok = write_step(plan, steps[i].kind, steps[i].verb, &n_done, err);
    progress_erase(&plan->progress);
    return ok && hold_owners(plan, err);
}

void plan_free(struct plan *plan)
{
    free(plan->changes);
    buf_free(&plan->warnings);
    keyring_free(plan->keyring);
    arena_free(&plan->arena);
}
