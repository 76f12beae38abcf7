/* SPDX-License-Identifier: MIT */
/* The statements that read what documents hold. */
#include "store/document.h"

#include <string.h>

#include "base/time.h"
#include "store/member_row.h"
#include "store/member_sql.h"
#include "store/oauth_secret.h"
#include "store/resource_sql.h"
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

#define CREDENTIAL_COLUMNS "c.account_id, " SSH_CREDENTIAL_COLUMNS("c.") ", c.fingerprint, c.standing"
#define CREDENTIAL_TYPES PG_TEXT SSH_CREDENTIAL_TYPES PG_TEXT PG_TEXT

/* Of modules. */
#define MODULE_COLUMNS_PLAIN(NAME, place)                                                          \
    "m.account_id, " PLACE_COLUMNS_##place ", " NAME##_COLUMNS("m.")
#define MODULE_COLUMNS_PROVIDER(NAME, place)                                                       \
    "m.account_id, " PLACE_COLUMNS_##place ", " NAME##_COLUMNS("m.", "m.client_secret_sealed")
#define MODULE_TYPES(NAME, place) PG_TEXT PLACE_TYPES_##place NAME##_TYPES

/* $1 account_id, $2 and maybe $3 the place. */
#define AFTER_EDGE                                                                                 \
    " WHERE (m.account_id, m.edge_id) > ($1::text COLLATE \"C\", $2::text COLLATE \"C\")"          \
      " AND ($4::text IS NULL OR m.account_id = $4::text COLLATE \"C\")"                           \
    " ORDER BY m.account_id, m.edge_id"                                                            \
    " LIMIT $3::bigint"
#define AFTER_ROUTE                                                                                \
    " WHERE (m.account_id, m.edge_id, m.route_id)"                                                 \
      " > ($1::text COLLATE \"C\", $2::text COLLATE \"C\", $3::text COLLATE \"C\")"                \
      " AND ($5::text IS NULL OR m.account_id = $5::text COLLATE \"C\")"                           \
    " ORDER BY m.account_id, m.edge_id, m.route_id"                                                \
    " LIMIT $4::bigint"

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
#define SCAN_MODULES(with, NAME, table, place, form, path, missing, brief, title)                         \
    [DOCUMENT_##NAME] = {                                                                          \
        .name = "document_scan_" brief,                                                            \
        .types = MODULE_TYPES(NAME, place),                                                        \
        .sql = "SELECT " MODULE_COLUMNS_##form(NAME, place) " FROM adit." #table " AS m" AFTER_##place},
    MODULES(SCAN_MODULES, _)
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
    /* $1 account_id, $2 edge_ids and maybe $3 route_ids. */
#define FIND_MODULES(with, NAME, table, place, form, path, missing, brief, title)                         \
    [DOCUMENT_##NAME] = {                                                                          \
        .name = "document_find_" brief,                                                            \
        .types = MODULE_TYPES(NAME, place),                                                        \
        .sql = "SELECT " MODULE_COLUMNS_##form(NAME, place) PLACE_FOUND_##place(#table)},
    MODULES(FIND_MODULES, _)
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

static void read_principal_row(const struct pg_result *result, int row,
                               struct document_principal *principal)
{
    *principal = (struct document_principal){
        .id = pg_text(result, row, 1),
        .name = pg_text(result, row, 2),
        .is_admin = pg_bool(result, row, 3),
        .is_disabled = pg_bool(result, row, 4),
    };
}

static bool read_credential_row(const struct pg_result *result, int row, struct arena *arena,
                                struct document_credential *credential)
{
    const struct member_row from = {.result = result, .row = row, .first = 1};
    struct ssh_credential *input = &credential->input;
    char created_at[TIME_SIZE] = "";

    *credential = (struct document_credential){.created_at = {0}};
    if (!member_row_read(&from, ssh_credential_members, ssh_credential_n_members, input, arena))
        return false;
    input->fingerprint = pg_text(result, row, 1 + SSH_CREDENTIAL_N_COLUMNS);
    credential->standing = pg_text(result, row, 2 + SSH_CREDENTIAL_N_COLUMNS);
    time_write(created_at, input->created_at);
    credential->created_at = text_of(arena_copy(arena, created_at, strlen(created_at)));
    return credential->created_at.s != NULL;
}

/* Returns false with *err for a module that would lose its provider in a document. */
static bool provider_is_known(const struct pg_result *result, int row,
                              const struct document_module *module, struct error *err)
{
    return module->value.oauth_module.provider > 0 ||
           pg_is_null(result, row, 3 + OAUTH_MODULE_PROVIDER) ||
           error_cause(err, ERR_INTERNAL,
                       "edge %.*s, route %.*s: the module has a provider that only a later version "
                       "of Adit knows; use that version",
                       (int)module->place.edge_id.len, module->place.edge_id.s,
                       (int)module->place.route_id.len, module->place.route_id.s);
}

static bool read_module_row(const struct pg_result *result, int row, enum resource_kind kind,
                            struct arena *arena, struct document_module *module, struct error *err)
{
    const struct resource_row *of = resource_row(kind);
    const struct member_row from = {.result = result, .row = row, .first = of->of_route ? 3 : 2};

    *module = (struct document_module){.place = {.edge_id = pg_text(result, row, 1)}};
    if (of->of_route)
        module->place.route_id = pg_text(result, row, 2);
    if (!member_row_read(&from, of->members, *of->n_members, &module->value, arena))
        return error_set(err, ERR_OUT_OF_MEMORY);
    return !of->has_provider || provider_is_known(result, row, module, err);
}

bool document_row_read(const struct pg_result *result, enum document_kind kind, int row,
                       struct arena *arena, struct document_row *out, struct error *err)
{
    bool ok = true;

    *out = (struct document_row){.account_id = pg_text(result, row, 0), .entry.kind = kind};
    switch (kind) {
    case DOCUMENT_ACCOUNT:
        out->entry.of.account_entry =
            (struct document_account){.id = out->account_id, .name = pg_text(result, row, 1)};
        break;
    case DOCUMENT_PRINCIPAL:
        read_principal_row(result, row, &out->entry.of.principal);
        break;
    case DOCUMENT_CREDENTIAL:
        ok = read_credential_row(result, row, arena, &out->entry.of.credential);
        break;
    default:
        return read_module_row(result, row, document_module_kind(kind), arena,
                               &out->entry.of.module, err);
    }
    return ok || error_set(err, ERR_OUT_OF_MEMORY);
}

static struct keyring_place secret_place_of(const struct document_row *row)
{
    const struct document_module *module = &row->entry.of.module;

    return oauth_secret_place(row->account_id, &module->place, module->value.oauth_module.provider);
}

bool document_row_secret(const struct document_row *row, struct keyring *keyring,
                         struct arena *arena, struct text *secret, struct error *err)
{
    struct keyring_place place = secret_place_of(row);

    const struct field_secret *sealed =
        &row->entry.of.module.value.oauth_module.config.client_secret;

    *secret = (struct text){0};
    return !sealed->sealed.s ||
           keyring_open(keyring, &place, sealed->key_id, sealed->sealed, arena, secret, err);
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
    return kind == DOCUMENT_ACCOUNT ? 1 : document_of_route(kind) ? 3 : 2;
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
    if (document_of_route(kind))
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
