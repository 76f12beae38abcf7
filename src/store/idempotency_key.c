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
    /* One statement cannot count the pages of several nodes.  No parameters; a row for each. */
    .by_account =
        "DELETE FROM adit.idempotency_key AS i"
        " WHERE i.created_at < now() - interval '24 hours'"
        " RETURNING 1::bigint, 0::bigint",
};

/* clang-format on */

static bool purge_all(struct pg *pg, const struct work *work, int64_t *n, struct error *err)
{
    struct pg_params params = {.n = 0};
    struct pg_result *result;

    if (!work_run(pg, WORK_BEGIN, &idempotency_key_purge_statement, &params, &result, err))
        return false;
    *n = pg_rows(result);
    pg_result_free(result);
    work_show(work, *n);
    return true;
}

/* Pages of the table per step. */
#define STEP_PAGES 500

bool idempotency_key_purge(struct pg *pg, const struct work *work, int64_t *n, struct error *err)
{
    int64_t n_pages;
    int64_t page = 0;

    *n = 0;
    if (pg_is_by_account(pg))
        return purge_all(pg, work, n, err);
    do {
        struct pg_params params = {.n = 0};
        struct pg_result *result;

        pg_add_int(&params, page);
        page += STEP_PAGES;
        pg_add_int(&params, page);
        if (!work_run(pg, WORK_BEGIN, &idempotency_key_purge_statement, &params, &result, err))
            return false;
        *n += pg_int(result, 0, 0);
        n_pages = pg_int(result, 0, 1);
        pg_result_free(result);
        work_show(work, *n);
    } while (page < n_pages);
    return true;
}
