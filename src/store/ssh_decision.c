/* SPDX-License-Identifier: MIT */
/* The statements of decisions about SSH keys. */
#include "store/ssh_decision.h"

#include "store/executor.h"
#include "store/key_walk.h"

enum column { COLUMN_ID = CALLER_N_COLUMNS, COLUMN_OWNER_ID, COLUMN_ACL };

#define GRANT_TYPES PG_TEXT PG_TEXT PG_TEXTS

/* clang-format off */

/* $1 digest, $2 account, $3 fingerprint, $4 limit. */
#define OF_KEY(in_account)                                                                         \
    "SELECT c.id, c.owner_id, c.acl"                                                               \
    " FROM adit.ssh_credential AS c"                                                               \
    " WHERE c.account_id = k.account_id" in_account                                                \
      " AND c.fingerprint = $3::text COLLATE \"C\""                                                \
    " ORDER BY c.id"                                                                               \
    " LIMIT $4::bigint"

#define GRANTS_SQL(acl, of_key)                                                                    \
    "SELECT " CALLER_COLUMNS_OF("k") ", c.id, c.owner_id, " acl                                    \
    " FROM adit.api_key AS k"                                                                      \
    " LEFT JOIN LATERAL (" of_key ") AS c ON true"                                                 \
    " WHERE " CALLER_KEY_IS_GOOD                                                                   \
    " ORDER BY c.id"

static const struct pg_statement few_statement = {
    .name = "ssh_decision_few",
    .types = CALLER_TYPES GRANT_TYPES,
    .is_short = true,
    .sql = GRANTS_SQL("c.acl", OF_KEY("")),
    .distributed_sql = GRANTS_SQL("c.acl", OF_KEY(CALLER_AND_IN_ACCOUNT("c"))),
};

/* For a key in many credentials.  $4 the most credentials, $5 the most rules, $6 the most bytes. */
#define MANY(in_account)                                                                           \
    "WITH RECURSIVE "                                                                              \
    KEY_TURNS("c.fingerprint = $3::text COLLATE \"C\"", "c.account_id = k.account_id" in_account,  \
              "$4::bigint") ", "                                                                   \
    KEY_WALK("c.account_id = k.account_id" in_account, "$4::bigint", "$5::bigint", "$6::bigint")   \
    " SELECT w.id, w.owner_id, CASE WHEN NOT w.is_beyond THEN w.acl END AS acl FROM walk AS w"

static const struct pg_statement many_statement = {
    .name = "ssh_decision_many",
    .types = CALLER_TYPES GRANT_TYPES,
    .sql = GRANTS_SQL("c.acl", MANY("")),
    .distributed_sql = GRANTS_SQL("c.acl", MANY(CALLER_AND_IN_ACCOUNT("c"))),
};

/* clang-format on */

/* A way to read the grants, and the most that it reads. */
struct way {
    const struct pg_statement *statement;
    size_t most;
};

/* On the session that all lanes share.  The rules of each came in a body, of 64 KiB at most. */
static const struct way few = {.statement = &few_statement, .most = 8};

static const struct way many = {.statement = &many_statement, .most = SSH_GRANTS_MAX};

void ssh_grant_list_free(struct ssh_grant_list *list)
{
    pg_result_free(list->result);
    *list = (struct ssh_grant_list){0};
}

static bool read_grant(const struct pg_result *result, int row, struct arena *arena,
                       struct ssh_grant *grant, struct error *err)
{
    if (pg_is_null(result, row, COLUMN_ACL))
        return error_set(err, ERR_GRANTS_TOO_MANY);
    grant->id = pg_text(result, row, COLUMN_ID);
    grant->owner_id = pg_text(result, row, COLUMN_OWNER_ID);
    return pg_texts(result, row, COLUMN_ACL, arena, &grant->acl) ||
           error_set(err, ERR_OUT_OF_MEMORY);
}

/* Returns false with ERR_GRANTS_TOO_MANY if there are more than this way reads.  The list owns the
 * result, also after a failure. */
static bool find_grants(struct store *store, const struct way *way,
                        const struct store_request *request, struct text fingerprint,
                        struct ssh_grant_list *list, struct error *err)
{
    struct pg_params params;
    size_t n;

    executor_params(&params, request);
    pg_add_text(&params, fingerprint);
    if (way == &many) {
        pg_add_int(&params, SSH_GRANTS_MAX);
        pg_add_int(&params, SSH_GRANT_RULES_MAX);
        pg_add_int(&params, SSH_GRANT_BYTES_MAX);
    } else {
        pg_add_int(&params, (int64_t)way->most + 1);
    }
    if (!executor_run(store, way->statement, request, &params, &list->result, err))
        return false;
    n = pg_is_null(list->result, 0, COLUMN_ID) ? 0 : (size_t)pg_rows(list->result);
    if (n > way->most)
        return error_set(err, ERR_GRANTS_TOO_MANY);
    list->items = arena_array(request->arena, n, sizeof *list->items);
    if (!list->items)
        return error_set(err, ERR_OUT_OF_MEMORY);
    for (; list->n < n; list->n++) {
        if (!read_grant(list->result, (int)list->n, request->arena, &list->items[list->n], err))
            return false;
    }
    return true;
}

bool store_ssh_decision_find(struct store *store, const struct store_request *request,
                             struct text fingerprint, struct ssh_grant_list *list,
                             struct error *err)
{
    if (find_grants(store, &few, request, fingerprint, list, err))
        return true;
    if (err->code != ERR_GRANTS_TOO_MANY)
        return false;
    ssh_grant_list_free(list);
    return find_grants(store, &many, request, fingerprint, list, err);
}
