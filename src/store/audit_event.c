/* SPDX-License-Identifier: MIT */
/* The statements of audit events for callers. */
#include "store/audit_event.h"

#include "store/executor.h"
#include "store/filter.h"
#include "store/page_rows.h"

/* In the order of enum column, after the caller's and whether the caller is an admin. */
#define LISTED(name) " e." #name ","
#define COLUMNS_BEFORE_CONTENT                                                                     \
    "e.id, e.at, e.event, e.resource, e.principal_id," AUDIT_EVENT_TEXTS(LISTED) " e.changed"
#define COLUMNS COLUMNS_BEFORE_CONTENT ", e.before::text, e.after::text"
#define JOINED_COLUMNS COLUMNS_BEFORE_CONTENT ", e.before, e.after"
#define TYPE_OF(name) PG_TEXT
#define TYPES                                                                                      \
    PG_BOOL PG_BIGINT PG_TIME PG_TEXT PG_TEXT PG_TEXT AUDIT_EVENT_TEXTS(TYPE_OF)                   \
    PG_TEXTS PG_TEXT PG_TEXT

enum column {
    COLUMN_IS_ADMIN = CALLER_N_COLUMNS,
    COLUMN_ID,
    COLUMN_AT,
    COLUMN_EVENT,
    COLUMN_RESOURCE,
    COLUMN_PRINCIPAL_ID,
#define PLACE_OF(name) COLUMN_##name,
    /* clang-format off */
    AUDIT_EVENT_TEXTS(PLACE_OF)
    /* clang-format on */
    COLUMN_CHANGED,
    COLUMN_BEFORE,
    COLUMN_AFTER
};

/* clang-format off */

#define RENAMED(column, member) " WHEN '" column "' THEN '" member "'"
#define LEFT_OUT(column) ", '" column "'"

/* The names that audit_event_write() writes. */
#define CHANGED                                                                                    \
    "ARRAY(SELECT CASE c" AUDIT_EVENT_RENAMED(RENAMED) " ELSE c END"                               \
      " FROM unnest(e.changed) AS c"                                                               \
      " WHERE c NOT IN (''" AUDIT_EVENT_LEFT_OUT(LEFT_OUT) "))"

const struct filter_member audit_event_filter_members[] = {
    {"id", FILTER_STRING, "'" AUDIT_EVENT_PREFIX "' || lpad(e.id::text, 19, '0')"},
    {"created_at", FILTER_TIME, "e.at"},
    {"event", FILTER_STRING, "e.event"},
    {"resource", FILTER_OBJECT, "e.resource"},
    {"resource.id", FILTER_STRING, "e.resource"},
    {"principal", FILTER_OBJECT, "e.principal_id"},
    {"principal.id", FILTER_STRING, "coalesce(e.principal_id, '')"},
#define TEXT_MEMBER(name) {#name, FILTER_STRING, "coalesce(e." #name ", '')"},
    AUDIT_EVENT_TEXTS(TEXT_MEMBER)
    {"changed", FILTER_STRINGS, CHANGED},
    {"before", FILTER_OBJECT, "e.before"},
    {"after", FILTER_OBJECT, "e.after"},
    {.name = NULL},
};

#define FROM_CALLER                                                                                \
    " FROM adit.api_key AS k"                                                                      \
    " JOIN adit.principal AS p"                                                                    \
      " ON p.account_id = k.account_id"                                                            \
      " AND p.id = k.principal_id"

/* The caller's account, NULL if the caller may not read events. */
#define ACCOUNT_OF_ADMIN                                                                           \
    "(SELECT k.account_id" FROM_CALLER " WHERE " CALLER_KEY_IS_GOOD " "                                          \
      " AND p.is_admin" KEY_SQL_AND_MAY_READ("k") ")"

/* In their place in the row that has only the caller's columns. */
#define NO_TEXT(name) " NULL::text,"
#define NO_COLUMNS                                                                                 \
    "NULL::bigint AS event_id, NULL::timestamptz, NULL::text, NULL::text, NULL::text,"             \
    AUDIT_EVENT_TEXTS(NO_TEXT) " NULL::text[], NULL::text, NULL::text"

/* $1 digest, $2 account, $3 the number that events are below, $4 limit.
 * The generic plan does not know how few events an account has.  With "=", it would read the events
 * of all accounts by their numbers.  With ANY, only the index audit_event_account has the order. */
#define LIST_HEAD_AND(in_account)                                                                  \
    "SELECT " CALLER_COLUMNS_OF("k") ", p.is_admin, " NO_COLUMNS                                   \
    FROM_CALLER                                                                                    \
    " WHERE " CALLER_KEY_IS_GOOD                                                                   \
    " UNION ALL ("                                                                                 \
        "SELECT " CALLER_NO_COLUMNS ", NULL::boolean, " COLUMNS                                    \
        " FROM adit.audit_event AS e"                                                              \
        " WHERE e.account_id = ANY (ARRAY[" ACCOUNT_OF_ADMIN "])" in_account                       \
          " AND e.id < $3::bigint"
#define LIST_HEAD LIST_HEAD_AND("")
#define LIST_HEAD_BY_ACCOUNT                                                                      \
    LIST_HEAD_AND(                                                                                 \
        " AND e.account_id = ANY (ARRAY[coalesce($2::text COLLATE \"C\", e.account_id)])")
#define LIST_END                                                                                   \
        " ORDER BY e.account_id DESC, e.id DESC"                                                   \
        " LIMIT $4::bigint"                                                                        \
    ")"                                                                                            \
    " ORDER BY event_id DESC NULLS FIRST"

static const struct pg_statement list_statement = {
    .name = "audit_event_list",
    .types = CALLER_TYPES TYPES,
    .sql = LIST_HEAD LIST_END,
    .by_account = LIST_HEAD_BY_ACCOUNT LIST_END,
};

static const struct filter_statement filtered_list_statement = {
    .name = "audit_event_filtered_list",
    .types = CALLER_TYPES TYPES,
    .fast = "resource.id == \"...\"",
    .head = LIST_HEAD,
    .head_by_account = LIST_HEAD_BY_ACCOUNT,
    .end = LIST_END,
};

/* $1 digest, $2 account, $3 number. */
#define GET_SQL(in_account)                                                                        \
    "SELECT " CALLER_COLUMNS_OF("k") ", p.is_admin, " COLUMNS                                      \
    FROM_CALLER                                                                                    \
    CALLER_JOINS("adit.audit_event", "e", JOINED_COLUMNS,                                                          \
                 " AND p.is_admin"                                                                 \
                 " AND e.id = $3::bigint" in_account)                                              \
    " WHERE " CALLER_KEY_IS_GOOD

static const struct pg_statement get_statement = {
    .name = "audit_event_get",
    .types = CALLER_TYPES TYPES,
    .is_short = true,
    .sql = GET_SQL(""),
    .by_account = GET_SQL(CALLER_AND_IN_ACCOUNT("e")),
};

/* clang-format on */

void audit_event_list_free(struct audit_event_list *list)
{
    pg_result_free(list->result);
    *list = (struct audit_event_list){0};
}

static bool read_event(const struct pg_result *result, int row, struct arena *arena,
                       struct audit_event *event)
{
    *event = (struct audit_event){
        .number = pg_int(result, row, COLUMN_ID),
        .at = pg_time(result, row, COLUMN_AT),
        .event = pg_text(result, row, COLUMN_EVENT),
        .resource = pg_text(result, row, COLUMN_RESOURCE),
        .principal_id = pg_text(result, row, COLUMN_PRINCIPAL_ID),
        .before = pg_text(result, row, COLUMN_BEFORE),
        .after = pg_text(result, row, COLUMN_AFTER),
    /* clang-format off */
#define READ_TEXT(name) .name = pg_text(result, row, COLUMN_##name),
        AUDIT_EVENT_TEXTS(READ_TEXT)
        /* clang-format on */
    };
    return pg_is_null(result, row, COLUMN_CHANGED) ||
           pg_texts(result, row, COLUMN_CHANGED, arena, &event->changed);
}

/* The first row may have only the caller's columns.  The list takes over the result, also on
 * failure. */
static bool read_events(struct pg_result *result, const struct audit_event_page *page,
                        struct arena *arena, struct audit_event_list *list, struct error *err)
{
    size_t bytes = 0;
    int first = pg_is_null(result, 0, COLUMN_ID) ? 1 : 0;
    size_t n = (size_t)(pg_rows(result) - first);
    size_t most = (size_t)page->limit < n ? (size_t)page->limit : n;

    *list = (struct audit_event_list){.result = result};
    if (!pg_bool(result, 0, COLUMN_IS_ADMIN))
        return error_set(err, ERR_AUDIT_NOT_ADMIN);
    list->items = arena_array(arena, most, sizeof *list->items);
    if (!list->items)
        return error_set(err, ERR_OUT_OF_MEMORY);
    for (; list->n < most && bytes < page->most_bytes; list->n++) {
        if (!read_event(result, first + (int)list->n, arena, &list->items[list->n]))
            return error_set(err, ERR_OUT_OF_MEMORY);
        bytes += list->items[list->n].before.len + list->items[list->n].after.len;
    }
    list->more = list->n < n;
    return true;
}

bool store_audit_event_list(struct store *store, const struct store_request *request,
                            const struct audit_event_page *page, struct audit_event_list *list,
                            struct error *err)
{
    const struct filtered_list filtered = {&filtered_list_statement, page->filter};
    struct audit_event_page part = *page;
    struct pg_params params;
    struct pg_result *result;

    part.limit = page_rows_most(store, request, PAGE_OF_EVENTS, page->limit);
    executor_params(&params, request);
    pg_add_int(&params, page->before);
    pg_add_int(&params, part.limit + 1);
    if (page->filter ? !filter_run_list(store, &filtered, request, &params, &result, err)
                     : !executor_run(store, &list_statement, request, &params, &result, err))
        return false;
    page_rows_learn(store, request, PAGE_OF_EVENTS, result,
                    (struct page_asked){part.limit, page->most_bytes});
    return read_events(result, &part, request->arena, list, err);
}

bool store_audit_event_get(struct store *store, const struct store_request *request, int64_t number,
                           struct audit_event_list *list, struct error *err)
{
    static const struct audit_event_page one = {.limit = 1, .most_bytes = SIZE_MAX};
    struct pg_params params;
    struct pg_result *result;

    executor_params(&params, request);
    pg_add_int(&params, number);
    return executor_run(store, &get_statement, request, &params, &result, err) &&
           read_events(result, &one, request->arena, list, err) &&
           (list->n == 1 || error_set(err, ERR_AUDIT_EVENT_NOT_FOUND));
}
