/* SPDX-License-Identifier: MIT */
/* The statements that write what documents want.  The rows of each come as one JSON list. */
#include "store/document_write.h"

#include <stdio.h>

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
    /* Citus locks no rows of several nodes. */
    .distributed_sql =
        "SELECT DISTINCT p.id, " SQL_MAY_OWN("p")
        " FROM adit.principal AS p"
        " JOIN jsonb_to_recordset($1::text::jsonb)"
          " AS r (account_id text COLLATE \"C\", owner_id text COLLATE \"C\")"
          " ON r.account_id = p.account_id"
          " AND r.owner_id = p.id",
};

/* $1 rows. */
#define ROWS "jsonb_to_recordset($1::text::jsonb) AS r "
#define COUNT ") SELECT count(*) FROM w"

#define PRINCIPAL_KEY "account_id text COLLATE \"C\", id text COLLATE \"C\""
#define PRINCIPAL_ROWS ROWS "(" PRINCIPAL_KEY ", kind text, name text, is_admin boolean, is_disabled boolean)"

#define CREDENTIAL_ROWS                                                                            \
    ROWS "(account_id text COLLATE \"C\", id text COLLATE \"C\", created_at timestamptz,"          \
      " owner_id text, description text, metadata text, acl text[], public_key text,"              \
      " key_type text, fingerprint text)"

#define OAUTH_KEY "account_id text COLLATE \"C\", edge_id text COLLATE \"C\", id text COLLATE \"C\""
#define OAUTH_ROWS                                                                                 \
    ROWS "(" OAUTH_KEY ", enabled boolean, provider smallint, client_id text, keeps_secret boolean," \
      " key_id text, sealed text, scopes text[], email_addresses text[], email_domains text[],"    \
      " teams text[], organizations text[], options_passthrough boolean, cookie_prefix text,"      \
      " inactivity_timeout bigint, maximum_duration bigint, auth_check_interval bigint)"

#define MUTUAL_TLS_KEY "account_id text COLLATE \"C\", id text COLLATE \"C\""
#define MUTUAL_TLS_ROWS                                                                            \
    ROWS "(" MUTUAL_TLS_KEY ", enabled boolean, certificate_authority_ids text[])"

#define WRITES .types = PG_BIGINT, .writes = true

static const struct pg_statement statements[DOCUMENT_N_KINDS][3] = {
    [DOCUMENT_ACCOUNT][DOCUMENT_CREATE] = {
        .name = "document_create_accounts",
        WRITES,
        .sql =
            "WITH w AS ("
                "INSERT INTO adit.account (id, name)"
                " SELECT r.account_id, coalesce(r.name, '')"
                " FROM " ROWS "(account_id text, name text)"
                " RETURNING id"
            COUNT,
    },
    [DOCUMENT_ACCOUNT][DOCUMENT_UPDATE] = {
        .name = "document_update_accounts",
        WRITES,
        .sql =
            "WITH w AS ("
                "UPDATE adit.account AS a"
                " SET name = r.name"
                " FROM " ROWS "(account_id text COLLATE \"C\", name text)"
                " WHERE a.id = r.account_id"
                " RETURNING a.id"
            COUNT,
    },
    [DOCUMENT_PRINCIPAL][DOCUMENT_CREATE] = {
        .name = "document_create_principals",
        WRITES,
        .sql =
            "WITH w AS ("
                "INSERT INTO adit.principal (account_id, id, kind, name, is_admin, disabled_at)"
                " SELECT r.account_id, r.id, r.kind, coalesce(r.name, ''), r.is_admin,"
                  " CASE WHEN r.is_disabled THEN pg_catalog.now() END"
                " FROM " PRINCIPAL_ROWS
                " RETURNING id"
            COUNT,
    },
    [DOCUMENT_PRINCIPAL][DOCUMENT_UPDATE] = {
        .name = "document_update_principals",
        WRITES,
        .sql =
            "WITH w AS ("
                "UPDATE adit.principal AS p"
                " SET name = r.name, is_admin = r.is_admin,"
                  " disabled_at = CASE WHEN r.is_disabled IS NULL THEN p.disabled_at"
                    " WHEN r.is_disabled THEN coalesce(p.disabled_at, n.at) END"
                " FROM " PRINCIPAL_ROWS
                " CROSS JOIN (SELECT pg_catalog.now() AS at) AS n"
                " WHERE p.account_id = r.account_id AND p.id = r.id"
                " RETURNING p.id"
            COUNT,
    },
    /* Foreign keys are checked at the end of the statement. */
    [DOCUMENT_PRINCIPAL][DOCUMENT_DELETE] = {
        .name = "document_delete_principals",
        WRITES,
        .sql =
            "WITH r AS MATERIALIZED ("
                "SELECT r.* FROM " ROWS "(" PRINCIPAL_KEY ")"
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
            COUNT,
    },
    [DOCUMENT_CREDENTIAL][DOCUMENT_CREATE] = {
        .name = "document_create_credentials",
        WRITES,
        KEY_LIMITS,
        .sql =
            "WITH w AS ("
                "INSERT INTO adit.ssh_credential"
                  " (account_id, id, created_at, owner_id, description, metadata, acl,"
                  " public_key, key_type, fingerprint)"
                " SELECT r.account_id, r.id, coalesce(r.created_at, pg_catalog.clock_timestamp()),"
                  " r.owner_id, r.description, r.metadata, r.acl,"
                  " r.public_key, r.key_type, r.fingerprint"
                " FROM " CREDENTIAL_ROWS
                " RETURNING id"
            COUNT,
    },
    /* The key is the same; its text may be another. */
    [DOCUMENT_CREDENTIAL][DOCUMENT_UPDATE] = {
        .name = "document_update_credentials",
        WRITES,
        .sql =
            "WITH w AS ("
                "UPDATE adit.ssh_credential AS c"
                " SET owner_id = r.owner_id, description = r.description, metadata = r.metadata,"
                  " acl = r.acl, public_key = r.public_key"
                " FROM " CREDENTIAL_ROWS
                " WHERE c.account_id = r.account_id AND c.id = r.id"
                " RETURNING c.id"
            COUNT,
    },
    [DOCUMENT_CREDENTIAL][DOCUMENT_DELETE] = {
        .name = "document_delete_credentials",
        WRITES,
        .sql =
            "WITH w AS ("
                "DELETE FROM adit.ssh_credential AS c"
                " USING " CREDENTIAL_ROWS
                " WHERE c.account_id = r.account_id AND c.id = r.id"
                " RETURNING c.id"
            COUNT,
    },
    [DOCUMENT_OAUTH][DOCUMENT_CREATE] = {
        .name = "document_create_oauth",
        WRITES,
        .sql =
            "WITH w AS ("
                "INSERT INTO adit.oauth_module"
                  " (account_id, edge_id, route_id, enabled, provider, client_id,"
                  " client_secret_key_id, client_secret_sealed,"
                  " scopes, email_addresses, email_domains, teams, organizations,"
                  " options_passthrough, cookie_prefix,"
                  " inactivity_timeout, maximum_duration, auth_check_interval)"
                " SELECT r.account_id, r.edge_id, r.id, r.enabled, r.provider, r.client_id,"
                  " r.key_id, decode(r.sealed, 'hex'),"
                  " r.scopes, r.email_addresses, r.email_domains, r.teams, r.organizations,"
                  " r.options_passthrough, r.cookie_prefix,"
                  " r.inactivity_timeout, r.maximum_duration, r.auth_check_interval"
                " FROM " OAUTH_ROWS
                " RETURNING edge_id"
            COUNT,
    },
    [DOCUMENT_OAUTH][DOCUMENT_UPDATE] = {
        .name = "document_update_oauth",
        WRITES,
        .sql =
            "WITH w AS ("
                "UPDATE adit.oauth_module AS m"
                " SET enabled = r.enabled, provider = r.provider, client_id = r.client_id,"
                  " client_secret_key_id ="
                    " CASE WHEN r.keeps_secret THEN m.client_secret_key_id ELSE r.key_id END,"
                  " client_secret_sealed ="
                    " CASE WHEN r.keeps_secret THEN m.client_secret_sealed"
                    " ELSE decode(r.sealed, 'hex') END,"
                  " scopes = r.scopes, email_addresses = r.email_addresses,"
                  " email_domains = r.email_domains, teams = r.teams,"
                  " organizations = r.organizations,"
                  " options_passthrough = r.options_passthrough, cookie_prefix = r.cookie_prefix,"
                  " inactivity_timeout = r.inactivity_timeout,"
                  " maximum_duration = r.maximum_duration,"
                  " auth_check_interval = r.auth_check_interval"
                " FROM " OAUTH_ROWS
                " WHERE m.account_id = r.account_id AND m.edge_id = r.edge_id AND m.route_id = r.id"
                " RETURNING m.edge_id"
            COUNT,
    },
    [DOCUMENT_OAUTH][DOCUMENT_DELETE] = {
        .name = "document_delete_oauth",
        WRITES,
        .sql =
            "WITH w AS ("
                "DELETE FROM adit.oauth_module AS m"
                " USING " ROWS "(" OAUTH_KEY ")"
                " WHERE m.account_id = r.account_id AND m.edge_id = r.edge_id AND m.route_id = r.id"
                " RETURNING m.edge_id"
            COUNT,
    },
    [DOCUMENT_MUTUAL_TLS][DOCUMENT_CREATE] = {
        .name = "document_create_mutual_tls",
        WRITES,
        .sql =
            "WITH w AS ("
                "INSERT INTO adit.mutual_tls_module"
                  " (account_id, edge_id, enabled, certificate_authority_ids)"
                " SELECT r.account_id, r.id, r.enabled, r.certificate_authority_ids"
                " FROM " MUTUAL_TLS_ROWS
                " RETURNING edge_id"
            COUNT,
    },
    [DOCUMENT_MUTUAL_TLS][DOCUMENT_UPDATE] = {
        .name = "document_update_mutual_tls",
        WRITES,
        .sql =
            "WITH w AS ("
                "UPDATE adit.mutual_tls_module AS m"
                " SET enabled = r.enabled,"
                  " certificate_authority_ids = r.certificate_authority_ids"
                " FROM " MUTUAL_TLS_ROWS
                " WHERE m.account_id = r.account_id AND m.edge_id = r.id"
                " RETURNING m.edge_id"
            COUNT,
    },
    [DOCUMENT_MUTUAL_TLS][DOCUMENT_DELETE] = {
        .name = "document_delete_mutual_tls",
        WRITES,
        .sql =
            "WITH w AS ("
                "DELETE FROM adit.mutual_tls_module AS m"
                " USING " ROWS "(" MUTUAL_TLS_KEY ")"
                " WHERE m.account_id = r.account_id AND m.edge_id = r.id"
                " RETURNING m.edge_id"
            COUNT,
    },
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

/* Writes the column that is named as the field is. */
static void put_fields(struct buf *out, const struct field *fields, size_t n_fields,
                       const void *values)
{
    for (size_t i = 0; i < n_fields; i++) {
        if (fields[i].kind != FIELD_OBJECT && !fields[i].is_secret)
            field_write(out, &fields[i], (const char *)values + fields[i].offset);
    }
}

static void put_credential_columns(struct buf *out, const struct document_credential *credential)
{
    const struct public_key *key = &credential->input.parsed_key;

    document_put_credential(out, credential);
    json_put_member(out, "key_type", text_of(key->type));
    json_put_member(out, "fingerprint", text_of(key->fingerprint));
}

static void put_sealed(struct buf *out, const struct document_row *row)
{
    static const char digits[] = "0123456789abcdef";

    json_put_name(out, "sealed");
    if (!row->sealed) {
        json_put_null(out);
        return;
    }
    buf_puts(out, "\"");
    for (size_t i = 0; i < row->sealed_len; i++)
        buf_add(out, (char[]){digits[row->sealed[i] >> 4], digits[row->sealed[i] & 15]}, 2);
    buf_puts(out, "\"");
}

static void put_oauth_columns(struct buf *out, const struct document_change *change)
{
    const struct document_oauth *oauth = &change->row.entry.of.oauth;

    json_put_member(out, "edge_id", oauth->edge_id);
    json_put_member(out, "id", oauth->id);
    json_put_name(out, "provider");
    if (oauth->module.provider)
        json_put_uint(out, (uint64_t)oauth->module.provider);
    else
        json_put_null(out);
    json_put_name(out, "keeps_secret");
    json_put_bool(out, change->keeps_secret);
    json_put_member(out, "key_id", change->row.key_id);
    put_sealed(out, &change->row);
    put_fields(out, oauth_module_fields, oauth_module_n_fields, &oauth->module);
    put_fields(out, oauth_provider_fields, oauth_provider_n_fields, &oauth->module.config);
}

static void put_change(struct buf *out, const struct document_change *change)
{
    const struct document_entry *entry = &change->row.entry;

    json_open(out, '{');
    json_put_member(out, "account_id", change->row.account_id);
    switch (entry->kind) {
    case DOCUMENT_ACCOUNT:
        json_put_member(out, "name", entry->of.account_entry.name);
        break;
    case DOCUMENT_PRINCIPAL:
        json_put_member(out, "id", entry->of.principal.id);
        json_put_member(
            out, "kind",
            text_of(ident_assigned(entry->of.principal.id, IDENT_BOT) ? "bot" : "user"));
        json_put_member(out, "name", entry->of.principal.name);
        json_put_name(out, "is_admin");
        json_put_bool(out, entry->of.principal.is_admin);
        if (entry->of.principal.has_disabled) {
            json_put_name(out, "is_disabled");
            json_put_bool(out, entry->of.principal.is_disabled);
        }
        break;
    case DOCUMENT_CREDENTIAL:
        put_credential_columns(out, &entry->of.credential);
        break;
    case DOCUMENT_OAUTH:
        put_oauth_columns(out, change);
        break;
    case DOCUMENT_MUTUAL_TLS:
        json_put_member(out, "id", entry->of.mutual_tls.id);
        put_fields(out, mutual_tls_module_fields, mutual_tls_module_n_fields,
                   &entry->of.mutual_tls.module);
        break;
    case DOCUMENT_N_KINDS:
        break;
    }
    json_close(out, '}');
}

/* Runs a statement with the changes as its rows. */
static bool run_with_rows(struct pg *pg, const struct pg_statement *statement,
                          const struct document_change *const *changes, size_t n,
                          struct pg_result **result, struct error *err)
{
    struct pg_params params = {.n = 0};
    struct buf rows = {0};
    bool ok;

    json_open(&rows, '[');
    for (size_t i = 0; i < n; i++)
        put_change(&rows, changes[i]);
    json_close(&rows, ']');
    pg_add_text(&params, buf_text(&rows));
    ok = rows.failed ? error_set(err, ERR_OUT_OF_MEMORY)
                     : pg_run(pg, statement, &params, result, err);
    buf_free(&rows);
    return ok;
}

bool document_write(struct pg *pg, enum document_kind kind, enum document_verb verb,
                    const struct document_change *const *changes, size_t n, struct error *err)
{
    const struct pg_statement *statement = &statements[kind][verb];
    struct pg_result *result = NULL;
    bool ok = run_with_rows(pg, statement, changes, n, &result, err);

    ok = ok && (pg_int(result, 0, 0) == (int64_t)n ||
                error_cause(err, ERR_INTERNAL, "%s wrote %lld of %zu rows", statement->name,
                            (long long)pg_int(result, 0, 0), n));
    pg_result_free(result);
    return ok;
}

bool document_hold_owners(struct pg *pg, const struct document_change *const *changes, size_t n,
                          struct pg_result **result, struct error *err)
{
    return run_with_rows(pg, &hold_owners_statement, changes, n, result, err);
}
