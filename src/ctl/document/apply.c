/* SPDX-License-Identifier: MIT */
/* aditctl diff and aditctl apply: what a document changes, and changing it. */
#include <string.h>

#include "base/clock.h"
#include "ctl/accounts.h"
#include "ctl/document/plan_lock.h"
#include "ctl/listing.h"
#include "ctl/question.h"
#include "ctl/retry.h"
#include "ctl/terminal.h"

/* Listed before the question; diff lists all. */
#define MAX_DELETIONS_SHOWN 20

/* ---- the list of changes ---- */

enum column {
    COLUMN_CHANGE,
    COLUMN_RESOURCE,
    COLUMN_ID,
    COLUMN_NAME,
    COLUMN_ACCOUNT,
    COLUMN_VALUES,
    COLUMN_MEMBERS,
    COLUMN_BEFORE,
    COLUMN_AFTER,
    COLUMN_SECRET_FROM
};

static const struct listing_column columns[] = {
    [COLUMN_CHANGE] = {"CHANGE", "change", LISTING_TEXT, 6},
    [COLUMN_RESOURCE] = {"RESOURCE", "resource", LISTING_TEXT, 17},
    [COLUMN_ID] = {"ID", "id", LISTING_TEXT, 33},
    [COLUMN_NAME] = {"NAME", "name", LISTING_TEXT, 20},
    [COLUMN_ACCOUNT] = {"ACCOUNT", "account_id", LISTING_TEXT, 30},
    [COLUMN_VALUES] = {"VALUES", NULL, LISTING_TEXT, 0},
    [COLUMN_MEMBERS] = {NULL, "members", LISTING_LIST, 0},
    [COLUMN_BEFORE] = {NULL, "before", LISTING_JSON, 0},
    [COLUMN_AFTER] = {NULL, "after", LISTING_JSON, 0},
    [COLUMN_SECRET_FROM] = {NULL, "client_secret_from", LISTING_JSON, 0},
};

static const struct listing changes_listing = {"changes", columns,
                                               sizeof columns / sizeof columns[0]};

static const char *const verbs[] = {
    [DOCUMENT_CREATE] = "create", [DOCUMENT_UPDATE] = "update", [DOCUMENT_DELETE] = "delete"};

/* Writes the id of a resource, or of a module the path of its route. */
static void write_id(struct buf *out, const struct document_entry *entry)
{
    switch (entry->kind) {
    case DOCUMENT_ACCOUNT:
        buf_puts(out, entry->of.account_entry.id.s);
        break;
    case DOCUMENT_PRINCIPAL:
        buf_puts(out, entry->of.principal.id.s);
        break;
    case DOCUMENT_CREDENTIAL:
        if (entry->of.credential.input.id.s)
            buf_puts(out, entry->of.credential.input.id.s);
        break;
    default:
        buf_puts(out, entry->of.module.place.edge_id.s);
        if (document_of_route(entry->kind))
            buf_printf(out, "/%s", entry->of.module.place.route_id.s);
    }
}

/* What people call a resource; absent: modules have no name. */
static struct text name_of(const struct document_entry *entry)
{
    struct text name = {0};

    if (entry->kind == DOCUMENT_ACCOUNT)
        name = entry->of.account_entry.name;
    else if (entry->kind == DOCUMENT_PRINCIPAL)
        name = entry->of.principal.name;
    else if (entry->kind == DOCUMENT_CREDENTIAL)
        name = entry->of.credential.input.description;
    return text_present(name) ? name : (struct text){0};
}

static void add_row(struct listing_out *list, const struct plan_change *change)
{
    const struct document_entry *entry = &change->write.row.entry;
    struct text cells[sizeof columns / sizeof columns[0]] = {
        [COLUMN_CHANGE] = text_of(verbs[change->verb]),
        [COLUMN_RESOURCE] = text_of(document_table_name(entry->kind)),
        [COLUMN_NAME] = name_of(entry),
        [COLUMN_ACCOUNT] = change->write.row.account_id,
        [COLUMN_VALUES] = change->values,
        [COLUMN_MEMBERS] = change->members,
        [COLUMN_BEFORE] = change->before,
        [COLUMN_AFTER] = change->after,
        [COLUMN_SECRET_FROM] = change->secret_from,
    };
    struct buf id = {0};

    write_id(&id, entry);
    if (id.len > 0)
        cells[COLUMN_ID] = buf_text(&id);
    listing_add(list, cells);
    buf_free(&id);
}

/* Prints the changes, or nothing if there are none; with --json always a list, and whether they are
 * applied. */
static void print_changes(const struct plan *plan, bool is_applied)
{
    struct listing_fact applied = {"applied", LISTING_BOOL, text_of(is_applied ? "yes" : "no")};
    struct listing_out list;

    if (plan->n_changes == 0 && !plan->ctl->options.json)
        return;
    listing_open(&list, plan->ctl, &changes_listing);
    for (size_t i = 0; i < plan->n_changes; i++)
        add_row(&list, plan->changes[i]);
    listing_close(&list, &applied, 1);
}

/* ---- applying ---- */

/* A command: the document, and what its tries have in common. */
struct run {
    struct ctl *ctl;
    struct document document;
    struct buf warnings;     /* that were printed */
    struct buf confirmed;    /* the deletions that the operator agreed to, a line each */
    struct plan_locks locks; /* of the earlier tries */
    int64_t began_ms;
    bool writes;
    bool has_let_go; /* the last try gave its locks up to ask something */
    bool has_second; /* the operator agreed to a second account */
    bool is_beaten;  /* the last try failed because another session was quicker */
    int n_tries;     /* that failed so */
    size_t n_changes;
};

/* Returns what a transaction of the next try is: from the second one on, others must wait. */
static enum document_mode mode_of(const struct run *run)
{
    if (!run->writes)
        return DOCUMENT_READ;
    return run->n_tries > 0 ? DOCUMENT_WRITE_LOCKED : DOCUMENT_WRITE;
}

/* Says that others were quicker, and who. */
static int fail_beaten(const struct run *run, const char *meaning)
{
    struct buf who = {0};

    pg_rollback(run->ctl->pg);
    plan_locks_blame(&run->locks, run->ctl->pg, clock_steady_ms() - run->began_ms, &who);
    ctl_fail("nothing was changed: %s, in each of %d tries; %s%slook at 'aditctl diff', then run "
             "this again",
             meaning, run->n_tries, buf_text(&who).s, who.len > 0 ? "; " : "");
    buf_free(&who);
    return CTL_FAILED;
}

/* Says why nothing was changed. */
static int fail_write(const struct run *run, const struct error *err)
{
    static const char *const meanings[][2] = {
        {"40001", "another session changed the same resources at the same time"},
        {"40P01", "another session changed the same resources at the same time"},
        {"23505", "another session created the same resource at the same time"},
        {"23503", "another session created or deleted something at the same time that the changes "
                  "refer to"},
        {"55P03", "another session held a lock for too long"},
    };

    if (err->code == ERR_PUBLIC_KEY_EXISTS)
        return ctl_fail(
            "nothing was changed: the deployment permits a public key only once in an "
            "account (sql/optional/unique_public_keys.sql), and with the file one would be there "
            "twice");
    if (err->code == ERR_KEY_FULL)
        return ctl_fail("nothing was changed: with the file, more than 1000 credentials of an "
                        "account would have the same public key");
    for (size_t i = 0; i < sizeof meanings / sizeof meanings[0]; i++) {
        if (strcmp(err->sqlstate, meanings[i][0]) != 0)
            continue;
        return ctl_is_beaten(err)
                   ? fail_beaten(run, meanings[i][1])
                   : ctl_fail("nothing was changed: %s; look at 'aditctl diff', then run this "
                              "again",
                              meanings[i][1]);
    }
    ctl_fail_error(err);
    return err->code == ERR_OUTCOME_UNKNOWN
               ? ctl_fail("'aditctl diff' tells whether the changes were made")
               : ctl_fail("nothing was changed");
}

/* Writes a line for each resource that is deleted; to *agreed without credentials that go with
 * their owner, who may make more of them until then.  Returns how many there are. */
static size_t list_deletions(const struct plan *plan, struct buf *lines, struct buf *agreed)
{
    size_t n = 0;

    for (size_t i = 0; i < plan->n_changes; i++) {
        const struct document_entry *entry = &plan->changes[i]->write.row.entry;
        struct text name = name_of(entry);
        size_t start = lines->len;

        if (plan->changes[i]->verb != DOCUMENT_DELETE)
            continue;
        n++;
        buf_printf(lines, "delete %s ", document_table_name(entry->kind));
        write_id(lines, entry);
        buf_puts(lines, name.s ? "  " : "");
        if (name.s)
            terminal_put(lines, name);
        buf_puts(lines, "\n");
        if (!lines->failed && !plan->changes[i]->goes_with_owner)
            buf_add(agreed, lines->data + start, lines->len - start);
    }
    return n;
}

/* Shows on standard error the first lines of n: standard output is for what was changed. */
static void show_deletions(struct text lines, size_t n)
{
    size_t len = 0;

    for (size_t shown = 0; shown < n && shown < MAX_DELETIONS_SHOWN; shown++)
        len += strcspn(lines.s + len, "\n") + 1;
    fwrite(lines.s, 1, len, stderr);
    if (n > MAX_DELETIONS_SHOWN)
        fprintf(stderr, "and %zu more; 'aditctl diff --prune' lists them\n",
                n - MAX_DELETIONS_SHOWN);
}

/* Before a question: nobody waits for its answer. */
static void let_go(struct run *run)
{
    if (mode_of(run) != DOCUMENT_WRITE_LOCKED)
        return;
    pg_rollback(run->ctl->pg);
    run->has_let_go = true;
}

/* Asks on the terminal before something is deleted, and asks again if a later try would delete
 * something else.  Returns CTL_OK, or the exit status after a message. */
static int confirm_deletions(struct run *run, const struct plan *plan)
{
    struct buf lines = {0};
    struct buf agreed = {0};
    char question[64];
    size_t n = plan->ctl->options.yes ? 0 : list_deletions(plan, &lines, &agreed);
    bool is_agreed = n == 0 || text_eq(buf_text(&agreed), buf_text(&run->confirmed));
    int status = CTL_OK;

    if (lines.failed || agreed.failed) {
        status = ctl_fail("out of memory");
    } else if (!is_agreed) {
        let_go(run);
        if (run->confirmed.len > 0)
            fputs("Another session changed something at the same time.  Now this would be "
                  "deleted:\n",
                  stderr);
        show_deletions(buf_text(&lines), n);
        snprintf(question, sizeof question, "Delete %zu resource%s?", n, ctl_plural((int64_t)n));
        status = ctl_confirm(plan->ctl, question);
    }
    buf_free(&lines);
    buf_free(&run->confirmed);
    run->confirmed = agreed;
    return status;
}

/* Asks what has to be asked.  Returns CTL_OK, or the exit status after a message. */
static int confirm(struct run *run, const struct plan *plan)
{
    int status = CTL_OK;

    if (plan->makes_second && !run->has_second) {
        let_go(run);
        status = accounts_confirm_second(run->ctl);
    }
    run->has_second = run->has_second || plan->makes_second;
    return status == CTL_OK ? confirm_deletions(run, plan) : status;
}

/* Prints the warnings, unless they are those of the last plan. */
static void show_warnings(struct run *run, struct plan *plan)
{
    struct text warnings = buf_text(&plan->warnings);

    if (text_eq(warnings, buf_text(&run->warnings)))
        return;
    fwrite(warnings.s, 1, warnings.len, stderr);
    buf_free(&run->warnings);
    run->warnings = plan->warnings;
    plan->warnings = (struct buf){0};
}

/* Ends a try that failed: a later one locks what this one would have changed. */
static int end_try(struct run *run, const struct plan *plan, const struct error *err)
{
    if (ctl_is_beaten(err) && !plan_locks_add(&run->locks, plan))
        return CTL_FAILED;
    /* The pause must not keep others waiting. */
    pg_rollback(run->ctl->pg);
    /* Nobody was quicker than a question. */
    run->is_beaten = run->has_let_go || ctl_try_again(err, &run->n_tries);
    return run->is_beaten ? CTL_FAILED : fail_write(run, err);
}

static int write_plan(struct run *run, struct plan *plan)
{
    bool is_whole = true;
    struct error err;
    int status;

    if (mode_of(run) == DOCUMENT_WRITE_LOCKED)
        plan_locks_heed(&run->locks, plan, &is_whole);
    plan_warn_admissions(plan);
    show_warnings(run, plan);
    status = is_whole ? confirm(run, plan) : CTL_OK;
    if (status != CTL_OK)
        return status;
    if (!is_whole || run->has_let_go)
        ctl_set_beaten(&err);
    else if (plan_write(plan, &err) && pg_commit(plan->ctl->pg, &err))
        err.code = ERR_NONE;
    if (err.code)
        return end_try(run, plan, &err);
    print_changes(plan, true);
    return ctl_supersede(run->ctl);
}

/* Begins the transaction.  A writer is alone.  Returns CTL_OK; or CTL_FAILED after a message, or if
 * the lock of a row led to a deadlock. */
static int begin_document(struct run *run, const struct plan *plan)
{
    struct pg *pg = run->ctl->pg;
    bool is_alone = true;
    struct error err;

    if (!document_begin(pg, mode_of(run), &err) ||
        (run->writes && !document_lock(pg, &is_alone, &err)))
        return ctl_fail_error(&err);
    if (!is_alone)
        return ctl_fail("another 'aditctl apply' is running; nothing was changed. Wait for its "
                        "end, then run this again");
    return plan_locks_take(&run->locks, pg, &err) ? CTL_OK : end_try(run, plan, &err);
}

/* Makes the plan of the document.  Then writes it, or prints it. */
static int try_document(struct run *run)
{
    struct plan plan = {.ctl = run->ctl,
                        .document = &run->document,
                        .prunes = run->ctl->options.prune,
                        .enables = run->ctl->options.enables};
    int status;

    run->is_beaten = run->has_let_go = false;
    status = begin_document(run, &plan);
    if (status == CTL_OK && !plan_make(&plan)) {
        show_warnings(run, &plan);
        status = CTL_FAILED;
    } else if (status == CTL_OK && run->writes) {
        status = write_plan(run, &plan);
    } else if (status == CTL_OK) {
        plan_warn_admissions(&plan);
        show_warnings(run, &plan);
        print_changes(&plan, false);
    }
    run->n_changes = plan.n_changes;
    pg_rollback(run->ctl->pg);
    plan_free(&plan);
    return status;
}

/* Reads the document, and tries until no other session is in the way.  Sets *n to the number of
 * changes. */
static int run_document(struct ctl *ctl, bool writes, size_t *n)
{
    struct run run = {.ctl = ctl, .writes = writes, .began_ms = clock_steady_ms()};
    int status = CTL_FAILED;

    if (document_load(&run.document, ctl, ctl->options.argument))
        status = try_document(&run);
    while (run.is_beaten && document_forget(&run.document))
        status = try_document(&run);
    *n = run.n_changes;
    buf_free(&run.warnings);
    buf_free(&run.confirmed);
    plan_locks_free(&run.locks);
    document_free(&run.document);
    return status;
}

int ctl_diff(struct ctl *ctl)
{
    size_t n;
    int status = run_document(ctl, false, &n);

    if (status == CTL_FAILED)
        return CTL_CANNOT_TELL;
    return status == CTL_OK && n > 0 ? CTL_NO : status;
}

int ctl_apply(struct ctl *ctl)
{
    size_t n;

    return run_document(ctl, !ctl->options.dry_run, &n);
}
