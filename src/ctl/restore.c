/* SPDX-License-Identifier: MIT */
/* aditctl restore: makes rows as they were, with what the record of changes holds. */
#include <string.h>

#include "ctl/history.h"
#include "ctl/listing.h"
#include "ctl/output.h"
#include "ctl/progress.h"
#include "ctl/question.h"
#include "ctl/restore_step.h"
#include "ctl/retry.h"
#include "ctl/secret_file.h"
#include "model/audit_event.h"
#include "store/oauth_secret.h"
#include "store/restore.h"

/* ---- the plan ---- */

/* Finds the row of --event, which has to be that of the RESOURCE. */
static int find_event(struct restore *restore)
{
    struct history_place *place = &restore->place;
    const char *wanted = restore->ctl->options.argument;
    const char *account = restore->ctl->options.account;
    char id[AUDIT_EVENT_ID_SIZE];
    struct history_start start;
    struct error err;

    audit_event_write_id(id, restore->order.event_id);
    if (!history_find_event(restore->ctl->pg, restore->order.event_id, &place->result, &err) ||
        !history_read_start(restore->ctl->pg, &start, &err))
        return ctl_fail_error(&err);
    if (pg_rows(place->result) == 0)
        return ctl_fail("there is no event %s%s", id,
                        start.is_pruned && restore->order.event_id < start.first_id
                            ? " any more: 'aditctl purge --audit-days' has removed it"
                            : "; 'aditctl history' shows the ids");
    place->kind = pg_text(place->result, 0, HISTORY_PLACE_KIND);
    place->account_id = pg_text(place->result, 0, HISTORY_PLACE_ACCOUNT_ID);
    place->resource = pg_text(place->result, 0, HISTORY_PLACE_RESOURCE);
    if (account && strcmp(account, place->account_id.s) != 0)
        return ctl_misuse("event %s is a change in the account %s, not in '%s'", id,
                          place->account_id.s, account);
    if (wanted && strcmp(wanted, place->resource.s) != 0)
        return ctl_misuse("event %s is a change of %s, not of '%s'", id, place->resource.s, wanted);
    if (text_eq(pg_text(place->result, 0, HISTORY_PLACE_EVENT), text_of("oauth_module_rekeyed")))
        return ctl_fail("event %s sealed the client secret under another key and changed nothing "
                        "else",
                        id);
    return CTL_OK;
}

/* Finds the one row to restore, if there is only one. */
static int find_row(struct restore *restore)
{
    int status = CTL_OK;

    if (restore->order.event_id)
        status = find_event(restore);
    else if (restore->ctl->options.argument)
        status = history_find_place(restore->ctl, &restore->place);
    if (status == CTL_OK && text_eq(restore->place.kind, text_of("api_key")))
        return ctl_fail("an API key cannot be restored; issue another: aditctl key issue");
    restore->order.kind = restore->place.kind;
    restore->order.account_id =
        restore->place.result ? restore->place.account_id : text_of(restore->ctl->options.account);
    restore->order.resource = restore->place.resource;
    return status;
}

/* Says what to do if the database takes too long to find what to undo. */
static int fail_plan(const struct error *err)
{
    if (strcmp(err->sqlstate, "57014") != 0)
        return ctl_fail_error(err);
    return ctl_fail("the database did not find within 60 s what to undo; nothing was changed. Run "
                    "ANALYZE in it, or restore less at once: give --account, a later --since, or a "
                    "RESOURCE");
}

static void forget_plan(struct restore *restore)
{
    pg_result_free(restore->plan);
    pg_result_free(restore->place.result);
    restore->plan = NULL;
    restore->place = (struct history_place){.result = NULL};
}

/* Reads the plan, or makes it anew.  Returns CTL_OK, or the exit status after a message. */
static int make_plan(struct restore *restore)
{
    struct error err;
    int status;

    forget_plan(restore);
    if (!history_begin(restore->ctl->pg, &err))
        return ctl_fail_error(&err);
    status = find_row(restore);
    if (status == CTL_OK && !restore->order.event_id)
        status = history_check_start(restore->ctl, restore->order.after_us);
    if (status == CTL_OK && !restore_plan(restore->ctl->pg, &restore->order, &restore->plan, &err))
        status = fail_plan(&err);
    if (status == CTL_OK && pg_rows(restore->plan) == 0)
        status = history_check_maker(restore->ctl, restore->ctl->options.by);
    if (status == CTL_OK && pg_rows(restore->plan) == 0 && !restore->place.result)
        status = history_check_account(restore->ctl, restore->ctl->options.account);
    pg_rollback(restore->ctl->pg);
    return status;
}

/* ---- the client secret ---- */

/* Reads the file of --client-secret-file. */
static int load_secret(struct restore *restore)
{
    const char *path = restore->ctl->options.client_secret_file;
    char reason[SECRET_REASON_SIZE];

    return secret_file_read(path, &restore->arena, &restore->secret, reason)
               ? CTL_OK
               : ctl_fail("--client-secret-file names %s, which %s", path, reason);
}

/* The secret of the file is for one module. */
static int check_secret_use(const struct restore *restore)
{
    int n = 0;

    for (int row = 0; row < pg_rows(restore->plan); row++)
        n += pg_bool(restore->plan, row, RESTORE_HAS_CLIENT);
    if (n == 0)
        return ctl_misuse("--client-secret-file is for an OAuth module that has a client_id, and "
                          "this restores none");
    return n == 1 ? CTL_OK
                  : ctl_misuse("--client-secret-file is for one OAuth module, and this restores %d "
                               "that have a client_id; restore each by its name",
                               n);
}

/* Seals the secret of the file for the module.  Its bytes are in the arena. */
static bool seal_secret(const struct restore *restore, int row, struct arena *arena,
                        struct restore_secret *secret)
{
    const struct module_place route = restore_step_route(restore, row);
    const struct keyring_place place =
        oauth_secret_place(pg_text(restore->plan, row, RESTORE_ACCOUNT_ID), &route,
                           (int)pg_int(restore->plan, row, RESTORE_PROVIDER));
    char reason[CONF_REASON_SIZE];
    struct keyring *keyring = keyring_load(restore->ctl->conf.key_file, reason, sizeof reason);
    struct error err;
    bool sealed = false;

    if (!keyring)
        ctl_fail("%s", reason);
    else if (!(sealed = keyring_seal(keyring, &place, restore->secret, arena, &secret->key_id,
                                     &secret->sealed, &err)))
        ctl_fail_error(&err);
    if (sealed)
        secret->key_id = text_of(arena_copy(arena, secret->key_id.s, secret->key_id.len));
    keyring_free(keyring);
    return sealed;
}

/* ---- what it shows ---- */

enum column {
    COLUMN_ACTION,
    COLUMN_KIND,
    COLUMN_RESOURCE,
    COLUMN_CHANGE,
    COLUMN_REASON,
    COLUMN_ACCOUNT,
    COLUMN_EVENT,
    COLUMN_BEFORE,
    COLUMN_AFTER,
    N_COLUMNS
};

static const struct listing_column columns[N_COLUMNS] = {
    [COLUMN_ACTION] = {"ACTION", "action", LISTING_TEXT, 6},
    [COLUMN_KIND] = {"KIND", "kind", LISTING_TEXT, 17},
    [COLUMN_RESOURCE] = {"RESOURCE", "resource", LISTING_TEXT, 33},
    [COLUMN_CHANGE] = {"CHANGE", NULL, LISTING_TEXT, 0},
    [COLUMN_REASON] = {NULL, "reason", LISTING_TEXT, 0},
    [COLUMN_ACCOUNT] = {NULL, "account_id", LISTING_TEXT, 0},
    [COLUMN_EVENT] = {NULL, "event_id", LISTING_TEXT, 0},
    [COLUMN_BEFORE] = {NULL, "before", LISTING_JSON, 0},
    [COLUMN_AFTER] = {NULL, "after", LISTING_JSON, 0},
};

static const struct listing listing = {"changes", columns, N_COLUMNS};

static const char *action_of(const struct restore *restore, int row)
{
    if (pg_is_null(restore->plan, row, RESTORE_WANTED))
        return "delete";
    return pg_is_null(restore->plan, row, RESTORE_CURRENT) ? "create" : "change";
}

/* Returns what differs, with the client secret of the file.  Uses the room. */
static struct text name_secret(const struct restore *restore, int row, struct text change,
                               struct buf *room)
{
    if (!restore_step_sets_secret(restore, row))
        return change;
    if (text_present(change))
        buf_printf(room, "%s; ", change.s);
    buf_puts(room, "client_secret: set");
    return buf_text(room);
}

/* Counts the rows of the plan by what becomes of them. */
static void count_steps(struct restore *restore)
{
    restore->n_changes = restore->n_skipped = restore->n_disabled = 0;
    for (int row = 0; row < pg_rows(restore->plan); row++) {
        char room[RESTORE_STEP_REASON_SIZE];
        bool is_skipped = restore_step_reason(restore, row, room) != NULL;

        if (restore_step_is_settled(restore, row))
            continue;
        restore->n_skipped += is_skipped;
        restore->n_changes += !is_skipped;
        restore->n_disabled += !is_skipped && pg_bool(restore->plan, row, RESTORE_STAYS_DISABLED);
    }
}

static void print_step(const struct restore *restore, int row, struct listing_out *out)
{
    char room[RESTORE_STEP_REASON_SIZE];
    const char *reason = restore_step_reason(restore, row, room);
    struct text change = pg_text(restore->plan, row, RESTORE_CHANGE);
    char event[AUDIT_EVENT_ID_SIZE];
    struct buf with_secret = {0};
    struct text cells[N_COLUMNS] = {
        [COLUMN_ACTION] = text_of(reason ? "skip" : action_of(restore, row)),
        [COLUMN_KIND] = pg_text(restore->plan, row, RESTORE_KIND),
        [COLUMN_RESOURCE] = pg_text(restore->plan, row, RESTORE_RESOURCE),
        [COLUMN_CHANGE] =
            reason ? text_of(reason) : name_secret(restore, row, change, &with_secret),
        [COLUMN_REASON] = text_of(reason),
        [COLUMN_ACCOUNT] = pg_text(restore->plan, row, RESTORE_ACCOUNT_ID),
        [COLUMN_BEFORE] = pg_text(restore->plan, row, RESTORE_CURRENT),
        [COLUMN_AFTER] = pg_text(restore->plan, row, RESTORE_WANTED),
    };

    audit_event_write_id(event, pg_int(restore->plan, row, RESTORE_EVENT));
    cells[COLUMN_EVENT] = text_of(event);
    listing_add(out, cells);
    buf_free(&with_secret);
}

static void print_steps(const struct restore *restore, struct listing_out *out)
{
    for (int row = 0; row < pg_rows(restore->plan); row++) {
        if (!restore_step_is_settled(restore, row))
            print_step(restore, row, out);
    }
}

/* ---- writing ---- */

/* What is being written.  If a statement for several rows fails, all is written once more, and from
 * its first row on each alone, so that the message names the one. */
struct writing {
    struct restore *restore;
    struct progress progress;
    int n_written;
    int alone_from; /* row of the plan; their number: no statement for several has failed */
};

/* Returns whether other credentials have the key: each plan would fail for them. */
static bool is_key_taken(const struct error *err)
{
    return err->code == ERR_PUBLIC_KEY_EXISTS || err->code == ERR_KEY_FULL;
}

/* Gives the transaction up, because of an error or, if err is NULL, of a row that was changed
 * meanwhile.  Returns whether there is another try: not if the operator was asked, who has seen
 * this plan alone, nor if a key is taken. */
static bool try_anew(struct restore *restore, const struct error *err)
{
    const bool lasts = err && is_key_taken(err);

    pg_rollback(restore->ctl->pg); /* the pause holds no lock */
    restore->is_beaten =
        restore->ctl->options.yes && !lasts && ctl_try_again(err, &restore->n_tries);
    return restore->is_beaten;
}

/* Says why nothing was restored: an error or, if err is NULL, that the row was changed. */
static void say_failure(const struct restore *restore, const char *resource,
                        const struct error *err)
{
    char tries[32] = "";

    if (restore->n_tries > 0)
        snprintf(tries, sizeof tries, " in %d tries", restore->n_tries);
    if (err)
        ctl_fail("nothing was restored%s: %s: %s", tries, resource,
                 is_key_taken(err) ? error_row(err->code)->text : ctl_reason(err));
    else
        ctl_fail("%s was changed meanwhile; nothing was restored%s, run this again", resource,
                 tries);
}

/* Restores the rows of the batch.  Returns CTL_OK, or CTL_FAILED after a message: none if there are
 * several, or there is another try. */
static int write_batch(struct restore *restore, const struct restore_batch *batch)
{
    int row = batch->rows[0];
    bool has_secret = restore_step_sets_secret(restore, row);
    struct restore_secret secret = {.key_id = {.s = NULL}};
    struct arena arena = {0};
    struct error err;
    int status = CTL_FAILED;
    bool ok, done;

    if (has_secret && !seal_secret(restore, row, &arena, &secret))
        goto out;
    ok = restore_rows(restore->ctl->pg, restore->plan, batch, has_secret ? &secret : NULL, &done,
                      &err);
    if (ok && done)
        status = CTL_OK;
    else if (try_anew(restore, ok ? NULL : &err) || batch->n > 1)
        status = CTL_FAILED;
    else
        say_failure(restore, pg_text(restore->plan, row, RESTORE_RESOURCE).s, ok ? NULL : &err);
out:
    arena_free(&arena);
    return status;
}

/* Adds rows to the batch, from *row on. */
static void fill_batch(const struct writing *writing, int *row, struct restore_batch *batch)
{
    const struct restore *restore = writing->restore;

    for (; *row < pg_rows(restore->plan); (*row)++) {
        bool is_alone = restore_step_sets_secret(restore, *row) || *row >= writing->alone_from;

        if (!restore_step_is_due(restore, *row))
            continue;
        if ((is_alone && batch->n > 0) || !restore_batch_add(batch, restore->plan, *row))
            return;
        if (is_alone) {
            (*row)++;
            return;
        }
    }
}

/* Nobody disabled must get a credential.  At the end, since a 'user disable' waits for this. */
static int hold_receivers(const struct writing *writing)
{
    struct restore *restore = writing->restore;
    char disabled[IDENT_SIZE] = "";
    struct error err;
    bool ok = true;

    for (int row = 0; ok && !disabled[0] && row < pg_rows(restore->plan);) {
        struct restore_batch batch = {.n = 0};

        fill_batch(writing, &row, &batch);
        ok = restore_hold_owners(restore->ctl->pg, restore->plan, &batch, disabled, &err);
    }
    if (ok && !disabled[0])
        return CTL_OK;
    if (!try_anew(restore, ok ? NULL : &err))
        say_failure(restore, ok ? disabled : "owners", ok ? NULL : &err);
    return CTL_FAILED;
}

/* Restores all rows of the plan in one transaction. */
static int write_once(struct writing *writing)
{
    struct restore *restore = writing->restore;
    struct error err;
    int status = CTL_OK;

    if (!restore_begin(restore->ctl->pg, &err))
        return ctl_fail_error(&err);
    writing->n_written = 0;
    for (int row = 0; status == CTL_OK && row < pg_rows(restore->plan);) {
        struct restore_batch batch = {.n = 0};

        fill_batch(writing, &row, &batch);
        if (batch.n == 0)
            break;
        status = write_batch(restore, &batch);
        if (status != CTL_OK && batch.n > 1)
            writing->alone_from = batch.rows[0];
        progress_show(&writing->progress, writing->n_written += batch.n);
    }
    status = status == CTL_OK ? hold_receivers(writing) : status;
    progress_erase(&writing->progress);
    if (status != CTL_OK)
        pg_rollback(restore->ctl->pg);
    else if (!pg_commit(restore->ctl->pg, &err))
        status = try_anew(restore, &err) ? CTL_FAILED : ctl_fail_error(&err);
    return status;
}

static int write_rows(struct restore *restore)
{
    struct writing writing = {.restore = restore, .alone_from = pg_rows(restore->plan)};
    int status;

    progress_start(&writing.progress, restore->ctl, "restored", restore->n_changes);
    status = write_once(&writing);
    if (status != CTL_OK && !restore->is_beaten && writing.alone_from < pg_rows(restore->plan))
        status = write_once(&writing);
    return status == CTL_OK ? ctl_supersede(restore->ctl) : status;
}

/* Does what the plan says, if it says something. */
static int carry_out_plan(struct restore *restore)
{
    int status;

    if (restore->n_changes == 0)
        return CTL_OK;
    status = restore_warn(restore);
    if (status != CTL_OK || restore->ctl->options.dry_run)
        return status;
    status = ctl_confirm(restore->ctl, "Restore these?");
    return status == CTL_OK ? write_rows(restore) : status;
}

/* Makes the plan that the operator wants. */
static int make_wanted_plan(struct restore *restore)
{
    int status = make_plan(restore);

    if (status == CTL_OK && restore->secret.s)
        status = check_secret_use(restore);
    count_steps(restore);
    return status;
}

/* Prints the plan, asks, and does it.  If nobody is asked, prints the last of the plans, after it
 * was done: no lock is held while somebody reads. */
static int carry_out(struct restore *restore)
{
    struct ctl *ctl = restore->ctl;
    struct listing_out out;
    char number[LISTING_NUMBER_SIZE];
    int64_t n_restored = 0;
    int64_t n_rows;
    int status = CTL_OK;

    listing_open(&out, ctl, &listing);
    if (!ctl->options.yes)
        print_steps(restore, &out);
    if (restore->n_changes > 0) {
        status = ctl_flush(ctl);
        if (status == CTL_OK)
            status = carry_out_plan(restore);
        while (restore->is_beaten) {
            restore->is_beaten = false;
            status = make_wanted_plan(restore);
            if (status == CTL_OK)
                status = carry_out_plan(restore);
        }
        n_restored = status == CTL_OK && !ctl->options.dry_run ? restore->n_changes : 0;
    }
    if (ctl->options.yes)
        print_steps(restore, &out);
    listing_close(
        &out,
        &(struct listing_fact){"restored", LISTING_NUMBER, listing_number(number, n_restored)}, 1);
    if (status != CTL_OK)
        return status;
    n_rows = restore->n_changes + restore->n_skipped;
    if (restore->n_disabled > 0)
        status = ctl_fail("%lld of the restored Users and Bots %s disabled; to enable them, add "
                          "--enable",
                          (long long)restore->n_disabled,
                          ctl->options.dry_run ? "would stay" : "stayed");
    if (restore->n_skipped > 0)
        status = ctl_fail("%lld of %lld %s left as they are", (long long)restore->n_skipped,
                          (long long)n_rows, ctl->options.dry_run ? "would be" : "were");
    if (n_rows == 0)
        ctl_note("nothing to restore: %s", restore_order_met(restore->plan));
    return status;
}

int ctl_restore(struct ctl *ctl)
{
    struct restore restore = {.ctl = ctl};
    int status = restore_order_read(ctl, &restore.providers, &restore.order);

    if (status == CTL_OK)
        status = ctl_refuse_by_account(ctl, "restore",
                                       "'aditctl history' shows what a row was before each change");
    if (status == CTL_OK && ctl->options.client_secret_file)
        status = load_secret(&restore);
    if (status == CTL_OK)
        status = make_wanted_plan(&restore);
    if (status == CTL_OK)
        status = carry_out(&restore);
    forget_plan(&restore);
    buf_free(&restore.warnings);
    arena_free(&restore.arena);
    return status;
}
