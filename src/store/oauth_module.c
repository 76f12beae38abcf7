/* SPDX-License-Identifier: MIT */
/* The statements of OAuth modules, and the operations on them. */
#include "store/oauth_module.h"

#include "store/executor.h"
#include "store/oauth_secret.h"

/* clang-format off */

/* A secret is sealed for its row, which includes the account, before the statement looks up the
 * account.  So the caller passes the account that the key belonged to in its latest request ($5;
 * NULL: there is no secret).  If that is wrong, the statement writes nothing and returns the
 * account to seal for. */
#define RIGHT_ACCOUNT "($5::text IS NULL OR $5::text = caller.account_id)"

/*  $1 digest               $2 operation_id         $3 edge_id              $4 route_id
 *  $5 account_id           $6 enabled              $7 provider             $8 client_id
 *  $9 secret's key id     $10 sealed secret       $11 scopes              $12 email_addresses
 * $13 email_domains       $14 teams               $15 organizations       $16 options_passthrough
 * $17 cookie_prefix       $18 inactivity_timeout  $19 maximum_duration    $20 auth_check_interval
 * $21 If-Match            $22 If-None-Match
 * "old" locks the row that If-Match names: the INSERT cannot check that it is there and stays. */
static const struct pg_statement put_statement = {
    .name = "oauth_module_put",
    .types = CALLER_TYPES PG_BIGINT PG_BOOL,
    .writes = true,
    .sql =
        CALLER_CTE
        ", old AS MATERIALIZED ("
            "SELECT m.revision"
            " FROM caller"
            " JOIN adit.oauth_module AS m"
              " ON m.account_id = caller.account_id"
              " AND m.edge_id = $3::text COLLATE \"C\""
              " AND m.route_id = $4::text COLLATE \"C\""
            " WHERE $21::bigint[] IS NOT NULL"
              " AND " CALLER_MAY_WRITE
            " FOR UPDATE OF m"
        "), m AS ("
            "INSERT INTO adit.oauth_module AS m"
              " (account_id, edge_id, route_id,"
              " enabled, provider, client_id,"
              " client_secret_key_id, client_secret_sealed,"
              " scopes,"
              " email_addresses,"
              " email_domains,"
              " teams,"
              " organizations,"
              " options_passthrough, cookie_prefix,"
              " inactivity_timeout, maximum_duration, auth_check_interval)"
            " SELECT caller.account_id, $3::text, $4::text,"
              " $6::boolean, $7::smallint, $8::text,"
              " $9::text, $10::bytea,"
              " coalesce($11::text[], '{}'),"
              " coalesce($12::text[], '{}'),"
              " coalesce($13::text[], '{}'),"
              " coalesce($14::text[], '{}'),"
              " coalesce($15::text[], '{}'),"
              " $16::boolean, $17::text,"
              " $18::bigint, $19::bigint, $20::bigint"
            " FROM caller"
            " WHERE " CALLER_MAY_WRITE
              " AND " RIGHT_ACCOUNT
              " AND ($21::bigint[] IS NULL OR EXISTS (SELECT FROM old))"
            " ON CONFLICT (account_id, edge_id, route_id) DO UPDATE"
            " SET enabled = excluded.enabled,"
              " provider = excluded.provider,"
              " client_id = excluded.client_id,"
              " client_secret_key_id = excluded.client_secret_key_id,"
              " client_secret_sealed = excluded.client_secret_sealed,"
              " scopes = excluded.scopes,"
              " email_addresses = excluded.email_addresses,"
              " email_domains = excluded.email_domains,"
              " teams = excluded.teams,"
              " organizations = excluded.organizations,"
              " options_passthrough = excluded.options_passthrough,"
              " cookie_prefix = excluded.cookie_prefix,"
              " inactivity_timeout = excluded.inactivity_timeout,"
              " maximum_duration = excluded.maximum_duration,"
              " auth_check_interval = excluded.auth_check_interval"
            " WHERE " CALLER_CONDITION("m", "$21", "$22")
            " RETURNING m.revision"
        ")"
        " SELECT " CALLER_COLUMNS_OF("caller") ", m.revision, " RIGHT_ACCOUNT
        " FROM caller"
        " LEFT JOIN m ON true",
};

enum put_column { COLUMN_PUT_REVISION = CALLER_N_COLUMNS, COLUMN_RIGHT_ACCOUNT };

/* $1 digest, $2 edge_id, $3 route_id.
 * A read-only key gets no secret, not even a sealed one. */
static const struct pg_statement get_statement = {
    .name = "oauth_module_get",
    .types = CALLER_TYPES
        PG_BOOL PG_SMALLINT PG_TEXT
        PG_TEXT PG_BYTEA
        PG_TEXTS PG_TEXTS PG_TEXTS PG_TEXTS PG_TEXTS
        PG_BOOL PG_TEXT
        PG_BIGINT PG_BIGINT PG_BIGINT PG_BIGINT,
    .is_short = true,
    .sql =
        "SELECT " CALLER_COLUMNS_OF("k") ","
          " m.enabled, m.provider, m.client_id,"
          " m.client_secret_key_id, CASE WHEN NOT k.read_only THEN m.client_secret_sealed END,"
          " m.scopes, m.email_addresses, m.email_domains, m.teams, m.organizations,"
          " m.options_passthrough, m.cookie_prefix,"
          " m.inactivity_timeout, m.maximum_duration, m.auth_check_interval, m.revision"
        " FROM adit.api_key AS k"
        " LEFT JOIN adit.oauth_module AS m"
          " ON m.account_id = k.account_id"
          " AND m.edge_id = $2::text COLLATE \"C\""
          " AND m.route_id = $3::text COLLATE \"C\""
        " WHERE " CALLER_KEY_IS_GOOD,
};

enum get_column {
    COLUMN_ENABLED = CALLER_N_COLUMNS,
    COLUMN_PROVIDER,
    COLUMN_CLIENT_ID,
    COLUMN_SECRET_KEY_ID,
    COLUMN_SECRET_SEALED,
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
    COLUMN_REVISION
};

/* $1 digest, $2 operation_id, $3 edge_id, $4 route_id, $5 If-Match, $6 If-None-Match. */
static const struct pg_statement delete_statement = {
    .name = "oauth_module_delete",
    .types = CALLER_TYPES EXECUTOR_DELETE_TYPES,
    .writes = true,
    .sql =
        CALLER_CTE
        ", m AS ("
            "DELETE FROM adit.oauth_module AS m"
            " USING caller"
            " WHERE " CALLER_MAY_WRITE
              " AND m.account_id = caller.account_id"
              " AND m.edge_id = $3::text COLLATE \"C\""
              " AND m.route_id = $4::text COLLATE \"C\""
              " AND " CALLER_CONDITION("m", "$5", "$6")
            " RETURNING m.edge_id"
        ")"
        " SELECT " CALLER_COLUMNS_OF("caller") ", m.edge_id,"
          " m.edge_id IS NULL"
          " AND EXISTS (SELECT FROM adit.oauth_module AS e"
            " WHERE e.account_id = caller.account_id"
            " AND e.edge_id = $3::text COLLATE \"C\""
            " AND e.route_id = $4::text COLLATE \"C\")"
        " FROM caller"
        " LEFT JOIN m ON true",
};

/* clang-format on */

/* A sealed client secret; all zero if there is none. */
struct sealed {
    struct text key_id;
    const unsigned char *bytes;
    size_t len;
};

static void add_put_params(struct pg_params *params, const struct oauth_route *route,
                           const struct oauth_module *module, struct text account_id,
                           const struct sealed *sealed, struct arena *arena)
{
    const struct oauth_provider *config = &module->config;

    pg_add_text(params, route->edge_id);
    pg_add_text(params, route->route_id);
    pg_add_text(params, account_id);
    pg_add_bool(params, module->enabled);
    if (module->provider)
        pg_add_int(params, module->provider);
    else
        pg_add_null(params);
    pg_add_text(params, config->client_id);
    pg_add_text(params, sealed->key_id);
    pg_add_bytes(params, sealed->bytes, sealed->len);
    pg_add_texts(params, config->scopes, arena);
    pg_add_texts(params, config->email_addresses, arena);
    pg_add_texts(params, config->email_domains, arena);
    pg_add_texts(params, config->teams, arena);
    pg_add_texts(params, config->organizations, arena);
    pg_add_bool(params, module->options_passthrough);
    pg_add_text(params, module->cookie_prefix);
    pg_add_int(params, module->inactivity_timeout);
    pg_add_int(params, module->maximum_duration);
    pg_add_int(params, module->auth_check_interval);
}

/* Runs the statement with an account, which may be wrong.  Sets *right to whether it is the key's;
 * if not, nothing is written. */
static bool try_put(struct store *store, const struct store_request *request,
                    const struct oauth_route *route, struct oauth_module *module,
                    struct text account_id, bool *right, struct error *err)
{
    struct keyring_place place = oauth_secret_place(account_id, route, module->provider);
    struct sealed sealed = {.len = 0};
    struct pg_params params;
    struct pg_result *result;
    bool written;

    if (module->config.client_secret.s &&
        !keyring_seal(store->keyring, &place, module->config.client_secret, request->arena,
                      &sealed.key_id, &sealed.bytes, &sealed.len, err))
        return false;
    executor_write_params(&params, request);
    add_put_params(&params, route, module, account_id, &sealed, request->arena);
    executor_add_condition(&params, request);
    if (!executor_run(store, &put_statement, request, &params, &result, err))
        return false;
    *right = pg_bool(result, 0, COLUMN_RIGHT_ACCOUNT);
    written = !pg_is_null(result, 0, COLUMN_PUT_REVISION);
    module->revision = pg_int(result, 0, COLUMN_PUT_REVISION);
    pg_result_free(result);
    return written || !*right || error_set(err, ERR_PRECONDITION_FAILED);
}

bool store_oauth_module_put(struct store *store, const struct store_request *request,
                            const struct oauth_route *route, struct oauth_module *module,
                            struct error *err)
{
    bool has_secret = module->config.client_secret.s != NULL;
    bool right = false;

    for (int attempt = 0; attempt < 2 && !right; attempt++) {
        struct text account_id = {0};

        if (has_secret) {
            account_id = executor_account_hint(store, &request->caller);
            if (!account_id.s) {
                if (!store_authorize(store, request, true, err))
                    return false;
                account_id = executor_account_hint(store, &request->caller);
            }
        }
        if (!try_put(store, request, route, module, account_id, &right, err))
            return false;
    }
    return right || error_cause(err, ERR_INTERNAL, "oauth module: the account was not found");
}

static struct text copy_text(const struct pg_result *result, int column, struct arena *arena,
                             bool *ok)
{
    struct text value = pg_text(result, 0, column);

    if (value.s) {
        value.s = arena_copy(arena, value.s, value.len);
        *ok = *ok && value.s;
    }
    return value;
}

static bool open_secret(const struct store *store, const struct pg_result *result,
                        const struct oauth_route *route, struct arena *arena,
                        struct oauth_module *module, struct error *err)
{
    struct keyring_place place =
        oauth_secret_place(pg_text(result, 0, CALLER_ACCOUNT_ID), route, module->provider);
    size_t len;
    const unsigned char *sealed = pg_bytes(result, 0, COLUMN_SECRET_SEALED, &len);

    return !sealed || keyring_open(store->keyring, &place, pg_text(result, 0, COLUMN_SECRET_KEY_ID),
                                   sealed, len, arena, &module->config.client_secret, err);
}

static bool read_module(const struct pg_result *result, struct arena *arena,
                        struct oauth_module *module)
{
    struct oauth_provider *config = &module->config;
    bool ok = true;

    *module = (struct oauth_module){
        .enabled = pg_bool(result, 0, COLUMN_ENABLED),
        .provider = (int)pg_int(result, 0, COLUMN_PROVIDER),
        .options_passthrough = pg_bool(result, 0, COLUMN_OPTIONS_PASSTHROUGH),
        .inactivity_timeout = (uint32_t)pg_int(result, 0, COLUMN_INACTIVITY_TIMEOUT),
        .maximum_duration = (uint32_t)pg_int(result, 0, COLUMN_MAXIMUM_DURATION),
        .auth_check_interval = (uint32_t)pg_int(result, 0, COLUMN_AUTH_CHECK_INTERVAL),
        .revision = pg_int(result, 0, COLUMN_REVISION),
    };
    module->cookie_prefix = copy_text(result, COLUMN_COOKIE_PREFIX, arena, &ok);
    config->client_id = copy_text(result, COLUMN_CLIENT_ID, arena, &ok);
    return ok && pg_texts(result, 0, COLUMN_SCOPES, arena, &config->scopes) &&
           pg_texts(result, 0, COLUMN_EMAIL_ADDRESSES, arena, &config->email_addresses) &&
           pg_texts(result, 0, COLUMN_EMAIL_DOMAINS, arena, &config->email_domains) &&
           pg_texts(result, 0, COLUMN_TEAMS, arena, &config->teams) &&
           pg_texts(result, 0, COLUMN_ORGANIZATIONS, arena, &config->organizations);
}

bool store_oauth_module_get(struct store *store, const struct store_request *request,
                            const struct oauth_route *route, struct oauth_module *module,
                            struct error *err)
{
    struct pg_params params;
    struct pg_result *result;
    bool ok = false;

    executor_params(&params, request);
    pg_add_text(&params, route->edge_id);
    pg_add_text(&params, route->route_id);
    if (!executor_run(store, &get_statement, request, &params, &result, err))
        return false;
    if (pg_is_null(result, 0, COLUMN_ENABLED))
        error_set(err, ERR_OAUTH_NOT_FOUND);
    else if (!read_module(result, request->arena, module))
        error_set(err, ERR_OUT_OF_MEMORY);
    else
        ok = open_secret(store, result, route, request->arena, module, err);
    pg_result_free(result);
    return ok;
}

bool store_oauth_module_delete(struct store *store, const struct store_request *request,
                               const struct oauth_route *route, struct error *err)
{
    struct pg_params params;

    executor_write_params(&params, request);
    pg_add_text(&params, route->edge_id);
    pg_add_text(&params, route->route_id);
    executor_add_condition(&params, request);
    return executor_delete(store, &delete_statement, request, &params, ERR_NONE, err);
}
