/* SPDX-License-Identifier: MIT */
/* Deleting old events. */
#include "store/audit_purge.h"

/* clang-format off */

#define STEP_EVENTS "2000"

/* $1 the last event of the step before, $2 days to keep.
 * An event may have 128 KiB, and a step its 10 minutes: 2,000 events fit into that on a slow disk.
 * Numbers ascend with time, but not where a clock was wrong: the steps go to the end of the table.  Each
 * starts after the last event of the step before and does not scan removed rows again. */
const struct pg_statement audit_purge_statement = {
    .name = "audit_event_purge",
    .types = PG_BOOL PG_BIGINT PG_BIGINT,
    .writes = true,
    .sql =
        "WITH seen AS ("
            "SELECT count(*) AS n, max(s.id) AS last"
            " FROM (SELECT e.id"
              " FROM adit.audit_event AS e"
              " WHERE e.id > $1::bigint"
              " ORDER BY e.id"
              " LIMIT " STEP_EVENTS ") AS s"
        "), gone AS ("
            "DELETE FROM adit.audit_event AS e"
            " WHERE e.id > $1::bigint"
              " AND e.id <= (SELECT seen.last FROM seen)"
              " AND e.at < now() - $2::bigint * interval '1 day'"
            " RETURNING e.id"
        ")"
        " SELECT seen.n = " STEP_EVENTS ", seen.last, (SELECT count(*) FROM gone)"
        " FROM seen",
};

/* clang-format on */

enum purge_column { COLUMN_MORE, COLUMN_LAST, COLUMN_GONE };

bool audit_purge(struct pg *pg, int64_t days, const struct long_work *work, int64_t *n,
                 struct error *err)
{
    int64_t last = 0;
    bool more;

    *n = 0;
    do {
        struct pg_params params = {.n = 0};
        struct pg_result *result;

        pg_add_int(&params, last);
        pg_add_int(&params, days);
        if (!long_work_run(pg, LONG_WORK_BEGIN, &audit_purge_statement, &params, &result, err))
            return false;
        last = pg_int(result, 0, COLUMN_LAST);
        *n += pg_int(result, 0, COLUMN_GONE);
        more = pg_bool(result, 0, COLUMN_MORE); /* others write meanwhile, without end */
        pg_result_free(result);
        long_work_show(work, *n);
    } while (more);
    return true;
}
