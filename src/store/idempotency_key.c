/* SPDX-License-Identifier: MIT */
/* Deleting old answers to Idempotency-Keys. */
#include "store/idempotency_key.h"

/* clang-format off */

/* $1 first page, $2 page after the last.
 * A step scans a range of pages.  That visits each page once and needs no index, for which every
 * request would pay. */
const struct pg_statement idempotency_key_purge_statement = {
    .name = "idempotency_key_purge",
    .types = PG_BIGINT PG_BIGINT,
    .writes = true,
    .sql =
        "WITH gone AS ("
            "DELETE FROM adit.idempotency_key AS i"
            " WHERE i.ctid >= format('(%s,0)', $1::bigint)::tid"
              " AND i.ctid < format('(%s,0)', $2::bigint)::tid"
              " AND i.created_at < now() - interval '24 hours'"
            " RETURNING i.key"
        ")"
        " SELECT (SELECT count(*) FROM gone),"
          " pg_relation_size('adit.idempotency_key') / current_setting('block_size')::bigint",
};

/* clang-format on */

/* Pages of the table per step. */
#define STEP_PAGES 500

bool idempotency_key_purge(struct pg *pg, const struct long_work *work, int64_t *n,
                           struct error *err)
{
    int64_t n_pages;
    int64_t page = 0;

    *n = 0;
    do {
        struct pg_params params = {.n = 0};
        struct pg_result *result;

        pg_add_int(&params, page);
        page += STEP_PAGES;
        pg_add_int(&params, page);
        if (!long_work_run(pg, LONG_WORK_BEGIN, &idempotency_key_purge_statement, &params, &result,
                           err))
            return false;
        for (int row = 0; row < pg_rows(result); row++)
            *n += pg_int(result, row, 0);
        n_pages = pg_rows(result) > 0 ? pg_int(result, 0, 1) : 0;
        pg_result_free(result);
        long_work_show(work, *n);
    } while (page < n_pages);
    return true;
}
