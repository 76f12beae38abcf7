/* SPDX-License-Identifier: MIT */
/* The statements of OAuth modules, and the operations on them. */
#include "store/oauth_module.h"

#include "store/executor.h"
#include "store/filter.h"
#include "store/oauth_admission.h"
#include "store/oauth_secret.h"
#include "store/page_rows.h"

/* clang-format off */

/* A secret is sealed for its row, which includes the account, before the statement looks up the
 * account.  So the caller passes the account that the key belonged to in its latest request ($6;
 * NULL: there is no secret).  If that is wrong, the statement writes nothing and returns the
 * account to seal for. */
#define RIGHT_ACCOUNT "($6::text IS NULL OR $6::text = caller.account_id)"

/*  $1 digest               $2 account              $3 request              $4 edge_id
 *  $5 route_id             $6 sealed for           $7 enabled              $8 provider
 *  $9 client_id           $10 secret's key id     $11 sealed secret       $12 scopes
 * $13 email_addresses     $14 email_domains       $15 teams               $16 organizations
 * $17 options_passthrough $18 cookie_prefix       $19 inactivity_timeout  $20 maximum_duration
 * $21 auth_check_interval $22 If-Match            $23 If-None-Match
 * "old" locks the row that If-Match names: the INSERT cannot check that it is there and stays. */
#define PUT_HEAD                                                                                   \
    "INSERT INTO adit.oauth_module AS m"                                                           \
      " (account_id, edge_id, route_id,"                                                           \
      " enabled, provider, client_id,"                                                             \
      " client_secret_key_id, client_secret_sealed,"                                               \
      " scopes,"                                                                                   \
      " email_addresses,"                                                                          \
      " email_domains,"                                                                            \
      " teams,"                                                                                    \
      " organizations,"                                                                            \
      " options_passthrough, cookie_prefix,"                                                       \
      " inactivity_timeout, maximum_duration, auth_check_interval)"                                \
    " SELECT caller.account_id, $4::text, $5::text,"                                               \
      " $7::boolean, $8::smallint, $9::text,"                                                      \
      " $10::text, $11::bytea,"                                                                    \
      " coalesce($12::text[], '{}'),"                                                              \
      " coalesce($13::text[], '{}'),"                                                              \
      " coalesce($14::text[], '{}'),"                                                              \
      " coalesce($15::text[], '{}'),"                                                              \
      " coalesce($16::text[], '{}'),"                                                              \
      " $17::boolean, $18::text,"                                                                  \
      " $19::bigint, $20::bigint, $21::bigint"
#define PUT_ON_CONFLICT                                                                            \
    " ON CONFLICT (account_id, edge_id, route_id) DO UPDATE"                                       \
    " SET enabled = excluded.enabled,"                                                             \
      " provider = excluded.provider,"                                                             \
      " client_id = excluded.client_id,"                                                           \
      " client_secret_key_id = excluded.client_secret_key_id,"                                     \
      " client_secret_sealed = excluded.client_secret_sealed,"                                     \
      " scopes = excluded.scopes,"                                                                 \
      " email_addresses = excluded.email_addresses,"                                               \
      " email_domains = excluded.email_domains,"                                                   \
      " teams = excluded.teams,"                                                                   \
      " organizations = excluded.organizations,"                                                   \
      " options_passthrough = excluded.options_passthrough,"                                       \
      " cookie_prefix = excluded.cookie_prefix,"                                                   \
      " inactivity_timeout = excluded.inactivity_timeout,"                                         \
      " maximum_duration = excluded.maximum_duration,"                                             \
      " auth_check_interval = excluded.auth_check_interval"

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
              " AND m.edge_id = $4::text COLLATE \"C\""
              " AND m.route_id = $5::text COLLATE \"C\""
            " WHERE $22::bigint[] IS NOT NULL"
              " AND " CALLER_FIRST(CALLER_MAY_WRITE)
            " FOR UPDATE OF m"
        "), m AS ("
            PUT_HEAD
            " FROM caller"
            " WHERE " CALLER_MAY_WRITE
              " AND " RIGHT_ACCOUNT
              " AND ($22::bigint[] IS NULL OR EXISTS (SELECT FROM old))"
            PUT_ON_CONFLICT
            " WHERE " CALLER_CONDITION("m", "$22", "$23")
            " RETURNING m.revision"
        ")"
        " SELECT " CALLER_COLUMNS_OF("caller") ", m.revision, " RIGHT_ACCOUNT
        " FROM caller"
        " LEFT JOIN m ON true",
    .distributed_sql =
        "SELECT * FROM adit.put_oauth_module("
          "$2::text, $1::bytea, $3::text, $4::text, $5::text, $6::text,"
          " $7::boolean, $8::smallint, $9::text, $10::text, $11::bytea,"
          " $12::text[], $13::text[], $14::text[], $15::text[], $16::text[],"
          " $17::boolean, $18::text, $19::bigint, $20::bigint, $21::bigint,"
          " $22::bigint[], $23::bigint[])",
};

/* $1 to $21, without a condition. */
static const struct pg_statement quick_put_statement = {
    .name = "oauth_module_quick_put",
    .types = CALLER_TYPES PG_BIGINT PG_BOOL,
    .writes = true,
    .sql =
        PUT_HEAD
        " FROM adit.api_key AS caller"
        " WHERE " CALLER_QUICK
          " AND " CALLER_MAY_WRITE
          " AND " RIGHT_ACCOUNT
        PUT_ON_CONFLICT
        " RETURNING " CALLER_COLUMNS_OF_NEW("m") ", m.revision, true",
};

enum put_column { COLUMN_PUT_REVISION = CALLER_N_COLUMNS, COLUMN_RIGHT_ACCOUNT };

/* In the order of enum column, after the caller's.  Only a key that reads secrets gets the secret;
 * the others do not even get the sealed one. */
#define COLUMNS(reads_secret)                                                                      \
    "m.enabled, m.provider, m.client_id,"                                                          \
    " m.client_secret_key_id, CASE WHEN " reads_secret " THEN m.client_secret_sealed END,"         \
    " m.scopes, m.email_addresses, m.email_domains, m.teams, m.organizations,"                     \
    " m.options_passthrough, m.cookie_prefix,"                                                     \
    " m.inactivity_timeout, m.maximum_duration, m.auth_check_interval, m.revision"
#define TYPES                                                                                      \
    PG_BOOL PG_SMALLINT PG_TEXT                                                                    \
    PG_TEXT PG_BYTEA                                                                               \
    PG_TEXTS PG_TEXTS PG_TEXTS PG_TEXTS PG_TEXTS                                                   \
    PG_BOOL PG_TEXT                                                                                \
    PG_BIGINT PG_BIGINT PG_BIGINT PG_BIGINT

/* $1 digest, $2 account, $3 edge_id, $4 route_id. */
#define GET_SQL(in_account)                                                                        \
    "SELECT " CALLER_COLUMNS_OF("k") ", " COLUMNS(KEY_SQL_MAY_READ_SECRETS("k"))                   \
    " FROM adit.api_key AS k"                                                                      \
    CALLER_JOINS("adit.oauth_module", "m", "m.*",                                                         \
                 " AND m.edge_id = $3::text COLLATE \"C\""                                         \
                 " AND m.route_id = $4::text COLLATE \"C\"" in_account)                            \
    " WHERE " CALLER_KEY_IS_GOOD

static const struct pg_statement get_statement = {
    .name = "oauth_module_get",
    .types = CALLER_TYPES TYPES,
    .is_short = true,
    .sql = GET_SQL(""),
    .distributed_sql = GET_SQL(CALLER_AND_IN_ACCOUNT("m")),
};

enum column {
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
    COLUMN_REVISION,
    N_COLUMNS
};

/* In their place in the row that has only the caller's columns. */
#define NO_COLUMNS                                                                                 \
    "NULL::boolean, NULL::smallint, NULL::text,"                                                   \
    " NULL::text, NULL::bytea,"                                                                    \
    " NULL::text[], NULL::text[], NULL::text[], NULL::text[], NULL::text[],"                       \
    " NULL::boolean, NULL::text,"                                                                  \
    " NULL::bigint, NULL::bigint, NULL::bigint, NULL::bigint"

/* Whether the key reads secrets; PostgreSQL looks once a statement. */
#define MAY_READ_SECRETS                                                                           \
    "(SELECT " KEY_SQL_MAY_READ_SECRETS("k") " FROM adit.api_key AS k WHERE " CALLER_KEY_IS_GOOD ")"

/* $1 digest, $2 account, $3 edge_id and $4 route_id of the module before the page (never NULL),
 * $5 limit; under a filter $6, the names of the providers, and $7 and $8 of OAUTH_ADMITS.  '' sorts
 * before every edge_id, so the caller's row comes first. */
#define LIST_HEAD_AND(in_account)                                                                  \
    "SELECT " CALLER_COLUMNS_OF("k") ", " NO_COLUMNS ","                                           \
      " ''::text COLLATE \"C\" AS listed_edge_id, ''::text COLLATE \"C\" AS listed_route_id"       \
    " FROM adit.api_key AS k"                                                                      \
    " WHERE " CALLER_KEY_IS_GOOD                                                                   \
    " UNION ALL ("                                                                                 \
        "SELECT " CALLER_NO_COLUMNS ", " COLUMNS(MAY_READ_SECRETS) ", m.edge_id, m.route_id"       \
        " FROM adit.oauth_module AS m"                                                             \
        " WHERE m.account_id = " CALLER_ACCOUNT in_account                                         \
          " AND (m.edge_id, m.route_id) > ($3::text COLLATE \"C\", $4::text COLLATE \"C\")"
#define LIST_HEAD LIST_HEAD_AND("")
#define DISTRIBUTED_LIST_HEAD LIST_HEAD_AND(CALLER_AND_IN_ACCOUNT("m"))
#define LIST_END                                                                                   \
        " ORDER BY m.edge_id, m.route_id"                                                          \
        " LIMIT $5::bigint"                                                                        \
    ")"                                                                                            \
    " ORDER BY listed_edge_id, listed_route_id"

static const struct pg_statement list_statement = {
    .name = "oauth_module_list",
    .types = CALLER_TYPES TYPES PG_TEXT PG_TEXT,
    .sql = LIST_HEAD LIST_END,
    .distributed_sql = DISTRIBUTED_LIST_HEAD LIST_END,
};

/* PostgreSQL wants to see every parameter. */
#define FILTERED                                                                                   \
    " AND $6::text[] IS NOT NULL AND $7::text[] IS NOT NULL AND $8::bigint[] IS NOT NULL"

static const struct filter_statement filtered_list_statement = {
    .name = "oauth_module_filtered_list",
    .types = CALLER_TYPES TYPES PG_TEXT PG_TEXT,
    .fast = "edge_id == \"...\"",
    .head = LIST_HEAD FILTERED,
    .distributed_head = DISTRIBUTED_LIST_HEAD FILTERED,
    .end = LIST_END,
};

const struct filter_member oauth_module_filter_members[] = {
    {"edge_id", FILTER_STRING, "m.edge_id"},
    {"id", FILTER_STRING, "m.route_id"},
    {"enabled", FILTER_BOOL, "m.enabled"},
    {"provider", FILTER_STRING, "coalesce(($6::text[])[m.provider], '')"},
    {"email_addresses", FILTER_STRINGS, "m.email_addresses"},
    {"email_domains", FILTER_STRINGS, "m.email_domains"},
    {"teams", FILTER_STRINGS, "m.teams"},
    {"organizations", FILTER_STRINGS, "m.organizations"},
    {"admits", FILTER_STRING, OAUTH_ADMITS("$7", "$8")},
    {.name = NULL},
};

enum list_column { COLUMN_EDGE_ID = N_COLUMNS, COLUMN_ROUTE_ID };

/* $1 digest, $2 account, $3 request, $4 edge_id, $5 route_id, $6 If-Match, $7 If-None-Match. */
static const struct pg_statement delete_statement = {
    .name = "oauth_module_delete",
    .types = CALLER_TYPES EXECUTOR_DELETE_TYPES,
    .writes = true,
    .sql =
        CALLER_CTE
        ", m AS ("
            "DELETE FROM adit.oauth_module AS m"
            " USING caller"
            " WHERE " CALLER_FIRST(CALLER_MAY_WRITE)
              " AND m.account_id = caller.account_id"
              " AND m.edge_id = $4::text COLLATE \"C\""
              " AND m.route_id = $5::text COLLATE \"C\""
              " AND " CALLER_CONDITION("m", "$6", "$7")
            " RETURNING m.edge_id"
        ")"
        " SELECT " CALLER_COLUMNS_OF("caller") ", m.edge_id,"
          " m.edge_id IS NULL"
          " AND " CALLER_MAY_WRITE " AND EXISTS (SELECT FROM adit.oauth_module AS e"
            " WHERE e.account_id = caller.account_id"
            " AND e.edge_id = $4::text COLLATE \"C\""
            " AND e.route_id = $5::text COLLATE \"C\"), false"
        " FROM caller"
        " LEFT JOIN m ON true",
    .distributed_sql =
        "SELECT * FROM adit.delete_oauth_module("
          "$2::text, $1::bytea, $3::text, $4::text, $5::text, $6::bigint[], $7::bigint[])",
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

/* The account of a secret may come from an earlier request.  Then only this tells whether the key
 * is still good and may write, which comes first.  Returns false. */
static bool refuse_unsealed(struct store *store, const struct store_request *request,
                            struct error *err)
{
    struct error refused;

    if (!store_authorize(store, request, true, &refused))
        *err = refused;
    return false;
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
    struct pg_result *result = NULL;
    bool written;

    if (module->config.client_secret.s &&
        !keyring_seal(store->keyring, &place, module->config.client_secret, request->arena,
                      &sealed.key_id, &sealed.bytes, &sealed.len, err))
        return refuse_unsealed(store, request, err);
    executor_write_params(&params, request);
    add_put_params(&params, route, module, account_id, &sealed, request->arena);
    if (!precondition_given(&request->condition) &&
        !executor_run_quick(store, &quick_put_statement, request, &params, &result, err))
        return false;
    executor_add_condition(&params, request);
    if (!result && !executor_run(store, &put_statement, request, &params, &result, err))
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

static struct text copy_text(const struct pg_result *result, int row, int column,
                             struct arena *arena, bool *ok)
{
    struct text value = pg_text(result, row, column);

    if (value.s) {
        value.s = arena_copy(arena, value.s, value.len);
        *ok = *ok && value.s;
    }
    return value;
}

static bool open_secret(const struct store *store, const struct pg_result *result, int row,
                        struct arena *arena, struct oauth_module_item *item, struct error *err)
{
    struct oauth_module *module = &item->module;
    struct keyring_place place =
        oauth_secret_place(pg_text(result, 0, CALLER_ACCOUNT_ID), &item->route,
                           (int)pg_int(result, row, COLUMN_PROVIDER));
    size_t len;
    const unsigned char *sealed = pg_bytes(result, row, COLUMN_SECRET_SEALED, &len);

    return !sealed ||
           keyring_open(store->keyring, &place, pg_text(result, row, COLUMN_SECRET_KEY_ID), sealed,
                        len, arena, &module->config.client_secret, err);
}

static bool read_module(const struct pg_result *result, int row, struct arena *arena,
                        struct oauth_module *module)
{
    struct oauth_provider *config = &module->config;
    bool ok = true;

    *module = (struct oauth_module){
        .enabled = pg_bool(result, row, COLUMN_ENABLED),
        .provider = identity_provider_stored(pg_int(result, row, COLUMN_PROVIDER)),
        .options_passthrough = pg_bool(result, row, COLUMN_OPTIONS_PASSTHROUGH),
        .inactivity_timeout = (uint32_t)pg_int(result, row, COLUMN_INACTIVITY_TIMEOUT),
        .maximum_duration = (uint32_t)pg_int(result, row, COLUMN_MAXIMUM_DURATION),
        .auth_check_interval = (uint32_t)pg_int(result, row, COLUMN_AUTH_CHECK_INTERVAL),
        .revision = pg_int(result, row, COLUMN_REVISION),
    };
    module->cookie_prefix = copy_text(result, row, COLUMN_COOKIE_PREFIX, arena, &ok);
    config->client_id = copy_text(result, row, COLUMN_CLIENT_ID, arena, &ok);
    return ok && pg_texts(result, row, COLUMN_SCOPES, arena, &config->scopes) &&
           pg_texts(result, row, COLUMN_EMAIL_ADDRESSES, arena, &config->email_addresses) &&
           pg_texts(result, row, COLUMN_EMAIL_DOMAINS, arena, &config->email_domains) &&
           pg_texts(result, row, COLUMN_TEAMS, arena, &config->teams) &&
           pg_texts(result, row, COLUMN_ORGANIZATIONS, arena, &config->organizations);
}

bool store_oauth_module_get(struct store *store, const struct store_request *request,
                            const struct oauth_route *route, struct oauth_module *module,
                            struct error *err)
{
    struct oauth_module_item item = {.route = *route};
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
    else if (!read_module(result, 0, request->arena, &item.module))
        error_set(err, ERR_OUT_OF_MEMORY);
    else
        ok = open_secret(store, result, 0, request->arena, &item, err);
    pg_result_free(result);
    *module = item.module;
    return ok;
}

static size_t list_bytes(const struct text_list *list)
{
    size_t sum = 0;

    for (size_t i = 0; i < list->n; i++)
        sum += list->items[i].len;
    return sum;
}

static size_t module_bytes(const struct oauth_module *module)
{
    const struct oauth_provider *config = &module->config;

    return config->client_id.len + config->client_secret.len + list_bytes(&config->scopes) +
           list_bytes(&config->email_addresses) + list_bytes(&config->email_domains) +
           list_bytes(&config->teams) + list_bytes(&config->organizations);
}

/* A secret that cannot be opened stays absent. */
static bool read_item(const struct store *store, const struct pg_result *result, int row,
                      struct arena *arena, struct oauth_module_item *item, struct error *err)
{
    bool ok = read_module(result, row, arena, &item->module);

    item->route.edge_id = copy_text(result, row, COLUMN_EDGE_ID, arena, &ok);
    item->route.route_id = copy_text(result, row, COLUMN_ROUTE_ID, arena, &ok);
    if (!ok)
        return error_set(err, ERR_OUT_OF_MEMORY);
    return open_secret(store, result, row, arena, item, err) || err->code == ERR_SECRET_UNREADABLE;
}

/* The first row of a list has only the caller's columns. */
static bool read_items(const struct store *store, const struct pg_result *result,
                       const struct oauth_module_page *page, struct arena *arena,
                       struct oauth_module_list *list, struct error *err)
{
    size_t bytes = 0;
    size_t n = (size_t)pg_rows(result) - 1;
    size_t most = (size_t)page->limit < n ? (size_t)page->limit : n;

    *list = (struct oauth_module_list){.items = arena_array(arena, most, sizeof *list->items)};
    if (!list->items)
        return error_set(err, ERR_OUT_OF_MEMORY);
    for (; list->n < most && bytes < page->most_bytes; list->n++) {
        if (!read_item(store, result, 1 + (int)list->n, arena, &list->items[list->n], err))
            return false;
        bytes += module_bytes(&list->items[list->n].module);
    }
    list->more = list->n < n;
    return true;
}

static void add_filter_params(struct pg_params *params, const struct oauth_module_page *page,
                              struct arena *arena)
{
    struct text items[OAUTH_N_PROVIDERS];

    for (size_t i = 0; i < OAUTH_N_PROVIDERS; i++)
        items[i] = text_of(page->names->providers[i]);
    pg_add_texts(params, (struct text_list){.items = items, .n = OAUTH_N_PROVIDERS, .given = true},
                 arena);
    oauth_admission_add(params, page->applications, arena);
}

bool store_oauth_module_list(struct store *store, const struct store_request *request,
                             const struct oauth_module_page *page, struct oauth_module_list *list,
                             struct error *err)
{
    struct oauth_module_page part = *page;
    struct pg_params params;
    struct pg_result *result;
    bool ok;

    part.limit = page_rows_most(store, request, PAGE_OF_OAUTH_MODULES, page->limit);
    executor_params(&params, request);
    pg_add_text(&params, page->after.edge_id.s ? page->after.edge_id : text_of(""));
    pg_add_text(&params, page->after.route_id.s ? page->after.route_id : text_of(""));
    pg_add_int(&params, part.limit + 1);
    if (page->filter)
        add_filter_params(&params, page, request->arena);
    if (page->filter ? !filter_run_list(store, &filtered_list_statement, page->filter, request,
                                        &params, &result, err)
                     : !executor_run(store, &list_statement, request, &params, &result, err))
        return false;
    page_rows_learn(store, request, PAGE_OF_OAUTH_MODULES, result, part.limit, page->most_bytes);
    ok = read_items(store, result, &part, request->arena, list, err);
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
