/* SPDX-License-Identifier: MIT */
/* The statements of mutual TLS modules, and the operations on them. */
#include "store/mutual_tls_module.h"

#include "store/executor.h"

/* clang-format off */

/* $1 digest, $2 operation_id, $3 edge_id, $4 enabled, $5 certificate_authority_ids, $6 If-Match,
 * $7 If-None-Match.
 * "old" locks the row that If-Match names: the INSERT cannot check that it is there and stays. */
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
              " AND m.edge_id = $3::text COLLATE \"C\""
            " WHERE $6::bigint[] IS NOT NULL"
              " AND " CALLER_MAY_WRITE
            " FOR UPDATE OF m"
        "), m AS ("
            "INSERT INTO adit.mutual_tls_module AS m"
              " (account_id, edge_id, enabled, certificate_authority_ids)"
            " SELECT caller.account_id, $3::text, $4::boolean, $5::text[]"
            " FROM caller"
            " WHERE " CALLER_MAY_WRITE
              " AND ($6::bigint[] IS NULL OR EXISTS (SELECT FROM old))"
            " ON CONFLICT (account_id, edge_id) DO UPDATE"
            " SET enabled = excluded.enabled,"
              " certificate_authority_ids = excluded.certificate_authority_ids"
            " WHERE " CALLER_CONDITION("m", "$6", "$7")
            " RETURNING m.revision"
        ")"
        " SELECT " CALLER_COLUMNS_OF("caller") ", m.revision"
        " FROM caller"
        " LEFT JOIN m ON true",
};

enum put_column { COLUMN_PUT_REVISION = CALLER_N_COLUMNS };

/* $1 digest, $2 edge_id. */
static const struct pg_statement get_statement = {
    .name = "mutual_tls_module_get",
    .types = CALLER_TYPES PG_BOOL PG_TEXTS PG_BIGINT,
    .is_short = true,
    .sql =
        "SELECT " CALLER_COLUMNS_OF("k") ", m.enabled, m.certificate_authority_ids, m.revision"
        " FROM adit.api_key AS k"
        " LEFT JOIN adit.mutual_tls_module AS m"
          " ON m.account_id = k.account_id"
          " AND m.edge_id = $2::text COLLATE \"C\""
        " WHERE " CALLER_KEY_IS_GOOD,
};

enum get_column { COLUMN_ENABLED = CALLER_N_COLUMNS, COLUMN_AUTHORITY_IDS, COLUMN_REVISION };

/* $1 digest, $2 operation_id, $3 edge_id, $4 If-Match, $5 If-None-Match. */
static const struct pg_statement delete_statement = {
    .name = "mutual_tls_module_delete",
    .types = CALLER_TYPES EXECUTOR_DELETE_TYPES,
    .writes = true,
    .sql =
        CALLER_CTE
        ", m AS ("
            "DELETE FROM adit.mutual_tls_module AS m"
            " USING caller"
            " WHERE " CALLER_MAY_WRITE
              " AND m.account_id = caller.account_id"
              " AND m.edge_id = $3::text COLLATE \"C\""
              " AND " CALLER_CONDITION("m", "$4", "$5")
            " RETURNING m.edge_id"
        ")"
        " SELECT " CALLER_COLUMNS_OF("caller") ", m.edge_id,"
          " m.edge_id IS NULL"
          " AND EXISTS (SELECT FROM adit.mutual_tls_module AS e"
            " WHERE e.account_id = caller.account_id"
            " AND e.edge_id = $3::text COLLATE \"C\")"
        " FROM caller"
        " LEFT JOIN m ON true",
};

/* clang-format on */

bool store_mutual_tls_module_put(struct store *store, const struct store_request *request,
                                 struct text edge_id, struct mutual_tls_module *module,
                                 struct error *err)
{
    struct pg_params params;
    struct pg_result *result;
    bool written;

    executor_write_params(&params, request);
    pg_add_text(&params, edge_id);
    pg_add_bool(&params, module->enabled);
    pg_add_texts(&params, module->certificate_authority_ids, request->arena);
    executor_add_condition(&params, request);
    if (!executor_run(store, &put_statement, request, &params, &result, err))
        return false;
    written = !pg_is_null(result, 0, COLUMN_PUT_REVISION);
    module->revision = pg_int(result, 0, COLUMN_PUT_REVISION);
    pg_result_free(result);
    return written || error_set(err, ERR_PRECONDITION_FAILED);
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
    module->enabled = pg_bool(result, 0, COLUMN_ENABLED);
    module->revision = pg_int(result, 0, COLUMN_REVISION);
    if (pg_is_null(result, 0, COLUMN_ENABLED))
        error_set(err, ERR_MUTUAL_TLS_NOT_FOUND);
    else if (!pg_texts(result, 0, COLUMN_AUTHORITY_IDS, request->arena,
                       &module->certificate_authority_ids))
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
