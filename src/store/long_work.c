/* SPDX-License-Identifier: MIT */
/* Transactions of one statement. */
#include "store/long_work.h"

bool long_work_run(struct pg *pg, const char *begin, const struct pg_statement *statement,
                   const struct pg_params *params, struct pg_result **result, struct error *err)
{
    pg_set_timeout(pg, LONG_WORK_TIMEOUT_MS);
    return pg_begin(pg, begin, err) &&
           pg_end(pg, pg_run(pg, statement, params, result, err), result, err);
}
