/* SPDX-License-Identifier: MIT */
/* The statements of modules, and the operations on them. */
#include "store/resource.h"

#include "store/executor.h"
#include "store/filter.h"
#include "store/member_row.h"
#include "store/member_sql.h"
#include "store/oauth_module.h"
#include "store/page_rows.h"
#include "store/resource_sql.h"

/* clang-format off */

/* ---- what depends on the place, beside resource_sql.h ---- */

#define IS_AFTER_EDGE " AND m.edge_id > $3::text COLLATE \"C\""
#define IS_AFTER_ROUTE                                                                             \
    " AND (m.edge_id, m.route_id) > ($3::text COLLATE \"C\", $4::text COLLATE \"C\")"
#define NOT_LISTED_EDGE "''::text COLLATE \"C\" AS listed_edge_id"
#define NOT_LISTED_ROUTE NOT_LISTED_EDGE ", ''::text COLLATE \"C\" AS listed_route_id"
#define LIST_ORDER_EDGE "listed_edge_id"
#define LIST_ORDER_ROUTE "listed_edge_id, listed_route_id"
#define LIMIT_EDGE "$4"
#define LIMIT_ROUTE "$5"
#define FILTER_ID_EDGE "m.edge_id"
#define FILTER_ID_ROUTE "m.route_id"

/* ---- what depends on the form ----
 *
 * A secret is sealed for its row, which includes the account, before the statement looks up the
 * account.  So the caller passes the account that the key belonged to in its latest request (NULL:
 * there is no secret).  If that is wrong, the statement writes nothing and returns the account to
 * seal for. */
#define RIGHT_ACCOUNT(NAME)                                                                        \
    "(" NAME##_PARAM_1 "::text IS NULL OR " NAME##_PARAM_1 "::text = caller.account_id)"
#define AND_RIGHT_ACCOUNT_PLAIN(NAME)
#define AND_RIGHT_ACCOUNT_PROVIDER(NAME) " AND " RIGHT_ACCOUNT(NAME)
#define RIGHT_COLUMN_PLAIN(NAME)
#define RIGHT_COLUMN_PROVIDER(NAME) ", " RIGHT_ACCOUNT(NAME)
#define TRUE_COLUMN_PLAIN
#define TRUE_COLUMN_PROVIDER ", true"
#define PUT_TYPES_PLAIN PG_BIGINT
#define PUT_TYPES_PROVIDER PG_BIGINT PG_BOOL

/* Only a key that reads secrets gets the secret; the others do not even get the sealed one. */
#define COLUMNS_PLAIN(NAME, reads_secret) NAME##_COLUMNS("m.")
#define COLUMNS_PROVIDER(NAME, reads_secret)                                                       \
    NAME##_COLUMNS("m.", "CASE WHEN " reads_secret " THEN m.client_secret_sealed END")

/* Whether the key reads secrets; PostgreSQL looks once a statement. */
#define MAY_READ_SECRETS                                                                           \
    "(SELECT " KEY_SQL_MAY_READ_SECRETS("k") " FROM adit.api_key AS k WHERE " CALLER_KEY_IS_GOOD ")"

/* Of oauth_module_add_filter().  PostgreSQL wants to see every parameter. */
#define SEES_PARAMS_PLAIN
#define SEES_PARAMS_PROVIDER                                                                       \
    " AND $6::text[] IS NOT NULL AND $7::text[] IS NOT NULL AND $8::bigint[] IS NOT NULL"

/* ---- the statements ---- */

/* The caller, a condition for the INSERT, one for the UPDATE, and the caller's columns. */
#define PUT_OF(NAME, table, place, form, from, inserts, updates, columns)                          \
    "INSERT INTO adit." table " AS m"                                                              \
      " (account_id, " NAME##_WRITTEN("") ")"                                                      \
    " SELECT caller.account_id, " NAME##_VALUES                                                    \
    from CALLER_MAY_WRITE                                                                          \
      AND_RIGHT_ACCOUNT_##form(NAME)                                                               \
      inserts                                                                                      \
    " ON CONFLICT (account_id, " PLACE_KEY_##place ") DO UPDATE"                                   \
    " SET " NAME##_EXCLUDED                                                                        \
    updates                                                                                        \
    " RETURNING " columns "m.revision"

/* $1 digest, $2 account, $3 request, those of the module, of which $4 and maybe $5 are its place, the
 * account of a secret, If-Match, If-None-Match.
 * "old" locks the row that If-Match names: the INSERT cannot check that it is there and stays. */
#define PUT_SQL(NAME, table, place, form)                                                          \
    CALLER_WRITES(                                                                                 \
        ", old AS MATERIALIZED ("                                                                  \
            "SELECT m.revision"                                                                    \
            " FROM caller"                                                                         \
            " JOIN adit." table " AS m"                                                            \
              " ON m.account_id = caller.account_id"                                               \
              PLACE_IS_##place("m", "$4::text", "$5::text")                                        \
            " WHERE " IF_MATCH_##form(NAME) "::bigint[] IS NOT NULL"                               \
              " AND " CALLER_FIRST(CALLER_MAY_WRITE)                                               \
            " FOR UPDATE OF m"                                                                     \
        "), m AS ("                                                                                \
            PUT_OF(NAME, table, place, form, " FROM caller WHERE ",                                \
                   " AND (" IF_MATCH_##form(NAME) "::bigint[] IS NULL OR EXISTS (SELECT FROM old))", \
                   " WHERE " CALLER_CONDITION("m", IF_MATCH_##form(NAME), IF_NONE_MATCH_##form(NAME)), \
                   "")                                                                             \
        ")",                                                                                       \
        "caller", "m.revision" RIGHT_COLUMN_##form(NAME), "m")

/* The same without a condition. */
#define QUICK_PUT_SQL(NAME, table, place, form)                                                    \
    PUT_OF(NAME, table, place, form, CALLER_QUICK, "", "", CALLER_COLUMNS_OF_NEW("m") ", ")        \
    TRUE_COLUMN_##form

/* $1 digest, $2 account, $3 and maybe $4 the place. */
#define GET_SQL(NAME, table, place, form, in_account)                                              \
    "SELECT " CALLER_COLUMNS_OF("k") ", " COLUMNS_##form(NAME, KEY_SQL_MAY_READ_SECRETS("k"))      \
    " FROM adit.api_key AS k"                                                                      \
    CALLER_JOINS("adit." table, "m", "m.*", PLACE_IS_##place("m", "$3::text", "$4::text") in_account)             \
    " WHERE " CALLER_KEY_IS_GOOD

/* $1 digest, $2 account, $3 and maybe $4 the place before the page (never NULL), a limit; and of a
 * filter, those of the form.  '' sorts before every edge_id, so the caller's row comes first. */
#define LIST_HEAD(NAME, table, place, form, in_account)                                            \
    "SELECT " CALLER_COLUMNS_OF("k") ", " NAME##_NO_COLUMNS ", " NOT_LISTED_##place                \
    " FROM adit.api_key AS k"                                                                      \
    " WHERE " CALLER_KEY_IS_GOOD                                                                   \
    " UNION ALL ("                                                                                 \
        "SELECT " CALLER_NO_COLUMNS ", " COLUMNS_##form(NAME, MAY_READ_SECRETS) ", " PLACE_COLUMNS_##place \
        " FROM adit." table " AS m"                                                                \
        " WHERE m.account_id = " CALLER_ACCOUNT in_account                                         \
        IS_AFTER_##place
#define LIST_END(place)                                                                            \
        " ORDER BY " PLACE_COLUMNS_##place                                                                \
        " LIMIT " LIMIT_##place "::bigint"                                                         \
    ")"                                                                                            \
    " ORDER BY " LIST_ORDER_##place

/* $1 digest, $2 account, $3 request, $4 and maybe $5 the place, If-Match, If-None-Match. */
#define DELETE_SQL(table, place)                                                                   \
    CALLER_WRITES(                                                                                 \
        ", m AS ("                                                                                 \
            "DELETE FROM adit." table " AS m"                                                      \
            " USING caller"                                                                        \
            " WHERE " CALLER_FIRST(CALLER_MAY_WRITE)                                               \
              " AND m.account_id = caller.account_id"                                              \
              PLACE_IS_##place("m", "$4::text", "$5::text")                                        \
              " AND " CALLER_CONDITION("m", DELETE_PARAMS_##place(PARAMS_MATCH),                   \
                                       DELETE_PARAMS_##place(PARAMS_NONE))                         \
            " RETURNING m.edge_id"                                                                 \
        ")",                                                                                       \
        "caller",                                                                                  \
        "m.edge_id,"                                                                               \
          " m.edge_id IS NULL"                                                                     \
          " AND " CALLER_MAY_WRITE " AND EXISTS (SELECT FROM adit." table " AS e"                  \
            " WHERE e.account_id = caller.account_id"                                              \
            PLACE_IS_##place("e", "$4::text", "$5::text") "), false",                              \
        "m")

/* What names the account of each table. */
#define IN_ACCOUNT CALLER_AND_IN_ACCOUNT("m")

#define FILTERS(with, NAME, name, place, form, ...) FILTERS_##form(NAME, name, place)
#define FILTERS_PROVIDER(NAME, name, place)
#define FILTERS_PLAIN(NAME, table, place)                                                          \
    static const struct filter_member table##_filter_members[] = {                                 \
        NAME##_MEMBERS(FILTER_MEMBER, "m")                                                         \
        {"id", FILTER_STRING, FILTER_ID_##place},                                                  \
        {.name = NULL},                                                                            \
    };
MODULES(FILTERS, _)

static const struct statements {
    struct pg_statement put;
    struct pg_statement quick_put;
    struct pg_statement get;
    struct pg_statement list;
    struct filter_statement filtered_list;
    struct pg_statement delete;
    const struct filter_member *filter;
    int n_columns; /* of the module */
} statements[] = {
#define STATEMENTS(with, NAME, name_, place, form, ...)                                            \
    [RESOURCE_##NAME] = {                                                                          \
        .put = {.name = #name_ "_put",                                                             \
                .types = CALLER_TYPES PUT_TYPES_##form,                                            \
                .writes = true,                                                                    \
                .sql = PUT_SQL(NAME, #name_, place, form)},                                        \
        .quick_put = {.name = #name_ "_quick_put",                                                 \
                      .types = CALLER_TYPES PUT_TYPES_##form,                                      \
                      .writes = true,                                                              \
                      .sql = QUICK_PUT_SQL(NAME, #name_, place, form)},                            \
        .get = {.name = #name_ "_get",                                                             \
                .types = CALLER_TYPES NAME##_TYPES,                                                \
                .is_short = true,                                                                  \
                .sql = GET_SQL(NAME, #name_, place, form, ""),                                     \
                .by_account = GET_SQL(NAME, #name_, place, form, IN_ACCOUNT)},                     \
        .list = {.name = #name_ "_list",                                                           \
                 .types = CALLER_TYPES NAME##_TYPES PLACE_TYPES_##place,                          \
                 .sql = LIST_HEAD(NAME, #name_, place, form, "") LIST_END(place),                  \
                 .by_account =                                                                     \
                     LIST_HEAD(NAME, #name_, place, form, IN_ACCOUNT) LIST_END(place)},            \
        .filtered_list = {.name = #name_ "_filtered_list",                                         \
                          .types = CALLER_TYPES NAME##_TYPES PLACE_TYPES_##place,                 \
                          .fast = "edge_id == \"...\"",                                            \
                          .head = LIST_HEAD(NAME, #name_, place, form, "") SEES_PARAMS_##form,     \
                          .head_by_account =                                                       \
                              LIST_HEAD(NAME, #name_, place, form, IN_ACCOUNT) SEES_PARAMS_##form, \
                          .end = LIST_END(place)},                                                 \
        .delete = {.name = #name_ "_delete",                                                       \
                   .types = CALLER_TYPES EXECUTOR_DELETE_TYPES,                                    \
                   .writes = true,                                                                 \
                   .sql = DELETE_SQL(#name_, place)},                                              \
        .filter = name_##_filter_members,                                                          \
        .n_columns = NAME##_N_COLUMNS},
    MODULES(STATEMENTS, _)
};

/* clang-format on */

enum put_column { COLUMN_PUT_REVISION = CALLER_N_COLUMNS, COLUMN_RIGHT_ACCOUNT };

/* Of the module. */
#define COLUMN_FIRST CALLER_N_COLUMNS

const struct filter_member *store_resource_filter(enum resource_kind kind)
{
    return statements[kind].filter;
}

static void add_place(struct pg_params *params, enum resource_kind kind,
                      const struct module_place *place)
{
    pg_add_text(params, place->edge_id);
    if (resource_row(kind)->of_route)
        pg_add_text(params, place->route_id);
}

/* ---- writing ---- */

enum put_end {
    PUT_FAILED,
    PUT_OF_ANOTHER_ACCOUNT, /* nothing is written: the secret was sealed for another than the key's
                             */
    PUT_DONE
};

/* Runs the statement with an account, which may be wrong. */
static enum put_end try_put(struct store *store, const struct store_request *request,
                            enum resource_kind kind, const struct module_place *place, void *module,
                            struct error *err)
{
    const struct resource_row *row = resource_row(kind);
    int64_t *revision = (int64_t *)(void *)((char *)module + row->revision_offset);
    struct text account_id;
    struct pg_params params;
    struct pg_result *result = NULL;
    bool right;
    bool written;

    if (row->has_provider && !oauth_module_seal(store, request, place, module, &account_id, err))
        return PUT_FAILED;
    executor_write_params(&params, request);
    add_place(&params, kind, place);
    member_params_add(&params, row->members, *row->n_members, module, request->arena);
    if (row->has_provider)
        pg_add_text(&params, account_id);
    if (!precondition_given(&request->condition) &&
        !executor_run_quick(store, &statements[kind].quick_put, request, &params, &result, err))
        return PUT_FAILED;
    executor_add_condition(&params, request);
    if (!result && !executor_run(store, &statements[kind].put, request, &params, &result, err))
        return PUT_FAILED;
    right = !row->has_provider || pg_bool(result, 0, COLUMN_RIGHT_ACCOUNT);
    written = !pg_is_null(result, 0, COLUMN_PUT_REVISION);
    *revision = pg_int(result, 0, COLUMN_PUT_REVISION);
    pg_result_free(result);
    if (!right)
        return PUT_OF_ANOTHER_ACCOUNT;
    if (!written)
        (void)error_set(err, ERR_PRECONDITION_FAILED);
    return written ? PUT_DONE : PUT_FAILED;
}

bool store_resource_put(struct store *store, const struct store_request *request,
                        enum resource_kind kind, const struct module_place *place, void *module,
                        struct error *err)
{
    enum put_end end = try_put(store, request, kind, place, module, err);

    if (end == PUT_OF_ANOTHER_ACCOUNT)
        end = try_put(store, request, kind, place, module, err);
    if (end == PUT_OF_ANOTHER_ACCOUNT)
        (void)error_cause(err, ERR_INTERNAL, "%s: the account was not found",
                          resource_row(kind)->name);
    return end == PUT_DONE;
}

bool store_resource_delete(struct store *store, const struct store_request *request,
                           enum resource_kind kind, const struct module_place *place,
                           struct error *err)
{
    struct pg_params params;

    executor_write_params(&params, request);
    add_place(&params, kind, place);
    executor_add_condition(&params, request);
    return executor_delete(store, &statements[kind].delete, request, &params, ERR_NONE, err);
}

/* ---- reading ---- */

/* Reads the module of a row, as it is stored. */
static bool read_module(const struct pg_result *result, int row, enum resource_kind kind,
                        struct arena *arena, void *module, struct error *err)
{
    const struct member_row from = {.result = result, .row = row, .first = COLUMN_FIRST};
    const struct resource_row *of = resource_row(kind);

    memset(module, 0, of->size);
    return member_row_copy(&from, of->members, *of->n_members, module, arena) ||
           error_set(err, ERR_OUT_OF_MEMORY);
}

/* Opens what is sealed in a module of the result, whose first row has the account. */
static bool open_module(const struct store *store, const struct pg_result *result,
                        enum resource_kind kind, const struct module_place *place,
                        struct arena *arena, void *module, struct error *err)
{
    return !resource_row(kind)->has_provider ||
           oauth_module_open(store, pg_text(result, 0, CALLER_ACCOUNT_ID), place, arena, module,
                             err);
}

bool store_resource_get(struct store *store, const struct store_request *request,
                        enum resource_kind kind, const struct module_place *place, void *module,
                        struct error *err)
{
    struct pg_params params;
    struct pg_result *result;
    bool ok;

    executor_params(&params, request);
    add_place(&params, kind, place);
    if (!executor_run(store, &statements[kind].get, request, &params, &result, err))
        return false;
    if (pg_is_null(result, 0, COLUMN_FIRST))
        ok = error_set(err, resource_row(kind)->missing);
    else
        ok = read_module(result, 0, kind, request->arena, module, err) &&
             open_module(store, result, kind, place, request->arena, module, err);
    pg_result_free(result);
    return ok;
}

/* A secret that cannot be opened stays absent. */
static bool read_item(const struct store *store, const struct pg_result *result, int row,
                      enum resource_kind kind, struct arena *arena, struct resource_item *item,
                      struct error *err)
{
    struct text *ids[] = {&item->place.edge_id, &item->place.route_id};
    int n_ids = resource_row(kind)->of_route ? 2 : 1;

    for (int i = 0; i < n_ids; i++) {
        *ids[i] = pg_text(result, row, COLUMN_FIRST + statements[kind].n_columns + i);
        ids[i]->s = arena_copy(arena, ids[i]->s, ids[i]->len);
        if (!ids[i]->s)
            return error_set(err, ERR_OUT_OF_MEMORY);
    }
    return read_module(result, row, kind, arena, &item->module, err) &&
           (open_module(store, result, kind, &item->place, arena, &item->module, err) ||
            err->code == ERR_SECRET_UNREADABLE);
}

/* The first row of a list has only the caller's columns. */
static bool read_items(const struct store *store, const struct pg_result *result,
                       enum resource_kind kind, const struct resource_page *page,
                       struct arena *arena, struct resource_list *list, struct error *err)
{
    const struct resource_row *row = resource_row(kind);
    size_t bytes = 0;
    size_t n = (size_t)pg_rows(result) - 1;
    size_t most = (size_t)page->limit < n ? (size_t)page->limit : n;

    *list = (struct resource_list){.items = arena_array(arena, most, sizeof *list->items)};
    if (!list->items)
        return error_set(err, ERR_OUT_OF_MEMORY);
    for (; list->n < most && bytes < page->most_bytes; list->n++) {
        struct resource_item *item = &list->items[list->n];

        if (!read_item(store, result, 1 + (int)list->n, kind, arena, item, err))
            return false;
        bytes += fields_bytes(row->members, *row->n_members, &item->module);
    }
    list->more = list->n < n;
    return true;
}

bool store_resource_list(struct store *store, const struct store_request *request,
                         enum resource_kind kind, const struct resource_page *page,
                         struct resource_list *list, struct error *err)
{
    const struct statements *of = &statements[kind];
    const struct filtered_list filtered = {&of->filtered_list, page->filter};
    struct resource_page part = *page;
    struct module_place after =
        page->after.edge_id.s ? page->after : (struct module_place){text_of(""), text_of("")};
    struct pg_params params;
    struct pg_result *result;
    bool ok;

    part.limit = page_rows_most(store, request, PAGE_OF_MODULES + (int)kind, page->limit);
    executor_params(&params, request);
    add_place(&params, kind, &after);
    pg_add_int(&params, part.limit + 1);
    if (page->filter && resource_row(kind)->has_provider)
        oauth_module_add_filter(&params, page, request->arena);
    if (page->filter ? !filter_run_list(store, &filtered, request, &params, &result, err)
                     : !executor_run(store, &of->list, request, &params, &result, err))
        return false;
    page_rows_learn(store, request, PAGE_OF_MODULES + (int)kind, result,
                    (struct page_asked){part.limit, page->most_bytes});
    ok = read_items(store, result, kind, &part, request->arena, list, err);
    pg_result_free(result);
    return ok;
}
