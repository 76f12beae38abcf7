/* SPDX-License-Identifier: MIT */
/* The statements that read what documents hold. */
#include "store/document.h"

#include <stdio.h>

#include "store/oauth_secret.h"
#include "store/sql.h"

/* Rows per statement: at most 16 MiB, as a row has at most 64 KiB. */
#define BATCH 256

/* The session's limits are those of requests; a document takes longer, and whoever reads it may
 * pause.  A generic plan would not know how few rows a batch has.  Without statistics, a bitmap of
 * all rows of the account and a sort look cheap for each batch, which is quadratic: an index scan
 * has the order. */
#define LIMITS                                                                                     \
    "; SET LOCAL statement_timeout = '60s'; SET LOCAL lock_timeout = '10s';"                       \
    " SET LOCAL idle_in_transaction_session_timeout = '10min';"                                    \
    " SET LOCAL plan_cache_mode = force_custom_plan; SET LOCAL enable_bitmapscan = off"

/* A little more than the server's limit. */
#define TIMEOUT_MS 65000

/* clang-format off */

#define ACCOUNT_COLUMNS "a.id, a.name"
#define ACCOUNT_TYPES PG_TEXT PG_TEXT

#define PRINCIPAL_COLUMNS "p.account_id, p.id, p.name, p.is_admin, NOT (" SQL_MAY_OWN("p") ")"
#define PRINCIPAL_TYPES PG_TEXT PG_TEXT PG_TEXT PG_BOOL PG_BOOL

#define CREDENTIAL_COLUMNS                                                                         \
    "c.account_id, c.id, " SQL_RFC3339("c.created_at") ", c.owner_id, c.description, c.metadata,"  \
    " c.acl, c.public_key, c.fingerprint"
#define CREDENTIAL_TYPES                                                                           \
    PG_TEXT PG_TEXT PG_TEXT PG_TEXT PG_TEXT PG_TEXT PG_TEXTS PG_TEXT PG_TEXT

#define OAUTH_COLUMNS                                                                              \
    "m.account_id, m.edge_id, m.route_id, m.enabled, m.provider, m.client_id,"                     \
    " m.client_secret_key_id, m.client_secret_sealed,"                                             \
    " m.scopes, m.email_addresses, m.email_domains, m.teams, m.organizations,"                     \
    " m.options_passthrough, m.cookie_prefix,"                                                     \
    " m.inactivity_timeout, m.maximum_duration, m.auth_check_interval"
#define OAUTH_TYPES                                                                                \
    PG_TEXT PG_TEXT PG_TEXT PG_BOOL PG_SMALLINT PG_TEXT PG_TEXT PG_BYTEA                           \
    PG_TEXTS PG_TEXTS PG_TEXTS PG_TEXTS PG_TEXTS PG_BOOL PG_TEXT PG_BIGINT PG_BIGINT PG_BIGINT

#define MUTUAL_TLS_COLUMNS "m.account_id, m.edge_id, m.enabled, m.certificate_authority_ids"
#define MUTUAL_TLS_TYPES PG_TEXT PG_TEXT PG_BOOL PG_TEXTS

/* The rows after the last one.  Each list ends with $n how many, $n+1 the only account or NULL. */
static const struct pg_statement scan_statements[DOCUMENT_N_KINDS] = {
    /* $1 id. */
    [DOCUMENT_ACCOUNT] = {
        .name = "document_scan_accounts",
        .types = ACCOUNT_TYPES,
        .sql =
            "SELECT " ACCOUNT_COLUMNS
            " FROM adit.account AS a"
            " WHERE a.id > $1::text COLLATE \"C\""
              " AND ($3::text IS NULL OR a.id = $3::text COLLATE \"C\")"
            " ORDER BY a.id"
            " LIMIT $2::bigint",
    },
    /* $1 account_id, $2 id, $5 ids or NULL. */
    [DOCUMENT_PRINCIPAL] = {
        .name = "document_scan_principals",
        .types = PRINCIPAL_TYPES,
        .sql =
            "SELECT " PRINCIPAL_COLUMNS
            " FROM adit.principal AS p"
            " WHERE (p.account_id, p.id) > ($1::text COLLATE \"C\", $2::text COLLATE \"C\")"
              " AND ($4::text IS NULL OR p.account_id = $4::text COLLATE \"C\")"
              " AND ($5::text[] IS NULL OR p.id = ANY ($5::text[] COLLATE \"C\"))"
            " ORDER BY p.account_id, p.id"
            " LIMIT $3::bigint",
    },
    /* $1 account_id, $2 id, $5 owners or NULL. */
    [DOCUMENT_CREDENTIAL] = {
        .name = "document_scan_credentials",
        .types = CREDENTIAL_TYPES,
        .sql =
            "SELECT " CREDENTIAL_COLUMNS
            " FROM adit.ssh_credential AS c"
            " WHERE (c.account_id, c.id) > ($1::text COLLATE \"C\", $2::text COLLATE \"C\")"
              " AND ($4::text IS NULL OR c.account_id = $4::text COLLATE \"C\")"
              " AND ($5::text[] IS NULL OR c.owner_id = ANY ($5::text[] COLLATE \"C\"))"
            " ORDER BY c.account_id, c.id"
            " LIMIT $3::bigint",
    },
    /* $1 account_id, $2 edge_id, $3 route_id. */
    [DOCUMENT_OAUTH] = {
        .name = "document_scan_oauth",
        .types = OAUTH_TYPES,
        .sql =
            "SELECT " OAUTH_COLUMNS
            " FROM adit.oauth_module AS m"
            " WHERE (m.account_id, m.edge_id, m.route_id)"
              " > ($1::text COLLATE \"C\", $2::text COLLATE \"C\", $3::text COLLATE \"C\")"
              " AND ($5::text IS NULL OR m.account_id = $5::text COLLATE \"C\")"
            " ORDER BY m.account_id, m.edge_id, m.route_id"
            " LIMIT $4::bigint",
    },
    /* $1 account_id, $2 edge_id. */
    [DOCUMENT_MUTUAL_TLS] = {
        .name = "document_scan_mutual_tls",
        .types = MUTUAL_TLS_TYPES,
        .sql =
            "SELECT " MUTUAL_TLS_COLUMNS
            " FROM adit.mutual_tls_module AS m"
            " WHERE (m.account_id, m.edge_id) > ($1::text COLLATE \"C\", $2::text COLLATE \"C\")"
              " AND ($4::text IS NULL OR m.account_id = $4::text COLLATE \"C\")"
            " ORDER BY m.account_id, m.edge_id"
            " LIMIT $3::bigint",
    },
};

static const struct pg_statement find_statements[DOCUMENT_N_KINDS] = {
    /* $1 ids. */
    [DOCUMENT_ACCOUNT] = {
        .name = "document_find_accounts",
        .types = ACCOUNT_TYPES,
        .sql =
            "SELECT " ACCOUNT_COLUMNS
            " FROM adit.account AS a"
            " WHERE a.id = ANY ($1::text[] COLLATE \"C\")"
            " ORDER BY a.id",
    },
    /* $1 ids. */
    [DOCUMENT_PRINCIPAL] = {
        .name = "document_find_principals",
        .types = PRINCIPAL_TYPES,
        .sql =
            "SELECT " PRINCIPAL_COLUMNS
            " FROM adit.principal AS p"
            " WHERE p.id = ANY ($1::text[] COLLATE \"C\")"
            " ORDER BY p.id",
    },
    /* $1 account_id, $2 ids, $3 fingerprints, $4 their descriptions. */
    [DOCUMENT_CREDENTIAL] = {
        .name = "document_find_credentials",
        .types = CREDENTIAL_TYPES,
        .sql =
            "WITH f AS ("
                "SELECT e.id"
                " FROM adit.ssh_credential AS e"
                " WHERE e.account_id = $1::text COLLATE \"C\""
                  " AND e.id = ANY ($2::text[] COLLATE \"C\")"
                " UNION"
                " SELECT e.id"
                " FROM unnest($3::text[], $4::text[]) AS k (fingerprint, description)"
                " JOIN adit.ssh_credential AS e"
                  " ON e.fingerprint = k.fingerprint COLLATE \"C\""
                  " AND e.account_id = $1::text COLLATE \"C\""
                  " AND e.description = k.description"
            ")"
            " SELECT " CREDENTIAL_COLUMNS
            " FROM f"
            " JOIN adit.ssh_credential AS c"
              " ON c.account_id = $1::text COLLATE \"C\""
              " AND c.id = f.id"
            " ORDER BY c.created_at, c.id",
    },
    /* $1 account_id, $2 edge_ids, $3 route_ids. */
    [DOCUMENT_OAUTH] = {
        .name = "document_find_oauth",
        .types = OAUTH_TYPES,
        .sql =
            "SELECT " OAUTH_COLUMNS
            " FROM unnest($2::text[], $3::text[]) AS k (edge_id, route_id)"
            " JOIN adit.oauth_module AS m"
              " ON m.account_id = $1::text COLLATE \"C\""
              " AND m.edge_id = k.edge_id COLLATE \"C\""
              " AND m.route_id = k.route_id COLLATE \"C\""
            " ORDER BY m.edge_id, m.route_id",
    },
    /* $1 account_id, $2 edge_ids. */
    [DOCUMENT_MUTUAL_TLS] = {
        .name = "document_find_mutual_tls",
        .types = MUTUAL_TLS_TYPES,
        .sql =
            "SELECT " MUTUAL_TLS_COLUMNS
            " FROM adit.mutual_tls_module AS m"
            " WHERE m.account_id = $1::text COLLATE \"C\""
              " AND m.edge_id = ANY ($2::text[] COLLATE \"C\")"
            " ORDER BY m.edge_id",
    },
};

/* $1 account_id, $2 fingerprints.  The index is that of sql/optional/unique_public_keys.sql. */
static const struct pg_statement find_unique_keys_statement = {
    .name = "document_find_unique_keys",
    .types = PG_TEXT,
    .sql =
        "SELECT c.id"
        " FROM unnest($2::text[]) WITH ORDINALITY AS k (fingerprint, n)"
        " LEFT JOIN adit.ssh_credential AS c"
          " ON c.account_id = $1::text COLLATE \"C\""
          " AND c.fingerprint = k.fingerprint COLLATE \"C\""
        " WHERE pg_catalog.to_regclass('adit.ssh_credential_unique_public_key') IS NOT NULL"
        " ORDER BY k.n",
};

/* clang-format on */

bool document_begin(struct pg *pg, enum document_mode mode, struct error *err)
{
    /* A row lock comes after the snapshot that REPEATABLE READ keeps, so that it fails where a row
     * has changed in between, however often it is tried. */
    static const char *const begins[] = {
        [DOCUMENT_READ] = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY" LIMITS,
        [DOCUMENT_WRITE] = "BEGIN ISOLATION LEVEL REPEATABLE READ" LIMITS,
        [DOCUMENT_WRITE_LOCKED] = "BEGIN ISOLATION LEVEL READ COMMITTED" LIMITS};

    pg_set_timeout(pg, TIMEOUT_MS);
    return pg_begin(pg, begins[mode], err);
}

/* ---- rows ---- */

/* Reads the columns of a row from left to right. */
struct columns {
    const struct pg_result *result;
    struct arena *arena;
    int row;
    int next;
    bool failed;
};

static struct text take_text(struct columns *columns)
{
    return pg_text(columns->result, columns->row, columns->next++);
}

static bool take_bool(struct columns *columns)
{
    return pg_bool(columns->result, columns->row, columns->next++);
}

static uint32_t take_uint32(struct columns *columns)
{
    return (uint32_t)pg_int(columns->result, columns->row, columns->next++);
}

static struct text_list take_texts(struct columns *columns)
{
    struct text_list list = {.n = 0};

    if (!pg_texts(columns->result, columns->row, columns->next++, columns->arena, &list))
        columns->failed = true;
    return list;
}

static void read_credential_row(struct columns *columns, struct document_credential *credential)
{
    struct ssh_credential_input *input = &credential->input;

    *credential = (struct document_credential){.input.id = take_text(columns)};
    credential->created_at = take_text(columns);
    input->owner_id = take_text(columns);
    input->description = take_text(columns);
    input->metadata = take_text(columns);
    input->acl = take_texts(columns);
    input->public_key = take_text(columns);
    snprintf(input->parsed_key.fingerprint, sizeof input->parsed_key.fingerprint, "%s",
             take_text(columns).s);
}

/* Returns false with *err for a module that would lose its provider in a document. */
static bool read_oauth_row(struct columns *columns, struct document_row *row, struct error *err)
{
    struct document_oauth *oauth = &row->entry.of.oauth;
    struct oauth_module *module = &oauth->module;
    struct oauth_provider *config = &module->config;
    uint32_t position;

    *oauth = (struct document_oauth){.edge_id = take_text(columns)};
    oauth->id = take_text(columns);
    module->enabled = take_bool(columns);
    position = take_uint32(columns);
    module->provider = identity_provider_stored(position);
    config->client_id = take_text(columns);
    row->key_id = take_text(columns);
    row->sealed = pg_bytes(columns->result, columns->row, columns->next++, &row->sealed_len);
    config->scopes = take_texts(columns);
    config->email_addresses = take_texts(columns);
    config->email_domains = take_texts(columns);
    config->teams = take_texts(columns);
    config->organizations = take_texts(columns);
    module->options_passthrough = take_bool(columns);
    module->cookie_prefix = take_text(columns);
    module->inactivity_timeout = take_uint32(columns);
    module->maximum_duration = take_uint32(columns);
    module->auth_check_interval = take_uint32(columns);
    return module->provider > 0 || position == 0 ||
           error_cause(err, ERR_INTERNAL,
                       "edge %.*s, route %.*s: the module has a provider that only a later version "
                       "of Adit knows; use that version",
                       (int)oauth->edge_id.len, oauth->edge_id.s, (int)oauth->id.len, oauth->id.s);
}

bool document_row_read(const struct pg_result *result, enum document_kind kind, int row,
                       struct arena *arena, struct document_row *out, struct error *err)
{
    struct columns columns = {.result = result, .arena = arena, .row = row};

    *out = (struct document_row){.account_id = take_text(&columns), .entry.kind = kind};
    switch (kind) {
    case DOCUMENT_ACCOUNT:
        out->entry.of.account_entry =
            (struct document_account){.id = out->account_id, .name = take_text(&columns)};
        break;
    case DOCUMENT_PRINCIPAL:
        out->entry.of.principal.id = take_text(&columns);
        out->entry.of.principal.name = take_text(&columns);
        out->entry.of.principal.is_admin = take_bool(&columns);
        out->entry.of.principal.is_disabled = take_bool(&columns);
        break;
    case DOCUMENT_CREDENTIAL:
        read_credential_row(&columns, &out->entry.of.credential);
        break;
    case DOCUMENT_OAUTH:
        if (!read_oauth_row(&columns, out, err))
            return false;
        break;
    case DOCUMENT_MUTUAL_TLS:
        out->entry.of.mutual_tls.id = take_text(&columns);
        out->entry.of.mutual_tls.module.enabled = take_bool(&columns);
        out->entry.of.mutual_tls.module.certificate_authority_ids = take_texts(&columns);
        break;
    case DOCUMENT_N_KINDS:
        break;
    }
    return !columns.failed || error_set(err, ERR_OUT_OF_MEMORY);
}

static struct keyring_place secret_place_of(const struct document_row *row)
{
    const struct document_oauth *oauth = &row->entry.of.oauth;
    struct oauth_route route = {.edge_id = oauth->edge_id, .route_id = oauth->id};

    return oauth_secret_place(row->account_id, &route, oauth->module.provider);
}

bool document_row_secret(const struct document_row *row, struct keyring *keyring,
                         struct arena *arena, struct text *secret, struct error *err)
{
    struct keyring_place place = secret_place_of(row);

    *secret = (struct text){0};
    return !row->sealed || keyring_open(keyring, &place, row->key_id, row->sealed, row->sealed_len,
                                        arena, secret, err);
}

bool document_row_digest(const struct document_row *row, struct keyring *keyring,
                         struct text key_id, struct text secret, char digest[KEYRING_DIGEST_SIZE],
                         struct error *err)
{
    struct keyring_place place = secret_place_of(row);

    return keyring_digest(keyring, &place, key_id, secret, digest, err);
}

/* ---- scans ---- */

/* How many columns the key of a kind has; they are its first ones. */
static int key_columns(enum document_kind kind)
{
    return kind == DOCUMENT_ACCOUNT ? 1 : kind == DOCUMENT_OAUTH ? 3 : 2;
}

static bool next_scan_batch(struct document_scan *scan, struct error *err)
{
    bool has_owners = scan->kind == DOCUMENT_PRINCIPAL || scan->kind == DOCUMENT_CREDENTIAL;
    struct pg_params params = {.n = 0};
    struct pg_result *batch;

    arena_reset(&scan->arena);
    for (int column = 0; column < key_columns(scan->kind); column++)
        pg_add_text(&params, scan->batch ? pg_text(scan->batch, pg_rows(scan->batch) - 1, column)
                                         : text_of(""));
    pg_add_int(&params, BATCH);
    pg_add_text(&params, scan->account_id);
    if (has_owners)
        pg_add_texts(&params, scan->owners, &scan->arena);
    if (!pg_run(scan->pg, &scan_statements[scan->kind], &params, &batch, err))
        return false;
    pg_result_free(scan->batch);
    scan->batch = batch;
    scan->row = 0;
    return true;
}

bool document_scan_next(struct document_scan *scan, struct document_row *row, struct error *err)
{
    *row = (struct document_row){.entry.kind = scan->kind};
    if (!scan->batch || (scan->row == pg_rows(scan->batch) && scan->row == BATCH)) {
        if (!next_scan_batch(scan, err))
            return false;
    }
    return scan->row == pg_rows(scan->batch) ||
           document_row_read(scan->batch, scan->kind, scan->row++, &scan->arena, row, err);
}

void document_scan_free(struct document_scan *scan)
{
    pg_result_free(scan->batch);
    arena_free(&scan->arena);
    scan->batch = NULL;
}

/* ---- rows that a document names ---- */

bool document_find(struct pg *pg, enum document_kind kind, struct text account_id,
                   const struct document_keys *keys, struct arena *arena, struct pg_result **result,
                   struct error *err)
{
    struct pg_params params = {.n = 0};

    if (kind != DOCUMENT_ACCOUNT && kind != DOCUMENT_PRINCIPAL)
        pg_add_text(&params, account_id);
    pg_add_texts(&params, keys->ids, arena);
    if (kind == DOCUMENT_OAUTH)
        pg_add_texts(&params, keys->second, arena);
    if (kind == DOCUMENT_CREDENTIAL) {
        pg_add_texts(&params, keys->fingerprints, arena);
        pg_add_texts(&params, keys->descriptions, arena);
    }
    return pg_run(pg, &find_statements[kind], &params, result, err);
}

bool document_find_unique_keys(struct pg *pg, struct text account_id, struct text_list fingerprints,
                               struct arena *arena, struct pg_result **result, struct error *err)
{
    struct pg_params params = {.n = 0};

    pg_add_text(&params, account_id);
    pg_add_texts(&params, fingerprints, arena);
    *result = NULL;
    return pg_run(pg, &find_unique_keys_statement, &params, result, err);
}
