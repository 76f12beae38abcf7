/* SPDX-License-Identifier: MIT */
/* aditctl diff and aditctl apply: what a document changes, and changing it. */
#include <string.h>

#include "ctl/listing.h"
#include "ctl/plain.h"
#include "ctl/plan.h"

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

/* As events of the record of changes name them. */
static const char *resource_of(const struct document_entry *entry)
{
    switch (entry->kind) {
    case DOCUMENT_ACCOUNT:
        return "account";
    case DOCUMENT_PRINCIPAL:
        return "principal";
    case DOCUMENT_CREDENTIAL:
        return "ssh_credential";
    case DOCUMENT_OAUTH:
        return "oauth_module";
    default:
        return "mutual_tls_module";
    }
}

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
    case DOCUMENT_OAUTH:
        buf_printf(out, "%s/%s", entry->of.oauth.edge_id.s, entry->of.oauth.id.s);
        break;
    case DOCUMENT_MUTUAL_TLS:
        buf_puts(out, entry->of.mutual_tls.id.s);
        break;
    case DOCUMENT_N_KINDS:
        break;
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
        [COLUMN_RESOURCE] = text_of(resource_of(entry)),
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

/* Says what a failure to write means, if the operator can do something about it. */
static int fail_write(const struct error *err)
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
        if (strcmp(err->sqlstate, meanings[i][0]) == 0)
            return ctl_fail("nothing was changed: %s; look at 'aditctl diff', then run this again",
                            meanings[i][1]);
    }
    ctl_fail_error(err);
    return err->code == ERR_OUTCOME_UNKNOWN
               ? ctl_fail("'aditctl diff' tells whether the changes were made")
               : ctl_fail("nothing was changed");
}

/* Lists on standard error what is deleted: standard output is for what was changed. */
static void print_deletions(const struct plan *plan)
{
    size_t n = 0;

    for (size_t i = 0; i < plan->n_changes; i++) {
        const struct document_entry *entry = &plan->changes[i]->write.row.entry;
        struct text name = name_of(entry);
        struct buf line = {0};

        if (plan->changes[i]->verb != DOCUMENT_DELETE || ++n > MAX_DELETIONS_SHOWN)
            continue;
        write_id(&line, entry);
        buf_puts(&line, name.s ? "  " : "");
        if (name.s)
            plain_put(&line, name);
        fprintf(stderr, "delete %s %s\n", resource_of(entry), buf_text(&line).s);
        buf_free(&line);
    }
    if (n > MAX_DELETIONS_SHOWN)
        fprintf(stderr, "and %zu more; 'aditctl diff --prune' lists them\n",
                n - MAX_DELETIONS_SHOWN);
}

/* Asks on the terminal before something is deleted.  Returns CTL_OK, or the exit status after a
 * message. */
static int confirm(const struct plan *plan)
{
    size_t n = plan_count(plan, DOCUMENT_DELETE);
    char question[64];

    if (n == 0 || plan->ctl->options.yes)
        return CTL_OK;
    print_deletions(plan);
    snprintf(question, sizeof question, "Delete %zu resource%s?", n, ctl_plural((int64_t)n));
    return ctl_confirm(plan->ctl, question);
}

static int write_plan(struct plan *plan)
{
    struct error err;
    int status = confirm(plan);

    if (status != CTL_OK)
        return status;
    if (plan->n_changes > 0 && (!plan_write(plan, &err) || !pg_commit(plan->ctl->pg, &err)))
        return fail_write(&err);
    print_changes(plan, true);
    return CTL_OK;
}

/* Begins the transaction.  A writer is alone.  Returns CTL_OK, or CTL_FAILED after a message. */
static int begin_document(struct ctl *ctl, bool writes)
{
    bool is_alone = true;
    struct error err;

    if (!document_begin(ctl->pg, writes, &err) ||
        (writes && !document_lock(ctl->pg, &is_alone, &err)))
        return ctl_fail_error(&err);
    return is_alone ? CTL_OK
                    : ctl_fail("another 'aditctl apply' is running; nothing was changed. Wait for "
                               "its end, then run this again");
}

/* Reads the document and makes the plan.  Then writes it, or prints it.  Sets *n to the number of
 * changes. */
static int run_document(struct ctl *ctl, bool writes, size_t *n)
{
    struct document document;
    struct plan plan = {.ctl = ctl,
                        .document = &document,
                        .prunes = ctl->options.prune,
                        .enables = ctl->options.enables};
    int status = CTL_FAILED;

    if (document_load(&document, ctl, ctl->options.argument))
        status = begin_document(ctl, writes);
    if (status == CTL_OK && !plan_make(&plan))
        status = CTL_FAILED;
    if (status == CTL_OK && writes)
        status = write_plan(&plan);
    else if (status == CTL_OK)
        print_changes(&plan, false);
    *n = plan.n_changes;
    pg_rollback(ctl->pg);
    plan_free(&plan);
    document_free(&document);
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
