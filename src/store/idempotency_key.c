/* SPDX-License-Identifier: MIT */
/* Purging what Idempotency-Keys were answered with. */
#include "store/idempotency_key.h"

static const struct pg_statement purge_statement = {
    .name = "idempotency_key_purge",
    .writes = true,
    .sql = "WITH gone AS (DELETE FROM adit.idempotency_key AS i WHERE i.ctid = ANY (ARRAY("
           "SELECT o.ctid FROM adit.idempotency_key AS o"
           " WHERE o.created_at < pg_catalog.now() - interval '24 hours' LIMIT 1000))"
           " RETURNING i.key) SELECT count(*) FROM gone",
};

bool idempotency_key_purge(struct pg *pg, int64_t *n, struct error *err)
{
    const struct pg_params params = {.n = 0};
    int64_t n_gone;

    *n = 0;
    do {
        struct pg_result *result;

        if (!pg_run(pg, &purge_statement, &params, &result, err))
            return false;
        n_gone = pg_int(result, 0, 0);
        pg_result_free(result);
        *n += n_gone;
    } while (n_gone > 0);
    return true;
}
