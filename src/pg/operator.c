/* SPDX-License-Identifier: MIT */
/* What an operator's transactions set, and how they end. */
#include "pg/operator.h"

#include <stdio.h>
#include <string.h>

static enum pg_outcome enter_by_text(struct pg_own *own, const char *operator_name,
                                     int64_t deadline_ms, struct error *err)
{
    char *name = PQescapeLiteral(own->session.conn, operator_name, strlen(operator_name));
    enum pg_outcome outcome = PG_NO_EFFECT;
    char sql[600];

    if (!name)
        error_set(err, ERR_OUT_OF_MEMORY);
    else if (snprintf(sql, sizeof sql, "%s%s", own->placement->operator_sql, name) >=
             (int)sizeof sql)
        error_cause(err, ERR_INTERNAL, "database: the operator's name is too long");
    else
        outcome = pg_own_run_sql(own, sql, NULL, deadline_ms, err);
    PQfreemem(name);
    return outcome;
}

enum pg_outcome pg_operator_enter(struct pg_own *own, const char *operator_name,
                                  int64_t deadline_ms, struct error *err)
{
    /* Somebody may have set a caller for all sessions of a role or a pooler. */
    static const char sql[] =
        "SELECT pg_catalog.set_config('adit.operator', $1::pg_catalog.text, true),"
        " pg_catalog.set_config('adit.caller', '', true),"
        " pg_catalog.set_config('search_path', 'pg_catalog, pg_temp', true)";
    PGresult *last;
    enum pg_outcome outcome;

    if (own->placement->operator_sql)
        return enter_by_text(own, operator_name, deadline_ms, err);
    if (!PQsendQueryParams(own->session.conn, sql, 1, NULL, &operator_name, NULL, NULL, 1))
        return pg_own_not_sent(own, err);
    outcome = pg_own_collect(own, NULL, deadline_ms, &last, err);
    PQclear(last);
    return outcome;
}

bool pg_end(struct pg *pg, bool ok, struct pg_result **result, struct error *err)
{
    if (!ok)
        pg_rollback(pg);
    else if (pg_commit(pg, err))
        return true;
    if (result) {
        pg_result_free(*result);
        *result = NULL;
    }
    return false;
}
