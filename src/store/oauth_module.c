/* SPDX-License-Identifier: MIT */
/* The statements of OAuth modules, and the operations on them. */
#include "store/oauth_module.h"

#include "store/executor.h"
#include "store/filter.h"
#include "store/member_row.h"
#include "store/member_sql.h"
#include "store/oauth_admission.h"
#include "store/oauth_secret.h"
#include "store/page_rows.h"

/* clang-format off */

/* $1 digest, $2 account, $3 request, those of the module, of which $4 and $5 are its edge and route,
 * and these.
 *
 * A secret is sealed for its row, which includes the account, before the statement looks up the
 * account.  So the caller passes the account that the key belonged to in its latest request (NULL:
 * there is no secret).  If that is wrong, the statement writes nothing and returns the account to
 * seal for.
 *
 * "old" locks the row that If-Match names: the INSERT cannot check that it is there and stays. */
#define SEALED_FOR OAUTH_MODULE_PARAM_1
#define IF_MATCH OAUTH_MODULE_PARAM_2
#define IF_NONE_MATCH OAUTH_MODULE_PARAM_3
#define RIGHT_ACCOUNT "(" SEALED_FOR "::text IS NULL OR " SEALED_FOR "::text = caller.account_id)"
#define PUT_HEAD                                                                                   \
    "INSERT INTO adit.oauth_module AS m"                                                           \
      " (account_id, " OAUTH_MODULE_WRITTEN("") ")"                                                \
    " SELECT caller.account_id, " OAUTH_MODULE_VALUES
#define PUT_ON_CONFLICT                                                                            \
    " ON CONFLICT (account_id, edge_id, route_id) DO UPDATE"                                       \
    " SET " OAUTH_MODULE_EXCLUDED

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
            " WHERE " IF_MATCH "::bigint[] IS NOT NULL"
              " AND " CALLER_FIRST(CALLER_MAY_WRITE)
            " FOR UPDATE OF m"
        "), m AS ("
            PUT_HEAD
            " FROM caller"
            " WHERE " CALLER_MAY_WRITE
              " AND " RIGHT_ACCOUNT
              " AND (" IF_MATCH "::bigint[] IS NULL OR EXISTS (SELECT FROM old))"
            PUT_ON_CONFLICT
            " WHERE " CALLER_CONDITION("m", IF_MATCH, IF_NONE_MATCH)
            " RETURNING m.revision"
        ")"
        " SELECT " CALLER_COLUMNS_OF("caller") ", m.revision, " RIGHT_ACCOUNT
        " FROM caller"
        " LEFT JOIN m ON true",
};

/* The same without a condition. */
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

/* Only a key that reads secrets gets the secret; the others do not even get the sealed one. */
#define COLUMNS(reads_secret)                                                                      \
    OAUTH_MODULE_COLUMNS("m.", "CASE WHEN " reads_secret " THEN m.client_secret_sealed END")

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
    .types = CALLER_TYPES OAUTH_MODULE_TYPES,
    .is_short = true,
    .sql = GET_SQL(""),
    .by_account = GET_SQL(CALLER_AND_IN_ACCOUNT("m")),
};

enum column {
    COLUMN_FIRST = CALLER_N_COLUMNS,
    COLUMN_EDGE_ID = CALLER_N_COLUMNS + OAUTH_MODULE_N_COLUMNS, /* of a list */
    COLUMN_ROUTE_ID
};

/* Whether the key reads secrets; PostgreSQL looks once a statement. */
#define MAY_READ_SECRETS                                                                           \
    "(SELECT " KEY_SQL_MAY_READ_SECRETS("k") " FROM adit.api_key AS k WHERE " CALLER_KEY_IS_GOOD ")"

/* $1 digest, $2 account, $3 edge_id and $4 route_id of the module before the page (never NULL),
 * $5 limit; under a filter $6, the names of the providers, and $7 and $8 of OAUTH_ADMITS.  '' sorts
 * before every edge_id, so the caller's row comes first. */
#define LIST_HEAD_AND(in_account)                                                                  \
    "SELECT " CALLER_COLUMNS_OF("k") ", " OAUTH_MODULE_NO_COLUMNS ","                                           \
      " ''::text COLLATE \"C\" AS listed_edge_id, ''::text COLLATE \"C\" AS listed_route_id"       \
    " FROM adit.api_key AS k"                                                                      \
    " WHERE " CALLER_KEY_IS_GOOD                                                                   \
    " UNION ALL ("                                                                                 \
        "SELECT " CALLER_NO_COLUMNS ", " COLUMNS(MAY_READ_SECRETS) ", m.edge_id, m.route_id"       \
        " FROM adit.oauth_module AS m"                                                             \
        " WHERE m.account_id = " CALLER_ACCOUNT in_account                                         \
          " AND (m.edge_id, m.route_id) > ($3::text COLLATE \"C\", $4::text COLLATE \"C\")"
#define LIST_HEAD LIST_HEAD_AND("")
#define LIST_HEAD_BY_ACCOUNT LIST_HEAD_AND(CALLER_AND_IN_ACCOUNT("m"))
#define LIST_END                                                                                   \
        " ORDER BY m.edge_id, m.route_id"                                                          \
        " LIMIT $5::bigint"                                                                        \
    ")"                                                                                            \
    " ORDER BY listed_edge_id, listed_route_id"

static const struct pg_statement list_statement = {
    .name = "oauth_module_list",
    .types = CALLER_TYPES OAUTH_MODULE_TYPES PG_TEXT PG_TEXT,
    .sql = LIST_HEAD LIST_END,
    .by_account = LIST_HEAD_BY_ACCOUNT LIST_END,
};

/* PostgreSQL wants to see every parameter. */
#define SEES_PARAMS                                                                                   \
    " AND $6::text[] IS NOT NULL AND $7::text[] IS NOT NULL AND $8::bigint[] IS NOT NULL"

static const struct filter_statement filtered_list_statement = {
    .name = "oauth_module_filtered_list",
    .types = CALLER_TYPES OAUTH_MODULE_TYPES PG_TEXT PG_TEXT,
    .fast = "edge_id == \"...\"",
    .head = LIST_HEAD SEES_PARAMS,
    .head_by_account = LIST_HEAD_BY_ACCOUNT SEES_PARAMS,
    .end = LIST_END,
};

const struct filter_member oauth_module_filter_members[] = {
    OAUTH_MODULE_MEMBERS(FILTER_MEMBER, FILTER_MEMBER, "m")
    {"id", FILTER_STRING, "m.route_id"},
    {"provider", FILTER_STRING, "coalesce(($6::text[])[m.provider], '')"},
    {"admits", FILTER_STRING, OAUTH_ADMITS("$7", "$8")},
    {.name = NULL},
};

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
};

/* clang-format on */

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
    struct field_secret *secret = &module->config.client_secret;
    struct pg_params params;
    struct pg_result *result = NULL;
    bool written;

    if (secret->plain.s &&
        !keyring_seal(store->keyring, &place, secret->plain, request->arena, &secret->key_id,
                      &secret->sealed, &secret->sealed_len, err))
        return refuse_unsealed(store, request, err);
    executor_write_params(&params, request);
    pg_add_text(&params, route->edge_id);
    pg_add_text(&params, route->route_id);
    member_params_add(&params, oauth_module_members, oauth_module_n_members, module,
                      request->arena);
    pg_add_text(&params, account_id);
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
    bool has_secret = module->config.client_secret.plain.s != NULL;
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

/* What is sealed belongs to the result, and is of no use any more. */
static bool open_secret(const struct store *store, const struct pg_result *result,
                        struct arena *arena, struct oauth_module_item *item, struct error *err)
{
    struct oauth_module *module = &item->module;
    struct field_secret *secret = &module->config.client_secret;
    struct keyring_place place =
        oauth_secret_place(pg_text(result, 0, CALLER_ACCOUNT_ID), &item->route, module->provider);

    /* Of a provider that only a later version knows, nothing is shown. */
    bool ok = !secret->sealed || module->provider == 0 ||
              keyring_open(store->keyring, &place, secret->key_id, secret->sealed,
                           secret->sealed_len, arena, &secret->plain, err);

    *secret = (struct field_secret){.plain = secret->plain};
    return ok;
}

static bool read_module(const struct pg_result *result, int row, struct arena *arena,
                        struct oauth_module *module)
{
    *module = (struct oauth_module){.enabled = false};
    return member_row_copy(result, row, COLUMN_FIRST, oauth_module_members, oauth_module_n_members,
                           module, arena);
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
    if (pg_is_null(result, 0, COLUMN_FIRST))
        error_set(err, ERR_OAUTH_NOT_FOUND);
    else if (!read_module(result, 0, request->arena, &item.module))
        error_set(err, ERR_OUT_OF_MEMORY);
    else
        ok = open_secret(store, result, request->arena, &item, err);
    pg_result_free(result);
    *module = item.module;
    return ok;
}

/* A secret that cannot be opened stays absent. */
static bool read_item(const struct store *store, const struct pg_result *result, int row,
                      struct arena *arena, struct oauth_module_item *item, struct error *err)
{
    struct text *ids[] = {&item->route.edge_id, &item->route.route_id};
    bool ok = read_module(result, row, arena, &item->module);

    for (int i = 0; ok && i < 2; i++) {
        *ids[i] = pg_text(result, row, COLUMN_EDGE_ID + i);
        ids[i]->s = arena_copy(arena, ids[i]->s, ids[i]->len);
        ok = ids[i]->s != NULL;
    }
    if (!ok)
        return error_set(err, ERR_OUT_OF_MEMORY);
    return open_secret(store, result, arena, item, err) || err->code == ERR_SECRET_UNREADABLE;
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
        bytes += fields_bytes(oauth_module_members, oauth_module_n_members,
                              &list->items[list->n].module);
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
