/* SPDX-License-Identifier: MIT */
/* The statements that write what documents want.  The rows of each come as one JSON list. */
#include "store/document_write.h"

#include "base/ident.h"
#include "json/write.h"
#include "store/key_limits.h"
#include "store/sql.h"

/* Of pg_try_advisory_xact_lock(): another number than that of migrations (store/schema.c). */
#define DOCUMENT_LOCK "1633970549"

/* clang-format off */

static const struct pg_statement lock_statement = {
    .name = "document_lock",
    .types = PG_BOOL,
    .sql = "SELECT pg_catalog.pg_try_advisory_xact_lock(" DOCUMENT_LOCK ")",
};

/* $1 rows.
 * A foreign key's check passes if a row that it refers to has changed since the snapshot; this does
 * not, or shows the change. */
static const struct pg_statement hold_owners_statement = {
    .name = "document_hold_owners",
    .types = PG_TEXT PG_BOOL,
    .sql =
        "SELECT p.id, " SQL_MAY_OWN("p")
        " FROM adit.principal AS p"
        " WHERE EXISTS (SELECT"
          " FROM jsonb_to_recordset($1::text::jsonb)"
            " AS r (account_id text COLLATE \"C\", owner_id text COLLATE \"C\")"
          " WHERE r.account_id = p.account_id"
            " AND r.owner_id = p.id)"
        " FOR SHARE OF p",
};

/* The trigger supersede() does the same for each row that it sees. */
const struct pg_statement document_supersede_statement = {
    .name = "document_supersede",
    .types = PG_TEXT,
    .writes = true,
    .sql =
        "UPDATE adit.ssh_credential AS c"
        " SET standing = 'superseded'"
        " WHERE c.standing = 'own'"
          " AND EXISTS (SELECT"
            " FROM adit.ssh_credential AS other"
            " WHERE other.fingerprint = c.fingerprint"
              " AND other.account_id = c.account_id"
              " AND other.owner_id <> c.owner_id"
              " AND other.standing = 'given')"
        " RETURNING c.id",
};

/* $1 table, $2 rows, as put_change() writes them. */
static const struct pg_statement put_statement = {
    .name = "document_put",
    .types = PG_BIGINT,
    .writes = true,
    KEY_LIMITS,
    .sql = "SELECT adit.put_rows($1::text, $2::text::jsonb)",
};

/* $1 the principals, as put_change() writes them.  Foreign keys are checked at the end of the
 * statement. */
static const struct pg_statement delete_principals_statement = {
    .name = "document_delete_principals",
    .types = PG_BIGINT,
    .writes = true,
    .sql =
        "WITH r AS MATERIALIZED ("
            "SELECT p.*"
            " FROM jsonb_to_recordset($1::text::jsonb) AS r (present jsonb)"
            " CROSS JOIN LATERAL jsonb_to_record(r.present)"
              " AS p (account_id text COLLATE \"C\", id text COLLATE \"C\")"
        "), k AS ("
            "DELETE FROM adit.api_key AS k"
            " USING r"
            " WHERE k.account_id = r.account_id AND k.principal_id = r.id"
        "), i AS ("
            "DELETE FROM adit.idempotency_key AS i"
            " USING r"
            " WHERE i.account_id = r.account_id AND i.principal_id = r.id"
        "), w AS ("
            "DELETE FROM adit.principal AS p"
            " USING r"
            " WHERE p.account_id = r.account_id AND p.id = r.id"
            " RETURNING p.id"
        ") SELECT count(*) FROM w",
};

/* clang-format on */

bool document_lock(struct pg *pg, bool *is_alone, struct error *err)
{
    struct pg_params params = {.n = 0};
    struct pg_result *result;

    *is_alone = false;
    if (!pg_run(pg, &lock_statement, &params, &result, err))
        return false;
    *is_alone = pg_bool(result, 0, 0);
    pg_result_free(result);
    return true;
}

/* ---- rows as JSON ---- */

/* Writes the columns of the table's key. */
static void put_row_key(struct buf *out, const struct document_row *row)
{
    const struct document_entry *entry = &row->entry;

    switch (entry->kind) {
    case DOCUMENT_ACCOUNT:
        json_put_member(out, "id", row->account_id);
        return;
    case DOCUMENT_PRINCIPAL:
        json_put_member(out, "id", entry->of.principal.id);
        break;
    case DOCUMENT_CREDENTIAL:
        json_put_member(out, "id", entry->of.credential.input.id);
        break;
    default:
        json_put_member(out, "edge_id", entry->of.module.place.edge_id);
        if (document_of_route(entry->kind))
            json_put_member(out, "route_id", entry->of.module.place.route_id);
    }
    json_put_member(out, "account_id", row->account_id);
}

static void put_principal_columns(struct buf *out, const struct document_principal *principal)
{
    json_put_member(out, "kind",
                    text_of(ident_assigned(principal->id, IDENT_BOT) ? "bot" : "user"));
    if (principal->name.s)
        json_put_member(out, "name", principal->name);
    json_put_name(out, "is_admin");
    json_put_bool(out, principal->is_admin);
    if (principal->has_disabled)
        json_put_member(out, "disabled_at",
                        principal->is_disabled ? text_of("now") : (struct text){NULL, 0});
}

/* An update has the same key, as maybe another text, and was created when it was. */
static void put_credential_columns(struct buf *out, const struct document_credential *credential,
                                   bool is_update)
{
    const struct ssh_credential *input = &credential->input;

    document_put_credential(out, input);
    json_put_member(out, "standing", credential->standing);
    if (is_update)
        return;
    for (size_t i = 0; i < ssh_credential_n_members; i++) {
        const struct field *member = &ssh_credential_members[i];

        if (member->use == FIELD_USE_MADE)
            field_write(out, member, (const char *)input + member->offset);
    }
    if (credential->created_at.s)
        json_put_member(out, "created_at", credential->created_at);
}

/* As PostgreSQL reads a bytea. */
static void put_sealed(struct buf *out, const struct field_secret *secret)
{
    static const char digits[] = "0123456789abcdef";

    json_put_name(out, "client_secret_sealed");
    if (!secret->sealed.s) {
        json_put_null(out);
        return;
    }
    buf_puts(out, "\"\\\\x");
    for (size_t i = 0; i < secret->sealed.len; i++) {
        unsigned char byte = (unsigned char)secret->sealed.s[i];

        buf_add(out, (char[]){digits[byte >> 4], digits[byte & 15]}, 2);
    }
    buf_puts(out, "\"");
}

/* Those that the rows of members do not write. */
static void put_provider_columns(struct buf *out, const struct document_change *change)
{
    const struct oauth_module *module = &change->row.entry.of.module.value.oauth_module;

    json_put_name(out, "provider");
    if (module->provider)
        json_put_uint(out, (uint64_t)module->provider);
    else
        json_put_null(out);
    if (!change->keeps_secret) {
        json_put_member(out, "client_secret_key_id", module->config.client_secret.key_id);
        put_sealed(out, &module->config.client_secret);
    }
}

static void put_module_columns(struct buf *out, const struct document_change *change)
{
    const struct document_entry *entry = &change->row.entry;
    const struct resource_row *row = resource_row(document_module_kind(entry->kind));

    if (row->has_provider)
        put_provider_columns(out, change);
    fields_write(out, row->members, *row->n_members, &entry->of.module.value);
}

static void put_columns(struct buf *out, const struct document_change *change,
                        enum document_verb verb)
{
    const struct document_entry *entry = &change->row.entry;

    switch (entry->kind) {
    case DOCUMENT_ACCOUNT:
        if (entry->of.account_entry.name.s)
            json_put_member(out, "name", entry->of.account_entry.name);
        break;
    case DOCUMENT_PRINCIPAL:
        put_principal_columns(out, &entry->of.principal);
        break;
    case DOCUMENT_CREDENTIAL:
        put_credential_columns(out, &entry->of.credential, verb == DOCUMENT_UPDATE);
        break;
    default:
        put_module_columns(out, change);
    }
}

/* Writes a row for put_rows(). */
static void put_change(struct buf *out, const struct document_change *change,
                       enum document_verb verb)
{
    json_open(out, '{');
    if (verb != DOCUMENT_CREATE) {
        json_put_name(out, "present");
        json_open(out, '{');
        put_row_key(out, &change->row);
        json_close(out, '}');
    }
    if (verb != DOCUMENT_DELETE) {
        json_put_name(out, "wanted");
        json_open(out, '{');
        put_row_key(out, &change->row);
        put_columns(out, change, verb);
        json_close(out, '}');
    }
    json_close(out, '}');
}

bool document_write(struct pg *pg, enum document_kind kind, enum document_verb verb,
                    const struct document_change *const *changes, size_t n, struct error *err)
{
    bool deletes_people = kind == DOCUMENT_PRINCIPAL && verb == DOCUMENT_DELETE;
    struct pg_params params = {.n = 0};
    struct pg_result *result = NULL;
    struct buf rows = {0};
    bool ok;

    json_open(&rows, '[');
    for (size_t i = 0; i < n; i++)
        put_change(&rows, changes[i], verb);
    json_close(&rows, ']');
    if (!deletes_people)
        pg_add_text(&params, text_of(document_table_name(kind)));
    pg_add_text(&params, buf_text(&rows));
    ok = rows.failed ? error_set(err, ERR_OUT_OF_MEMORY)
                     : pg_run(pg, deletes_people ? &delete_principals_statement : &put_statement,
                              &params, &result, err);
    buf_free(&rows);
    ok = ok && (pg_int(result, 0, 0) == (int64_t)n ||
                error_cause(err, ERR_INTERNAL, "%lld of %zu rows of adit.%s were written",
                            (long long)pg_int(result, 0, 0), n, document_table_name(kind)));
    pg_result_free(result);
    return ok;
}

bool document_hold_owners(struct pg *pg, const struct document_change *const *changes, size_t n,
                          struct pg_result **result, struct error *err)
{
    struct pg_params params = {.n = 0};
    struct buf rows = {0};
    bool ok;

    json_open(&rows, '[');
    for (size_t i = 0; i < n; i++) {
        json_open(&rows, '{');
        json_put_member(&rows, "account_id", changes[i]->row.account_id);
        json_put_member(&rows, "owner_id", changes[i]->row.entry.of.credential.input.owner_id);
        json_close(&rows, '}');
    }
    json_close(&rows, ']');
    pg_add_text(&params, buf_text(&rows));
    ok = rows.failed ? error_set(err, ERR_OUT_OF_MEMORY)
                     : pg_run(pg, &hold_owners_statement, &params, result, err);
    buf_free(&rows);
    return ok;
}

bool document_supersede(struct pg *pg, struct error *err)
{
    const struct pg_params none = {.n = 0};
    struct pg_result *result;

    if (!document_begin(pg, DOCUMENT_WRITE_LOCKED, err))
        return false;
    if (!pg_run(pg, &document_supersede_statement, &none, &result, err)) {
        pg_rollback(pg);
        return false;
    }
    pg_result_free(result);
    return pg_commit(pg, err);
}
