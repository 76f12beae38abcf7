/* SPDX-License-Identifier: MIT */
/* The statements of decisions about SSH keys. */
#include "store/ssh_decision.h"

#include "model/ssh_share.h"
#include "store/executor.h"
#include "store/key_walk.h"

enum column {
    COLUMN_ID = CALLER_N_COLUMNS,
    COLUMN_OWNER_ID,
    COLUMN_ACL,
    COLUMN_IS_OVER,
    COLUMN_N_RULES,
    COLUMN_N_BYTES
};

#define GRANT_TYPES PG_TEXT PG_TEXT PG_TEXTS

/* clang-format off */

/* $1 digest, $2 account, $3 fingerprint, $4 limit. */
#define OF_FINGERPRINT "c.fingerprint = $3::text COLLATE \"C\""

#define IN_ACCOUNT(in_account)                                                                     \
    "c.account_id = k.account_id" KEY_SQL_AND_MAY_ASK("k") in_account

#define OF_KEY(in_account)                                                                         \
    "SELECT c.id, c.owner_id, c.acl"                                                               \
    " FROM adit.ssh_credential AS c"                                                               \
    " WHERE " IN_ACCOUNT(in_account) " AND " OF_FINGERPRINT                                        \
      " AND " KEY_COUNTS                                                                            \
    " ORDER BY c.id"                                                                               \
    " LIMIT $4::bigint"

#define GRANTS_SQL(columns, of_key, order)                                                         \
    "SELECT " CALLER_COLUMNS_OF("k") ", " columns                                                  \
    " FROM adit.api_key AS k"                                                                      \
    " LEFT JOIN LATERAL (" of_key ") AS c ON true"                                                 \
    " WHERE " CALLER_KEY_IS_GOOD                                                                   \
    " ORDER BY " order

#define FEW_SQL(of_key) GRANTS_SQL("c.id, c.owner_id, c.acl", of_key, "c.id")

static const struct pg_statement few_statement = {
    .name = "ssh_decision_few",
    .types = CALLER_TYPES GRANT_TYPES,
    .is_short = true,
    .sql = FEW_SQL(OF_KEY("")),
    .by_account = FEW_SQL(OF_KEY(CALLER_AND_IN_ACCOUNT("c"))),
};

/* For a key in many credentials.  $4 the most credentials, $5 the most rules, $6 the most bytes, $7
 * the owners that are left out. */
#define MANY(in_account)                                                                           \
    "WITH RECURSIVE "                                                                              \
    KEY_TURNS(OF_FINGERPRINT, IN_ACCOUNT(in_account), "$7::text[]", "$4::bigint") ", "             \
    KEY_WALK("c.account_id = k.account_id" in_account, "$4::bigint", "$5::bigint", "$6::bigint")   \
    " SELECT w.id, w.owner_id, CASE WHEN NOT w.is_beyond THEN w.acl END AS acl, w.is_beyond,"      \
      " w.n_rules, w.n_bytes"                                                                      \
    " FROM walk AS w"

#define MANY_SQL(of_key)                                                                           \
    GRANTS_SQL("c.id, c.owner_id, c.acl, c.is_beyond, c.n_rules, c.n_bytes", of_key,               \
               "c.is_beyond, c.id")

static const struct pg_statement many_statement = {
    .name = "ssh_decision_many",
    .types = CALLER_TYPES GRANT_TYPES PG_BOOL PG_BIGINT PG_BIGINT,
    .sql = MANY_SQL(MANY("")),
    .by_account = MANY_SQL(MANY(CALLER_AND_IN_ACCOUNT("c"))),
};

/* clang-format on */

/* The few are read on the session that all lanes share.  The rules of each came in a body, of 64
 * KiB at most. */
#define FEW_MAX 8

void ssh_grant_list_free(struct ssh_grant_list *list)
{
    pg_result_free(list->result);
    *list = (struct ssh_grant_list){0};
}

static bool read_grants(struct ssh_grant_list *list, size_t n, struct arena *arena,
                        struct error *err)
{
    list->items = arena_array(arena, n, sizeof *list->items);
    for (; list->items && list->n < n; list->n++) {
        struct ssh_grant *grant = &list->items[list->n];

        grant->id = pg_text(list->result, (int)list->n, COLUMN_ID);
        grant->owner_id = pg_text(list->result, (int)list->n, COLUMN_OWNER_ID);
        if (!pg_texts(list->result, (int)list->n, COLUMN_ACL, arena, &grant->acl))
            break;
    }
    return (list->items && list->n == n) || error_set(err, ERR_OUT_OF_MEMORY);
}

static size_t count_grants(const struct pg_result *result)
{
    return pg_is_null(result, 0, COLUMN_ID) ? 0 : (size_t)pg_rows(result);
}

/* Returns false with ERR_GRANTS_TOO_MANY if there are more than a few.  The list owns the result,
 * also after a failure. */
static bool find_few(struct store *store, const struct store_request *request,
                     struct text fingerprint, struct ssh_grant_list *list, struct error *err)
{
    struct pg_params params;
    size_t n;

    executor_params(&params, request);
    pg_add_text(&params, fingerprint);
    pg_add_int(&params, FEW_MAX + 1);
    if (!executor_run(store, &few_statement, request, &params, &list->result, err))
        return false;
    n = count_grants(list->result);
    if (n > FEW_MAX)
        return error_set(err, ERR_GRANTS_TOO_MANY);
    return read_grants(list, n, request->arena, err);
}

/* Reads the grants up to the limits, without those of the owners that are left out.  Sets *beyond
 * to the first one beyond them. */
static bool find_many(struct store *store, const struct store_request *request,
                      struct text fingerprint, struct ssh_grant_list *list,
                      struct ssh_beyond *beyond, struct error *err)
{
    struct text_list left_out = {list->left_out.owner_ids, list->left_out.n, true};
    struct pg_params params;
    size_t n;

    *beyond = (struct ssh_beyond){.n_rules = 0};
    executor_params(&params, request);
    pg_add_text(&params, fingerprint);
    pg_add_int(&params, SSH_GRANTS_MAX);
    pg_add_int(&params, SSH_GRANT_RULES_MAX);
    pg_add_int(&params, SSH_GRANT_BYTES_MAX);
    pg_add_texts(&params, left_out, request->arena);
    if (!executor_run(store, &many_statement, request, &params, &list->result, err))
        return false;
    n = count_grants(list->result);
    if (n == 0 || !pg_bool(list->result, (int)n - 1, COLUMN_IS_OVER))
        return read_grants(list, n, request->arena, err);
    beyond->owner_id = pg_text(list->result, (int)n - 1, COLUMN_OWNER_ID);
    beyond->n_rules = (uint64_t)pg_int(list->result, (int)n - 1, COLUMN_N_RULES);
    beyond->n_bytes = (uint64_t)pg_int(list->result, (int)n - 1, COLUMN_N_BYTES);
    return read_grants(list, n - 1, request->arena, err);
}

/* Empties the list for the next statement, but for those who are left out: one more. */
static bool leave_one_out(struct ssh_grant_list *list, const struct ssh_beyond *beyond,
                          struct arena *arena, struct error *err)
{
    struct ssh_left_out left_out = list->left_out;
    enum ssh_share_outcome outcome = ssh_share_read(list->items, list->n, beyond, arena, &left_out);

    if (outcome != SSH_SHARE_LEFT_OUT)
        return error_set(err,
                         outcome == SSH_SHARE_NOBODY ? ERR_GRANTS_TOO_MANY : ERR_OUT_OF_MEMORY);
    ssh_grant_list_free(list);
    list->left_out = left_out;
    return true;
}

bool store_ssh_decision_find(struct store *store, const struct store_request *request,
                             struct text fingerprint, struct ssh_grant_list *list,
                             struct error *err)
{
    struct ssh_beyond beyond;

    if (find_few(store, request, fingerprint, list, err))
        return true;
    if (err->code != ERR_GRANTS_TOO_MANY)
        return false;
    ssh_grant_list_free(list);
    while (find_many(store, request, fingerprint, list, &beyond, err)) {
        /* Nothing is left of a key of one owner. */
        if (!beyond.owner_id.s)
            return list->n > 0 || list->left_out.n == 0 || error_set(err, ERR_GRANTS_TOO_MANY);
        if (!leave_one_out(list, &beyond, request->arena, err))
            return false;
    }
    return false;
}
