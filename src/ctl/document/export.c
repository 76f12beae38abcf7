/* SPDX-License-Identifier: MIT */
/* aditctl export: prints the document of everything, or of an account or an owner. */
#include "base/ident.h"
#include "ctl/progress.h"
#include "json/indent.h"
#include "json/write.h"
#include "store/document.h"

/* Levels of indentation: the document, the list of accounts, an account, a list of it. */
enum { IN_DOCUMENT = 1, IN_ACCOUNTS, IN_ACCOUNT, IN_LIST };

/* The output is written whenever this much has come together. */
#define WRITE_SIZE 65536

struct export
{
    struct ctl *ctl;
    struct keyring *keyring; /* NULL: not yet read, or there is none */
    struct arena arena;      /* of one entry */
    struct buf entry;        /* one entry, without white space */
    struct buf out;
    struct document_scan scans[DOCUMENT_N_KINDS];
    struct document_row rows[DOCUMENT_N_KINDS]; /* the next row of each */
    struct progress progress;
    int64_t n_entries; /* that were written */
    size_t n_bytes;    /* that were written */
};

/* Writes what has come together.  Returns false after a message. */
static bool flush(struct export *export)
{
    struct buf *out = &export->out;

    if (out->failed) {
        progress_erase(&export->progress);
        ctl_fail("out of memory");
        return false;
    }
    export->n_bytes += out->len;
    if (export->n_bytes > DOCUMENT_BYTES_MAX) {
        progress_erase(&export->progress);
        ctl_fail("the document has more than %zu MiB, which 'aditctl diff' and 'aditctl apply' do "
                 "not read; export parts of it, with --account or --owner",
                 DOCUMENT_BYTES_MAX / 1024 / 1024);
        return false;
    }
    if (out->len > 0 && fwrite(out->data, 1, out->len, stdout) != out->len)
        return false; /* main() says it */
    buf_clear(out);
    return true;
}

static bool fail_export(struct export *export, const struct error *err)
{
    progress_erase(&export->progress);
    ctl_fail_error(err);
    return false;
}

/* ---- client secrets ---- */

static bool load_keyring(struct export *export)
{
    char reason[CONF_REASON_SIZE];

    if (!export->keyring)
        export->keyring = keyring_load(export->ctl->conf.key_file, reason, sizeof reason);
    if (!export->keyring) {
        progress_erase(&export->progress);
        ctl_fail("the digests of client secrets need the key file: %s", reason);
    }
    return export->keyring != NULL;
}

/* Fills in the digest of the row's client secret, in the arena. */
static bool add_digest(struct export *export, struct document_row *row)
{
    struct document_module *module = &row->entry.of.module;
    const struct module_place *place = &module->place;
    char digest[KEYRING_DIGEST_SIZE];
    struct text secret;
    struct error err;

    if (!module->value.oauth_module.config.client_secret.sealed.s)
        return true;
    if (!load_keyring(export))
        return false;
    if (!document_row_secret(row, export->keyring, &export->arena, &secret, &err) ||
        !document_row_digest(row, export->keyring, text_of(NULL), secret, digest, &err)) {
        progress_erase(&export->progress);
        ctl_fail("account %s, edge %s, route %s: %s", row->account_id.s, place->edge_id.s,
                 place->route_id.s, ctl_reason(&err));
        return false;
    }
    module->secret.digest = text_of(arena_copy(&export->arena, digest, strlen(digest)));
    return module->secret.digest.s ||
           fail_export(export, &(struct error){.code = ERR_OUT_OF_MEMORY});
}

/* ---- entries ---- */

static bool write_entry(struct export *export, struct document_row *row)
{
    struct oauth_names names = {.cookie_prefix = NULL};
    struct buf *entry = &export->entry;

    buf_clear(entry);
    switch (row->entry.kind) {
    case DOCUMENT_PRINCIPAL:
        document_write_principal(entry, &row->entry.of.principal);
        break;
    case DOCUMENT_CREDENTIAL:
        document_write_credential(entry, &row->entry.of.credential);
        break;
    default:
        memcpy(names.providers, export->ctl->conf.provider_names, sizeof names.providers);
        if (document_has_provider(row->entry.kind) && !add_digest(export, row))
            return false;
        document_write_module(entry, document_module_kind(row->entry.kind), &row->entry.of.module,
                              &names);
    }
    json_indent(&export->out, buf_text(entry), IN_LIST);
    export->n_entries++;
    export->out.failed = export->out.failed || entry->failed;
    arena_reset(&export->arena);
    return export->out.len < WRITE_SIZE || flush(export);
}

static bool advance(struct export *export, enum document_kind kind)
{
    struct error err;

    progress_show(&export->progress, export->n_entries);
    return document_scan_next(&export->scans[kind], &export->rows[kind], &err) ||
           fail_export(export, &err);
}

/* Writes the member of an account that is the list of a kind. */
static bool write_list(struct export *export, enum document_kind kind, struct text account_id)
{
    struct document_row *row = &export->rows[kind];
    struct buf *out = &export->out;
    bool is_any = false;

    buf_puts(out, ",");
    json_new_line(out, IN_ACCOUNT);
    buf_printf(out, "\"%s\": [", document_list_name(kind));
    /* The text of the first row is gone once the next one is read: the account's id stays. */
    while (text_eq(row->account_id, account_id)) {
        buf_puts(out, is_any ? "," : "");
        json_new_line(out, IN_LIST);
        if (!write_entry(export, row) || !advance(export, kind))
            return false;
        is_any = true;
    }
    if (is_any)
        json_new_line(out, IN_ACCOUNT);
    buf_puts(out, "]");
    return true;
}

/* Writes an account: its own members, and its lists in the place of the closing bracket. */
static bool write_account(struct export *export)
{
    struct document_row *row = &export->rows[DOCUMENT_ACCOUNT];
    struct document_account *account = &row->entry.of.account_entry;
    static const char closing[] = "\n    }";

    account->owners = export->scans[DOCUMENT_CREDENTIAL].owners;
    buf_clear(&export->entry);
    document_write_account(&export->entry, account);
    json_indent(&export->out, buf_text(&export->entry), IN_ACCOUNTS);
    if (export->out.failed || export->entry.failed)
        return fail_export(export, &(struct error){.code = ERR_OUT_OF_MEMORY});
    buf_cut(&export->out, export->out.len - strlen(closing));
    for (enum document_kind kind = DOCUMENT_PRINCIPAL; kind < DOCUMENT_N_KINDS; kind++) {
        bool has_owner = kind == DOCUMENT_PRINCIPAL || kind == DOCUMENT_CREDENTIAL;

        if ((has_owner || !account->owners.given) && !write_list(export, kind, account->id))
            return false;
    }
    buf_puts(&export->out, closing);
    return advance(export, DOCUMENT_ACCOUNT);
}

/* ---- the document ---- */

static bool write_document(struct export *export)
{
    bool is_any = false;

    for (enum document_kind kind = DOCUMENT_ACCOUNT; kind < DOCUMENT_N_KINDS; kind++) {
        if (!advance(export, kind))
            return false;
    }
    buf_printf(&export->out, "{\n  \"version\": %d,\n  \"accounts\": [", DOCUMENT_VERSION);
    while (export->rows[DOCUMENT_ACCOUNT].account_id.s) {
        buf_puts(&export->out, is_any ? "," : "");
        json_new_line(&export->out, IN_ACCOUNTS);
        if (!write_account(export))
            return false;
        is_any = true;
    }
    buf_puts(&export->out, is_any ? "\n  ]\n}\n" : "]\n}\n");
    return flush(export);
}

/* The account of --owner, or --account.  Returns CTL_OK, or the exit status after a message. */
static int choose_scope(struct ctl *ctl, struct text *owner, char account[IDENT_SIZE])
{
    struct document_keys keys = {.ids = {.items = owner, .n = 1, .given = true}};
    const char *wanted = ctl->options.account;
    enum document_kind kind = owner->s ? DOCUMENT_PRINCIPAL : DOCUMENT_ACCOUNT;
    struct text account_id = text_of(wanted);
    struct arena arena = {0};
    struct pg_result *result;
    struct error err;
    int status = CTL_OK;

    account[0] = '\0';
    if (!owner->s && !wanted)
        return CTL_OK;
    if (!owner->s)
        keys.ids.items = &account_id;
    if (!document_find(ctl->pg, kind, (struct text){0}, &keys, &arena, &result, &err)) {
        arena_free(&arena);
        return ctl_fail_error(&err);
    }
    if (pg_rows(result) == 1)
        snprintf(account, IDENT_SIZE, "%s", pg_text(result, 0, 0).s);
    if (!account[0] || (wanted && strcmp(account, wanted) != 0))
        status = owner->s
                     ? ctl_fail("there is no User or Bot with the id '%s'%s%s; 'aditctl user "
                                "list' and 'aditctl bot list' show the ids",
                                owner->s, wanted ? " in the account " : "", wanted ? wanted : "")
                     : ctl_fail("there is no account with the id '%s'; 'aditctl account list' "
                                "shows the ids",
                                wanted);
    pg_result_free(result);
    arena_free(&arena);
    return status;
}

int ctl_export(struct ctl *ctl)
{
    struct export export = {.ctl = ctl};
    struct text owner = text_of(ctl->options.owner);
    char account[IDENT_SIZE];
    struct error err;
    int status;

    if (!document_begin(ctl->pg, DOCUMENT_READ, &err))
        return ctl_fail_error(&err);
    status = choose_scope(ctl, &owner, account);
    for (enum document_kind kind = DOCUMENT_ACCOUNT; kind < DOCUMENT_N_KINDS; kind++)
        export.scans[kind] = (struct document_scan){
            .pg = ctl->pg,
            .kind = kind,
            .account_id = text_of(account[0] ? account : NULL),
            .owners = {.items = &owner, .n = owner.s != NULL, .given = owner.s != NULL},
        };
    progress_start_output(&export.progress, ctl, "entries written");
    if (status == CTL_OK && !write_document(&export))
        status = CTL_FAILED;
    progress_erase(&export.progress);
    pg_rollback(ctl->pg);
    for (enum document_kind kind = DOCUMENT_ACCOUNT; kind < DOCUMENT_N_KINDS; kind++)
        document_scan_free(&export.scans[kind]);
    keyring_free(export.keyring);
    arena_free(&export.arena);
    buf_free(&export.entry);
    buf_free(&export.out);
    return status;
}
