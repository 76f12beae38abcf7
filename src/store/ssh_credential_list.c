/* SPDX-License-Identifier: MIT */
/* Lists of SSH credentials. */
#include "store/ssh_credential_list.h"

#include "store/member_row.h"
#include "store/page_rows.h"
#include "store/ssh_credential_filter.h"

/* Sorts after every identifier: 0x7F follows '~'. */
#define AFTER_ALL "\x7F"

/* clang-format off */

/* $1 digest, $2 account, $3 before_id (never NULL), $4 limit.
 * The comparison with $3 is always there, so that the generic plan starts in the right place of the
 * index.  NULL puts the caller's row first. */
#define LIST_HEAD_AND(in_account)                                                                  \
    "SELECT " CALLER_COLUMNS_OF("k") ", " SSH_CREDENTIAL_NO_COLUMNS                                               \
    " FROM adit.api_key AS k"                                                                      \
    " WHERE " CALLER_KEY_IS_GOOD                                                                   \
    " UNION ALL ("                                                                                 \
        "SELECT " CALLER_NO_COLUMNS ", " SSH_CREDENTIAL_COLUMNS("c.")                                    \
        " FROM adit.ssh_credential AS c"                                                           \
        " WHERE c.account_id = " CALLER_ACCOUNT in_account
#define LIST_HEAD LIST_HEAD_AND("")
#define LIST_HEAD_BY_ACCOUNT LIST_HEAD_AND(CALLER_AND_IN_ACCOUNT("c"))
#define OLDER " AND c.id < $3::text COLLATE \"C\""
#define LIST_END                                                                                   \
        " ORDER BY c.id DESC"                                                                      \
        " LIMIT $4::bigint"                                                                        \
    ")"                                                                                            \
    " ORDER BY listed_id DESC NULLS FIRST"

static const struct pg_statement list_statement = {
    .name = "ssh_credential_list",
    .types = CALLER_TYPES SSH_CREDENTIAL_TYPES,
    .sql =
        LIST_HEAD OLDER LIST_END,
    .by_account =
        LIST_HEAD_BY_ACCOUNT OLDER LIST_END,
};

/* The same for a filter that only names an owner, which is the one of most clients: $5 owner_id.
 * PostgreSQL need not plan it for each request: only the index of owners has this order, so the
 * plan is right for every owner.  With "=", the primary key would have it too. */
#define OF_OWNER                                                                                   \
        " AND c.owner_id >= $5::text COLLATE \"C\""                                                \
        " AND (c.owner_id, c.id) < ($5::text COLLATE \"C\", $3::text COLLATE \"C\")"               \
        " ORDER BY c.owner_id DESC, c.id DESC"                                                     \
        " LIMIT $4::bigint"                                                                        \
        ")"                                                                                        \
        " ORDER BY listed_owner_id DESC, listed_id DESC"

static const struct pg_statement owner_list_statement = {
    .name = "ssh_credential_owner_list",
    .types = CALLER_TYPES SSH_CREDENTIAL_TYPES,
    .sql =
        LIST_HEAD OF_OWNER,
    .by_account =
        LIST_HEAD_BY_ACCOUNT OF_OWNER,
};

static const struct filter_statement filtered_list_statement = {
    .name = "ssh_credential_filtered_list",
    .types = CALLER_TYPES SSH_CREDENTIAL_TYPES,
    .fast = "id, fingerprint or owner_id == \"...\", and ranges of created_at",
    .head = LIST_HEAD OLDER,
    .head_by_account = LIST_HEAD_BY_ACCOUNT OLDER,
    .end = LIST_END,
};

/* clang-format on */

void ssh_credential_list_free(struct ssh_credential_list *list)
{
    pg_result_free(list->result);
    *list = (struct ssh_credential_list){0};
}

static bool read_credential(const struct pg_result *result, int row, struct arena *arena,
                            struct ssh_credential *credential)
{
    const struct member_row from = {.result = result, .row = row, .first = SSH_CREDENTIAL_ID};

    *credential = (struct ssh_credential){.id = {0}};
    return member_row_read(&from, ssh_credential_members, ssh_credential_n_members, credential,
                           arena);
}

bool ssh_credential_read_page(struct pg_result *result, const struct ssh_credential_page *page,
                              struct arena *arena, struct ssh_credential_list *list,
                              struct error *err)
{
    size_t bytes = 0;
    int first = pg_is_null(result, 0, SSH_CREDENTIAL_ID) ? 1 : 0;
    int n = pg_rows(result) - first;

    *list = (struct ssh_credential_list){.result = result, .more = n > page->limit};
    if (list->more)
        n = page->limit;
    list->items = arena_array(arena, (size_t)n, sizeof *list->items);
    if (!list->items)
        return error_set(err, ERR_OUT_OF_MEMORY);
    for (; list->n < (size_t)n && bytes < page->most_bytes; list->n++) {
        if (!read_credential(result, first + (int)list->n, arena, &list->items[list->n]))
            return error_set(err, ERR_OUT_OF_MEMORY);
        bytes +=
            fields_bytes(ssh_credential_members, ssh_credential_n_members, &list->items[list->n]);
    }
    list->more = list->more || list->n < (size_t)n;
    return true;
}

static bool run_filtered_list(struct store *store, const struct store_request *request,
                              const struct filter_node *filter, struct pg_params *params,
                              struct pg_result **result, struct error *err)
{
    struct filter_query query = filter_begin(store, &filtered_list_statement);

    ssh_credential_filter_write(filter, &query.sql, params, request->arena);
    return filter_run(store, &query, request, params, result, err);
}

static bool run_list(struct store *store, const struct store_request *request,
                     const struct filter_node *filter, struct pg_params *params,
                     struct pg_result **result, struct error *err)
{
    struct text owner_id;

    if (!filter)
        return executor_run(store, &list_statement, request, params, result, err);
    owner_id = filter_only_equal(filter, "owner_id");
    if (!owner_id.s)
        return run_filtered_list(store, request, filter, params, result, err);
    pg_add_text(params, owner_id);
    return executor_run(store, &owner_list_statement, request, params, result, err);
}

bool store_ssh_credential_list(struct store *store, const struct store_request *request,
                               const struct ssh_credential_page *page,
                               struct ssh_credential_list *list, struct error *err)
{
    struct ssh_credential_page part = *page;
    struct pg_params params;
    struct pg_result *result;

    part.limit = page_rows_most(store, request, PAGE_OF_CREDENTIALS, page->limit);
    executor_params(&params, request);
    pg_add_text(&params, page->before_id.s ? page->before_id : text_of(AFTER_ALL));
    pg_add_int(&params, part.limit + 1);
    if (!run_list(store, request, page->filter, &params, &result, err))
        return false;
    page_rows_learn(store, request, PAGE_OF_CREDENTIALS, result,
                    (struct page_asked){part.limit, page->most_bytes});
    return ssh_credential_read_page(result, &part, request->arena, list, err);
}
