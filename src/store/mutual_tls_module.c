/* SPDX-License-Identifier: MIT */
/* The statements of mutual TLS modules, and the operations on them. */
#include "store/mutual_tls_module.h"

#include "store/caller.h"

static const struct pg_statement put_statement = {
    .name = "mutual_tls_module_put",
    .writes = true,
    .sql = CALLER_CTE
    ", m AS ("
    "INSERT INTO adit.mutual_tls_module AS m (account_id, edge_id, enabled,"
    " certificate_authority_ids)"
    " SELECT caller.account_id, $2::text, $3::boolean, $4::text[] FROM caller"
    " WHERE " CALLER_MAY_WRITE
    " ON CONFLICT (account_id, edge_id) DO UPDATE SET enabled = excluded.enabled,"
    " certificate_authority_ids = excluded.certificate_authority_ids"
    " RETURNING m.edge_id"
    ") SELECT " CALLER_COLUMNS_OF("caller") ", m.edge_id FROM caller LEFT JOIN m ON true",
};

static const struct pg_statement get_statement = {
    .name = "mutual_tls_module_get",
    .sql = "SELECT " CALLER_COLUMNS_OF(
        "k") ", m.enabled, m.certificate_authority_ids"
             " FROM adit.api_key AS k LEFT JOIN adit.mutual_tls_module AS m"
             " ON m.account_id = k.account_id AND m.edge_id = $2::text COLLATE \"C\""
             " WHERE " CALLER_KEY_IS_GOOD,
};

enum get_column { COLUMN_ENABLED = CALLER_N_COLUMNS, COLUMN_AUTHORITY_IDS };

static const struct pg_statement delete_statement = {
    .name = "mutual_tls_module_delete",
    .writes = true,
    .sql = CALLER_CTE
    ", m AS ("
    "DELETE FROM adit.mutual_tls_module AS m USING caller WHERE " CALLER_MAY_WRITE
    " AND m.account_id = caller.account_id AND m.edge_id = $2::text COLLATE \"C\""
    " RETURNING m.edge_id"
    ") SELECT " CALLER_COLUMNS_OF("caller") ", m.edge_id FROM caller LEFT JOIN m ON true",
};

bool store_mutual_tls_module_put(struct store *store, const struct bearer *bearer,
                                 struct text edge_id, const struct mutual_tls_module *module,
                                 struct arena *arena, struct error *err)
{
    struct pg_params params;
    struct pg_result *result;

    caller_params(&params, bearer);
    pg_add_text(&params, edge_id);
    pg_add_bool(&params, module->enabled);
    pg_add_texts(&params, module->certificate_authority_ids, arena);
    if (!caller_run(store, &put_statement, bearer, &params, &result, err))
        return false;
    pg_result_free(result);
    return true;
}

bool store_mutual_tls_module_get(struct store *store, const struct bearer *bearer,
                                 struct text edge_id, struct arena *arena,
                                 struct mutual_tls_module *module, struct error *err)
{
    struct pg_params params;
    struct pg_result *result;
    bool ok = false;

    caller_params(&params, bearer);
    pg_add_text(&params, edge_id);
    if (!caller_run(store, &get_statement, bearer, &params, &result, err))
        return false;
    module->enabled = pg_bool(result, 0, COLUMN_ENABLED);
    if (pg_is_null(result, 0, COLUMN_ENABLED))
        error_set(err, ERR_MUTUAL_TLS_NOT_FOUND);
    else if (!pg_texts(result, 0, COLUMN_AUTHORITY_IDS, arena, &module->certificate_authority_ids))
        error_set(err, ERR_OUT_OF_MEMORY);
    else
        ok = true;
    pg_result_free(result);
    return ok;
}

bool store_mutual_tls_module_delete(struct store *store, const struct bearer *bearer,
                                    struct text edge_id, struct error *err)
{
    struct pg_params params;
    struct pg_result *result;

    caller_params(&params, bearer);
    pg_add_text(&params, edge_id);
    if (!caller_run(store, &delete_statement, bearer, &params, &result, err))
        return false;
    pg_result_free(result);
    return true;
}
