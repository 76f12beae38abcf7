/* SPDX-License-Identifier: MIT */
/* Rows of adit.gate_session: what does not fit into a cookie.  Each is sealed for the route, its
 * provider, a purpose, and the id of a session or of a login. */
#ifndef ADIT_GATE_ROW_H
#define ADIT_GATE_ROW_H

#include "base/must_check.h"
#include "gate/gate_call.h"

/* Purposes: the columns that seals are bound to. */
#define ROW_OF_SESSION "gate_session.sealed"
#define ROW_OF_LOGIN "gate_session.way_back"

/* A row to store. */
struct row_write {
    const char *purpose;
    struct text id;
    struct text content;
    struct text before; /* what is sealed in the row so far; absent: there is no row */
    int64_t ends_at;    /* how long it is kept, in seconds since 1970 */
};

/* Seals a row and stores it.  *sealed: what the row has then, in the arena; absent: it is another
 * one than `before` by now, or has ended, and stays as it is.  Returns false with *err. */
MUST_CHECK bool row_keep(struct gate_call *call, const struct row_write *row, struct text *sealed,
                         struct error *err);

/* Asks for the rows of ids, at once.  *answer is in the arena.  Returns false with *err. */
MUST_CHECK bool row_find_all(struct gate_call *call, struct text_list ids,
                             const struct gate_answer **answer, struct error *err);

/* Asks for the row of an id.  *row: NULL: there is none; else in the arena.  Returns false with
 * *err. */
MUST_CHECK bool row_find(struct gate_call *call, struct text id, const struct gate_row **row,
                         struct error *err);

/* Opens a row.  *content is in the arena.  Returns false with *err as keyring_open(). */
MUST_CHECK bool row_open(struct gate_call *call, const char *purpose, const struct gate_row *row,
                         struct text *content, struct error *err);

#endif
