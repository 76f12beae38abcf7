/* SPDX-License-Identifier: MIT */
/* Transactions of one statement. */
#include "store/work.h"

bool work_run_and_commit(struct pg *pg, const struct pg_statement *statement,
                         const struct pg_params *params, struct pg_result **result,
                         struct error *err)
{
    if (!pg_run(pg, statement, params, result, err)) {
        pg_rollback(pg);
        return false;
    }
    if (pg_commit(pg, err))
        return true;
    pg_result_free(*result);
    *result = NULL;
    return false;
}

bool work_run(struct pg *pg, const char *begin, const struct pg_statement *statement,
              const struct pg_params *params, struct pg_result **result, struct error *err)
{
    pg_set_timeout(pg, WORK_TIMEOUT_MS);
    return pg_begin(pg, begin, err) && work_run_and_commit(pg, statement, params, result, err);
}
