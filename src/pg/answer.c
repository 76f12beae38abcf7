/* SPDX-License-Identifier: MIT */
/* Matching results with the read that they answer. */
#include "pg/answer.h"

#include "pg/session.h"

static enum pg_taken move_to(struct pg_answer *answer, enum pg_answer_state state,
                             enum pg_taken taken)
{
    answer->state = state;
    return taken;
}

/* Returns PG_TAKEN_SYNC and clears it where the result is a sync, else PG_TAKEN_WRONG. */
static enum pg_taken take_sync(PGresult *result)
{
    bool is_sync = PQresultStatus(result) == PGRES_PIPELINE_SYNC;

    PQclear(result);
    return is_sync ? PG_TAKEN_SYNC : PG_TAKEN_WRONG;
}

enum pg_taken pg_answer_take(struct pg_answer *answer, PGresult *result)
{
    switch (answer->state) {
    case PG_ANSWER_PREPARE:
        if (PQresultStatus(result) != PGRES_COMMAND_OK)
            return take_sync(result);
        PQclear(result);
        return move_to(answer, PG_ANSWER_PREPARE_END, PG_TAKEN_PART);
    case PG_ANSWER_PREPARE_END:
        if (!result)
            return move_to(answer, PG_ANSWER_ROWS, PG_TAKEN_PART);
        break;
    case PG_ANSWER_ROWS:
        if (PQresultStatus(result) != PGRES_TUPLES_OK || !pg_has_types(result, answer->statement))
            return take_sync(result);
        answer->rows = result;
        return move_to(answer, PG_ANSWER_ROWS_END, PG_TAKEN_PART);
    case PG_ANSWER_ROWS_END:
        if (!result)
            return move_to(answer, PG_ANSWER_OVER, PG_TAKEN_END);
        break;
    case PG_ANSWER_OVER:
        break;
    }
    PQclear(result);
    return PG_TAKEN_WRONG;
}

void pg_answer_drop(struct pg_answer *answer)
{
    PQclear(answer->rows);
    answer->rows = NULL;
    answer->state = PG_ANSWER_OVER;
}
