/* SPDX-License-Identifier: MIT */
/* The statements of mutual TLS modules, and the operations on them. */
#include "store/mutual_tls_module.h"

#include "store/executor.h"
#include "store/filter.h"
#include "store/member_row.h"
#include "store/member_sql.h"
#include "store/page_rows.h"

/* clang-format off */

/* $1 digest, $2 account, $3 request, those of the module, of which $4 is its edge, and these.
 * "old" locks the row that If-Match names: the INSERT cannot check that it is there and stays. */
#define IF_MATCH MUTUAL_TLS_MODULE_PARAM_1
#define IF_NONE_MATCH MUTUAL_TLS_MODULE_PARAM_2
#define PUT_HEAD                                                                                   \
    "INSERT INTO adit.mutual_tls_module AS m"                                                      \
      " (account_id, " MUTUAL_TLS_MODULE_WRITTEN("") ")"                                           \
    " SELECT caller.account_id, " MUTUAL_TLS_MODULE_VALUES
#define PUT_ON_CONFLICT                                                                            \
    " ON CONFLICT (account_id, edge_id) DO UPDATE"                                                 \
    " SET " MUTUAL_TLS_MODULE_EXCLUDED

static const struct pg_statement put_statement = {
    .name = "mutual_tls_module_put",
    .types = CALLER_TYPES PG_BIGINT,
    .writes = true,
    .sql =
        CALLER_CTE
        ", old AS MATERIALIZED ("
            "SELECT m.revision"
            " FROM caller"
            " JOIN adit.mutual_tls_module AS m"
              " ON m.account_id = caller.account_id"
              " AND m.edge_id = $4::text COLLATE \"C\""
            " WHERE " IF_MATCH "::bigint[] IS NOT NULL"
              " AND " CALLER_FIRST(CALLER_MAY_WRITE)
            " FOR UPDATE OF m"
        "), m AS ("
            PUT_HEAD
            " FROM caller"
            " WHERE " CALLER_MAY_WRITE
              " AND (" IF_MATCH "::bigint[] IS NULL OR EXISTS (SELECT FROM old))"
            PUT_ON_CONFLICT
            " WHERE " CALLER_CONDITION("m", IF_MATCH, IF_NONE_MATCH)
            " RETURNING m.revision"
        ")"
        " SELECT " CALLER_COLUMNS_OF("caller") ", m.revision"
        " FROM caller"
        " LEFT JOIN m ON true",
};

/* The same without a condition. */
static const struct pg_statement quick_put_statement = {
    .name = "mutual_tls_module_quick_put",
    .types = CALLER_TYPES PG_BIGINT,
    .writes = true,
    .sql =
        PUT_HEAD
        " FROM adit.api_key AS caller"
        " WHERE " CALLER_QUICK
          " AND " CALLER_MAY_WRITE
        PUT_ON_CONFLICT
        " RETURNING " CALLER_COLUMNS_OF_NEW("m") ", m.revision",
};

enum put_column { COLUMN_PUT_REVISION = CALLER_N_COLUMNS };

/* $1 digest, $2 account, $3 edge_id. */
#define GET_SQL(in_account)                                                                        \
    "SELECT " CALLER_COLUMNS_OF("k") ", " MUTUAL_TLS_MODULE_COLUMNS("m.")                          \
    " FROM adit.api_key AS k"                                                                      \
    CALLER_JOINS("adit.mutual_tls_module", "m", "m.*",                                                    \
                 " AND m.edge_id = $3::text COLLATE \"C\"" in_account)                             \
    " WHERE " CALLER_KEY_IS_GOOD

static const struct pg_statement get_statement = {
    .name = "mutual_tls_module_get",
    .types = CALLER_TYPES MUTUAL_TLS_MODULE_TYPES,
    .is_short = true,
    .sql = GET_SQL(""),
    .by_account = GET_SQL(CALLER_AND_IN_ACCOUNT("m")),
};

/* $1 digest, $2 account, $3 edge_id of the module before the page (never NULL), $4 limit.
 * '' sorts before every edge_id, so the caller's row comes first. */
#define LIST_HEAD_AND(in_account)                                                                  \
    "SELECT " CALLER_COLUMNS_OF("k") ", " MUTUAL_TLS_MODULE_NO_COLUMNS ","                         \
      " ''::text COLLATE \"C\" AS listed_edge_id"                                                  \
    " FROM adit.api_key AS k"                                                                      \
    " WHERE " CALLER_KEY_IS_GOOD                                                                   \
    " UNION ALL ("                                                                                 \
        "SELECT " CALLER_NO_COLUMNS ","                                                            \
          " " MUTUAL_TLS_MODULE_COLUMNS("m.") ", m.edge_id"                                        \
        " FROM adit.mutual_tls_module AS m"                                                        \
        " WHERE m.account_id = " CALLER_ACCOUNT in_account                                         \
          " AND m.edge_id > $3::text COLLATE \"C\""
#define LIST_HEAD LIST_HEAD_AND("")
#define LIST_HEAD_BY_ACCOUNT LIST_HEAD_AND(CALLER_AND_IN_ACCOUNT("m"))
#define LIST_END                                                                                   \
        " ORDER BY m.edge_id"                                                                      \
        " LIMIT $4::bigint"                                                                        \
    ")"                                                                                            \
    " ORDER BY listed_edge_id"

static const struct pg_statement list_statement = {
    .name = "mutual_tls_module_list",
    .types = CALLER_TYPES MUTUAL_TLS_MODULE_TYPES PG_TEXT,
    .sql = LIST_HEAD LIST_END,
    .by_account = LIST_HEAD_BY_ACCOUNT LIST_END,
};

static const struct filter_statement filtered_list_statement = {
    .name = "mutual_tls_module_filtered_list",
    .types = CALLER_TYPES MUTUAL_TLS_MODULE_TYPES PG_TEXT,
    .fast = "edge_id == \"...\"",
    .head = LIST_HEAD,
    .head_by_account = LIST_HEAD_BY_ACCOUNT,
    .end = LIST_END,
};

const struct filter_member mutual_tls_module_filter_members[] = {
    MUTUAL_TLS_MODULE_MEMBERS(FILTER_MEMBER, "m")
    {"id", FILTER_STRING, "m.edge_id"},
    {.name = NULL},
};

/* Only the list has the last one. */
enum column {
    COLUMN_FIRST = CALLER_N_COLUMNS,
    COLUMN_EDGE_ID = CALLER_N_COLUMNS + MUTUAL_TLS_MODULE_N_COLUMNS
};

/* $1 digest, $2 account, $3 request, $4 edge_id, $5 If-Match, $6 If-None-Match. */
static const struct pg_statement delete_statement = {
    .name = "mutual_tls_module_delete",
    .types = CALLER_TYPES EXECUTOR_DELETE_TYPES,
    .writes = true,
    .sql =
        CALLER_CTE
        ", m AS ("
            "DELETE FROM adit.mutual_tls_module AS m"
            " USING caller"
            " WHERE " CALLER_FIRST(CALLER_MAY_WRITE)
              " AND m.account_id = caller.account_id"
              " AND m.edge_id = $4::text COLLATE \"C\""
              " AND " CALLER_CONDITION("m", "$5", "$6")
            " RETURNING m.edge_id"
        ")"
        " SELECT " CALLER_COLUMNS_OF("caller") ", m.edge_id,"
          " m.edge_id IS NULL"
          " AND " CALLER_MAY_WRITE " AND EXISTS (SELECT FROM adit.mutual_tls_module AS e"
            " WHERE e.account_id = caller.account_id"
            " AND e.edge_id = $4::text COLLATE \"C\"), false"
        " FROM caller"
        " LEFT JOIN m ON true",
};

/* clang-format on */

bool store_mutual_tls_module_put(struct store *store, const struct store_request *request,
                                 struct text edge_id, struct mutual_tls_module *module,
                                 struct error *err)
{
    struct pg_params params;
    struct pg_result *result = NULL;
    bool written;

    executor_write_params(&params, request);
    pg_add_text(&params, edge_id);
    member_params_add(&params, mutual_tls_module_members, mutual_tls_module_n_members, module,
                      request->arena);
    if (!precondition_given(&request->condition) &&
        !executor_run_quick(store, &quick_put_statement, request, &params, &result, err))
        return false;
    executor_add_condition(&params, request);
    if (!result && !executor_run(store, &put_statement, request, &params, &result, err))
        return false;
    written = !pg_is_null(result, 0, COLUMN_PUT_REVISION);
    module->revision = pg_int(result, 0, COLUMN_PUT_REVISION);
    pg_result_free(result);
    return written || error_set(err, ERR_PRECONDITION_FAILED);
}

static bool read_row(const struct pg_result *result, int row, struct arena *arena,
                     struct mutual_tls_module *module)
{
    return member_row_copy(result, row, COLUMN_FIRST, mutual_tls_module_members,
                           mutual_tls_module_n_members, module, arena);
}

bool store_mutual_tls_module_get(struct store *store, const struct store_request *request,
                                 struct text edge_id, struct mutual_tls_module *module,
                                 struct error *err)
{
    struct pg_params params;
    struct pg_result *result;
    bool ok = false;

    executor_params(&params, request);
    pg_add_text(&params, edge_id);
    if (!executor_run(store, &get_statement, request, &params, &result, err))
        return false;
    if (pg_is_null(result, 0, COLUMN_FIRST))
        error_set(err, ERR_MUTUAL_TLS_NOT_FOUND);
    else if (!read_row(result, 0, request->arena, module))
        error_set(err, ERR_OUT_OF_MEMORY);
    else
        ok = true;
    pg_result_free(result);
    return ok;
}

bool store_mutual_tls_module_delete(struct store *store, const struct store_request *request,
                                    struct text edge_id, struct error *err)
{
    struct pg_params params;

    executor_write_params(&params, request);
    pg_add_text(&params, edge_id);
    executor_add_condition(&params, request);
    return executor_delete(store, &delete_statement, request, &params, ERR_NONE, err);
}

/* Reads one row of the list.  Returns false if memory runs out. */
static bool read_listed(const struct pg_result *result, int row, struct arena *arena,
                        struct mutual_tls_module_item *item)
{
    struct text edge_id = pg_text(result, row, COLUMN_EDGE_ID);

    item->edge_id =
        (struct text){.s = arena_copy(arena, edge_id.s, edge_id.len), .len = edge_id.len};
    return item->edge_id.s && read_row(result, row, arena, &item->module);
}

bool store_mutual_tls_module_list(struct store *store, const struct store_request *request,
                                  const struct mutual_tls_module_page *page,
                                  struct mutual_tls_module_list *list, struct error *err)
{
    struct mutual_tls_module_page part = *page;
    struct pg_params params;
    struct pg_result *result;
    size_t bytes = 0;
    size_t n;
    size_t most;
    bool ok;

    part.limit = page_rows_most(store, request, PAGE_OF_MUTUAL_TLS_MODULES, page->limit);
    executor_params(&params, request);
    pg_add_text(&params, page->after_edge_id.s ? page->after_edge_id : text_of(""));
    pg_add_int(&params, part.limit + 1);
    if (page->filter ? !filter_run_list(store, &filtered_list_statement, page->filter, request,
                                        &params, &result, err)
                     : !executor_run(store, &list_statement, request, &params, &result, err))
        return false;
    page_rows_learn(store, request, PAGE_OF_MUTUAL_TLS_MODULES, result, part.limit,
                    page->most_bytes);
    n = (size_t)pg_rows(result) - 1; /* the first has only the caller's columns */
    most = (size_t)part.limit < n ? (size_t)part.limit : n;
    *list = (struct mutual_tls_module_list){
        .items = arena_array(request->arena, most, sizeof *list->items)};
    ok = list->items != NULL;
    for (; ok && list->n < most && bytes < page->most_bytes; list->n++) {
        ok = read_listed(result, 1 + (int)list->n, request->arena, &list->items[list->n]);
        bytes += fields_bytes(mutual_tls_module_members, mutual_tls_module_n_members,
                              &list->items[list->n].module);
    }
    list->more = list->n < n;
    pg_result_free(result);
    return ok || error_set(err, ERR_OUT_OF_MEMORY);
}
