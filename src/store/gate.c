/* SPDX-License-Identifier: MIT */
/* The statements of adit-gate. */
#include "store/gate.h"

#include <string.h>

/* clang-format off */

#define MODULE_TYPES \
    PG_BOOL PG_SMALLINT PG_TEXT PG_TEXTS PG_TEXTS PG_TEXTS PG_TEXTS PG_TEXTS PG_BOOL PG_TEXT \
    PG_BIGINT PG_BIGINT PG_BIGINT PG_BIGINT

#define MODULE_COLUMNS \
    "m.enabled, m.provider, m.client_id, m.scopes, m.email_addresses, m.email_domains, m.teams," \
    " m.organizations, m.options_passthrough, m.cookie_prefix, m.inactivity_timeout," \
    " m.maximum_duration, m.auth_check_interval, m.incarnation"

#define SESSION_TYPES PG_TEXT PG_TEXT PG_BYTEA

#define SESSION_COLUMNS "s.id, s.key_id, s.sealed"

#define IN_SQL_OF(number) #number
#define IN_SQL(number) IN_SQL_OF(number)

/* What a row holds is large. */
#define SESSIONS_COLUMNS \
    "s.id, s.key_id, CASE WHEN s.id = ANY (($4::text[])[:" IN_SQL(STORE_GATE_SESSIONS_MAX) "]" \
    " COLLATE \"C\") THEN s.sealed END"

enum ask_column {
    COLUMN_ENABLED,
    COLUMN_PROVIDER,
    COLUMN_CLIENT_ID,
    COLUMN_SCOPES,
    COLUMN_EMAIL_ADDRESSES,
    COLUMN_EMAIL_DOMAINS,
    COLUMN_TEAMS,
    COLUMN_ORGANIZATIONS,
    COLUMN_OPTIONS_PASSTHROUGH,
    COLUMN_COOKIE_PREFIX,
    COLUMN_INACTIVITY_TIMEOUT,
    COLUMN_MAXIMUM_DURATION,
    COLUMN_AUTH_CHECK_INTERVAL,
    COLUMN_INCARNATION,
    COLUMN_SESSION_ID,
    COLUMN_SESSION_KEY_ID,
    COLUMN_SESSION_SEALED,
    COLUMN_N_ACCOUNTS, /* of ask_any_statement, as the next one */
    COLUMN_ACCOUNT_ID
};

/* Nearly every request: the account is named, and at most one session.
 * $1 account_id, $2 edge_id, $3 route_id, $4 session id or ''.
 * Returns one row, or none if there is no such account. */
static const struct pg_statement ask_statement = {
    .name = "gate_ask",
    .types = MODULE_TYPES SESSION_TYPES,
    .is_short = true,
    .sql =
        "SELECT " MODULE_COLUMNS ", " SESSION_COLUMNS
        " FROM adit.account AS a"
        " LEFT JOIN adit.oauth_module AS m"
          " ON m.account_id = $1 AND m.edge_id = $2 AND m.route_id = $3"
        " LEFT JOIN adit.gate_session AS s ON s.id = $4"
        " WHERE a.id = $1",
    .by_account =
        "SELECT " MODULE_COLUMNS ", " SESSION_COLUMNS
        " FROM adit.account AS a"
        " LEFT JOIN adit.oauth_module AS m"
          " ON m.account_id = $1 AND m.edge_id = $2 AND m.route_id = $3"
        " LEFT JOIN adit.gate_session AS s ON s.account_id = $1 AND s.id = $4"
        " WHERE a.id = $1",
};

/* $1 account_id, '' for the only one, $2 edge_id, $3 route_id, $4 session ids.
 * Returns a row for each session that has one, or one row without a session.  What these hold: of
 * the first sessions only. */
static const struct pg_statement ask_any_statement = {
    .name = "gate_ask_any",
    .types = MODULE_TYPES SESSION_TYPES PG_BIGINT PG_TEXT,
    .is_short = true,
    .sql =
        "WITH account AS MATERIALIZED ("
          "SELECT count(*) AS n, min(a.id) AS id"
          " FROM ((SELECT id FROM adit.account WHERE id = $1)"
                " UNION ALL"
                " (SELECT id FROM adit.account WHERE $1 = '' ORDER BY id LIMIT 2)) AS a"
        ")"
        " SELECT " MODULE_COLUMNS ", " SESSIONS_COLUMNS ", account.n, account.id"
        " FROM account"
        " LEFT JOIN adit.oauth_module AS m"
          " ON m.account_id = account.id AND m.edge_id = $2 COLLATE \"C\""
          " AND m.route_id = $3 COLLATE \"C\""
        " LEFT JOIN adit.gate_session AS s ON s.id = ANY ($4::text[] COLLATE \"C\")",
    /* Never without an account.  No row: there is no such account. */
    .by_account =
        "SELECT " MODULE_COLUMNS ", " SESSIONS_COLUMNS ", 1::bigint, a.id"
        " FROM adit.account AS a"
        " LEFT JOIN adit.oauth_module AS m"
          " ON m.account_id = $1 AND m.edge_id = $2 AND m.route_id = $3"
        " LEFT JOIN adit.gate_session AS s"
          " ON s.account_id = $1 AND s.id = ANY ($4::text[] COLLATE \"C\")"
        " WHERE a.id = $1",
};

/* $1 account_id, $2 edge_id, $3 route_id, $4 provider, $5 client_id. */
static const struct pg_statement secret_statement = {
    .name = "gate_secret",
    .types = PG_TEXT PG_BYTEA,
    .is_short = true,
    .sql =
        "SELECT client_secret_key_id, client_secret_sealed FROM adit.oauth_module"
        " WHERE account_id = $1 AND edge_id = $2 AND route_id = $3 AND provider = $4"
          " AND client_id = $5",
};

/* $1 id, $2 key_id, $3 sealed, $4 ends_at in seconds since 1970, $5 sealed in the row before, NULL if
 * there is none; $6 account_id finds the place. */
static const struct pg_statement keep_statement = {
    .name = "gate_keep",
    .types = PG_BOOL,
    .writes = true,
    .is_repeatable = true,
    .sql =
        "INSERT INTO adit.gate_session AS s (id, key_id, sealed, ends_at)"
        " VALUES ($1, $2, $3, to_timestamp($4::bigint))"
        " ON CONFLICT (id) DO UPDATE SET key_id = excluded.key_id, sealed = excluded.sealed,"
          " ends_at = excluded.ends_at WHERE s.sealed = $5::bytea"
        " RETURNING true",
};

/* $1 id, $2 ends_at in seconds since 1970; $3 account_id finds the place. */
static const struct pg_statement end_statement = {
    .name = "gate_end",
    .types = PG_BOOL,
    .writes = true,
    .is_repeatable = true,
    .sql =
        "INSERT INTO adit.gate_session (id, ends_at) VALUES ($1, to_timestamp($2::bigint))"
        " ON CONFLICT (id) DO UPDATE SET key_id = NULL, sealed = NULL, ends_at = excluded.ends_at"
        " RETURNING true",
};

/* A state has no row before, or one of its own.  It returns a row only to the first who asks.
 * $1 id, $2 ends_at in seconds since 1970; $3 account_id finds the place. */
static const struct pg_statement use_statement = {
    .name = "gate_use",
    .types = PG_BOOL,
    .writes = true,
    .sql =
        "INSERT INTO adit.gate_session AS s (id, ends_at) VALUES ($1, to_timestamp($2::bigint))"
        " ON CONFLICT (id) DO UPDATE SET key_id = NULL, sealed = NULL WHERE s.key_id IS NOT NULL"
        " RETURNING true",
};

#define PURGE_ROWS 1000

/* $1 rows at most. */
static const struct pg_statement purge_statement = {
    .name = "gate_purge",
    .types = PG_BOOL,
    .writes = true,
    .is_repeatable = true,
    .sql =
        "DELETE FROM adit.gate_session WHERE id IN ("
          "SELECT id FROM adit.gate_session WHERE ends_at < now() ORDER BY ends_at LIMIT $1"
          " FOR UPDATE SKIP LOCKED)"
        " RETURNING true",
};

/* clang-format on */

/* ---- reading ---- */

static bool read_lists(const struct pg_result *result, struct arena *arena,
                       struct oauth_provider *config)
{
    return pg_texts(result, 0, COLUMN_SCOPES, arena, &config->scopes) &&
           pg_texts(result, 0, COLUMN_EMAIL_ADDRESSES, arena, &config->email_addresses) &&
           pg_texts(result, 0, COLUMN_EMAIL_DOMAINS, arena, &config->email_domains) &&
           pg_texts(result, 0, COLUMN_TEAMS, arena, &config->teams) &&
           pg_texts(result, 0, COLUMN_ORGANIZATIONS, arena, &config->organizations);
}

static bool read_gate_module(const struct pg_result *result, struct arena *arena,
                             struct oauth_module *module)
{
    module->enabled = pg_bool(result, 0, COLUMN_ENABLED);
    module->provider = identity_provider_stored(pg_int(result, 0, COLUMN_PROVIDER));
    module->options_passthrough = pg_bool(result, 0, COLUMN_OPTIONS_PASSTHROUGH);
    module->inactivity_timeout = (uint32_t)pg_int(result, 0, COLUMN_INACTIVITY_TIMEOUT);
    module->maximum_duration = (uint32_t)pg_int(result, 0, COLUMN_MAXIMUM_DURATION);
    module->auth_check_interval = (uint32_t)pg_int(result, 0, COLUMN_AUTH_CHECK_INTERVAL);
    return pg_copy(result, 0, COLUMN_CLIENT_ID, arena, &module->config.client_id) &&
           pg_copy(result, 0, COLUMN_COOKIE_PREFIX, arena, &module->cookie_prefix) &&
           read_lists(result, arena, &module->config);
}

static bool read_rows(const struct pg_result *result, struct arena *arena,
                      struct gate_answer *answer)
{
    answer->rows = arena_array(arena, (size_t)pg_rows(result), sizeof *answer->rows);
    if (!answer->rows)
        return false;
    for (int row = 0; row < pg_rows(result); row++) {
        struct gate_row *session = &answer->rows[answer->n_rows];

        if (pg_is_null(result, row, COLUMN_SESSION_ID))
            continue;
        session->has_ended = pg_is_null(result, row, COLUMN_SESSION_KEY_ID);
        if (!pg_copy(result, row, COLUMN_SESSION_ID, arena, &session->id) ||
            !pg_copy(result, row, COLUMN_SESSION_KEY_ID, arena, &session->key_id) ||
            !pg_copy(result, row, COLUMN_SESSION_SEALED, arena, &session->sealed))
            return false;
        answer->n_rows++;
    }
    return true;
}

/* The first row has the module. */
static bool read_gate_answer(const struct pg_result *result, struct arena *arena,
                             struct gate_answer *answer)
{
    answer->has_module = !pg_is_null(result, 0, COLUMN_ENABLED);
    if (answer->has_module)
        answer->incarnation = pg_int(result, 0, COLUMN_INCARNATION);
    return (!answer->has_module || read_gate_module(result, arena, &answer->module)) &&
           read_rows(result, arena, answer);
}

static bool ask(struct pg *pg, const struct gate_question *question, struct arena *arena,
                struct gate_answer *answer, struct error *err)
{
    const struct text_list *ids = &question->session_ids;
    struct pg_params params = {.n = 0};
    struct pg_result *result;
    bool ok = true;

    pg_add_text(&params, question->account_id);
    pg_add_text(&params, question->route.edge_id);
    pg_add_text(&params, question->route.route_id);
    pg_add_text(&params, ids->n > 0 ? ids->items[0] : text_of(""));
    if (!pg_run(pg, &ask_statement, &params, &result, err))
        return false;
    answer->n_accounts = pg_rows(result) > 0;
    answer->account_id = question->account_id;
    if (answer->n_accounts > 0)
        ok = read_gate_answer(result, arena, answer) || error_set(err, ERR_OUT_OF_MEMORY);
    pg_result_free(result);
    return ok;
}

static bool ask_any(struct pg *pg, const struct gate_question *question, struct arena *arena,
                    struct gate_answer *answer, struct error *err)
{
    struct pg_params params = {.n = 0};
    struct pg_result *result;
    bool ok;

    pg_add_text(&params, question->account_id.s ? question->account_id : text_of(""));
    pg_add_text(&params, question->route.edge_id);
    pg_add_text(&params, question->route.route_id);
    pg_add_texts(&params, question->session_ids, arena);
    if (!pg_run(pg, &ask_any_statement, &params, &result, err))
        return false;
    if (pg_rows(result) == 0) {
        pg_result_free(result);
        return true;
    }
    answer->n_accounts = (int)pg_int(result, 0, COLUMN_N_ACCOUNTS);
    ok = (pg_copy(result, 0, COLUMN_ACCOUNT_ID, arena, &answer->account_id) &&
          read_gate_answer(result, arena, answer)) ||
         error_set(err, ERR_OUT_OF_MEMORY);
    pg_result_free(result);
    return ok;
}

bool store_gate_ask(struct pg *pg, const struct gate_question *question, struct arena *arena,
                    struct gate_answer *answer, struct error *err)
{
    *answer = (struct gate_answer){.n_accounts = 0};
    if (text_present(question->account_id) && question->session_ids.n <= 1)
        return ask(pg, question, arena, answer, err);
    /* To find the only one would ask all nodes. */
    if (pg_is_by_account(pg) && !text_present(question->account_id)) {
        answer->n_accounts = 2;
        return true;
    }
    return ask_any(pg, question, arena, answer, err);
}

bool store_gate_secret(struct pg *pg, struct text account_id, const struct module_place *route,
                       const struct oauth_module *module, struct arena *arena,
                       struct gate_secret *secret, struct error *err)
{
    struct pg_params params = {.n = 0};
    struct pg_result *result;
    bool ok;

    *secret = (struct gate_secret){.is_found = false};
    pg_add_text(&params, account_id);
    pg_add_text(&params, route->edge_id);
    pg_add_text(&params, route->route_id);
    pg_add_int(&params, module->provider);
    pg_add_text(&params, module->config.client_id);
    if (!pg_run(pg, &secret_statement, &params, &result, err))
        return false;
    secret->is_found = pg_rows(result) == 1;
    ok = !secret->is_found || (pg_copy(result, 0, 0, arena, &secret->key_id) &&
                               pg_copy(result, 0, 1, arena, &secret->sealed));
    pg_result_free(result);
    return ok || error_set(err, ERR_OUT_OF_MEMORY);
}

/* ---- writing ---- */

static bool run_gate_statement(struct pg *pg, const struct pg_statement *statement,
                               const struct pg_params *params, struct error *err)
{
    struct pg_result *result;

    if (!pg_run(pg, statement, params, &result, err))
        return false;
    pg_result_free(result);
    return true;
}

bool store_gate_keep(struct pg *pg, struct text account_id, const struct gate_write *write,
                     bool *is_kept, struct error *err)
{
    const struct gate_row *row = &write->row;
    struct pg_params params = {.n = 0};
    struct pg_result *result;

    pg_add_text(&params, row->id);
    pg_add_text(&params, row->key_id);
    pg_add_bytes(&params, row->sealed.s, row->sealed.len);
    pg_add_int(&params, write->ends_at);
    if (write->before.s)
        pg_add_bytes(&params, write->before.s, write->before.len);
    else
        pg_add_null(&params);
    pg_add_place(&params, account_id);
    if (!pg_run(pg, &keep_statement, &params, &result, err))
        return false;
    *is_kept = pg_rows(result) > 0;
    pg_result_free(result);
    return true;
}

bool store_gate_end(struct pg *pg, struct text account_id, struct text session_id, int64_t ends_at,
                    struct error *err)
{
    struct pg_params params = {.n = 0};

    pg_add_text(&params, session_id);
    pg_add_int(&params, ends_at);
    pg_add_place(&params, account_id);
    return run_gate_statement(pg, &end_statement, &params, err);
}

bool store_gate_use(struct pg *pg, struct text account_id, struct text state_id, int64_t ends_at,
                    bool *is_first, struct error *err)
{
    struct pg_params params = {.n = 0};
    struct pg_result *result;

    pg_add_text(&params, state_id);
    pg_add_int(&params, ends_at);
    pg_add_place(&params, account_id);
    if (!pg_run(pg, &use_statement, &params, &result, err))
        return false;
    *is_first = pg_rows(result) > 0;
    pg_result_free(result);
    return true;
}

bool store_gate_purge(struct pg *pg, bool *is_done, struct error *err)
{
    struct pg_params params = {.n = 0};
    struct pg_result *result;

    pg_add_int(&params, PURGE_ROWS);
    if (!pg_run(pg, &purge_statement, &params, &result, err))
        return false;
    *is_done = pg_rows(result) < PURGE_ROWS;
    pg_result_free(result);
    return true;
}
