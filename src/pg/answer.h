/* SPDX-License-Identifier: MIT */
/* The answer to one read in the pipeline: what must come next, and what a result does to it. */
#ifndef ADIT_PG_ANSWER_H
#define ADIT_PG_ANSWER_H

#include <libpq-fe.h>

#include "base/must_check.h"
#include "pg/pg.h"

/* What the server must send next for a read. */
enum pg_answer_state {
    PG_ANSWER_PREPARE,     /* the result of PREPARE */
    PG_ANSWER_PREPARE_END, /* the end of that */
    PG_ANSWER_ROWS,        /* the rows */
    PG_ANSWER_ROWS_END,    /* the end of those */
    PG_ANSWER_OVER         /* nothing more: it has come, or will not come */
};

/* Rows belong to the reader once the state is PG_ANSWER_OVER. */
struct pg_answer {
    const struct pg_statement *statement;
    enum pg_answer_state state;
    PGresult *rows; /* NULL: none */
};

/* What a result was. */
enum pg_taken {
    PG_TAKEN_PART, /* a part of the answer; more must come */
    PG_TAKEN_END,  /* the end of the answer */
    PG_TAKEN_SYNC, /* no part of any answer: the end of what was sent in one piece */
    PG_TAKEN_WRONG /* anything else, an error too: the session must be closed */
};

/* Takes what PQgetResult() returned, NULL too, and owns it.  A read must never get rows of another
 * read, so a result that does not come in its turn is PG_TAKEN_WRONG. */
MUST_CHECK enum pg_taken pg_answer_take(struct pg_answer *answer, PGresult *result);

/* Ends an answer without rows. */
void pg_answer_drop(struct pg_answer *answer);

#endif
