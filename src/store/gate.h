/* SPDX-License-Identifier: MIT */
/* What adit-gate reads and writes: a route's OAuth module, the sessions that have a row, and which
 * logins have come back.  The
 * role adit_gate may run all of this.
 *
 * Every function takes one round trip and returns false with *err as pg_run(), or with
 * ERR_OUT_OF_MEMORY. */
#ifndef ADIT_STORE_GATE_H
#define ADIT_STORE_GATE_H

#include <stdint.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/must_check.h"
#include "model/oauth_module.h"
#include "pg/pg.h"
#include "keyring/keyring.h"
#include "model/resource.h"

/* Sessions that a question names whose cookies nobody has opened yet.  Of a question that names
 * more, the answer has what the rows of so many hold. */
#define STORE_GATE_SESSIONS_MAX 16

/* What a request is about. */
struct gate_question {
    struct text account_id; /* absent or "": the only one there is, if it has no place of its own */
    struct module_place route;
    struct text_list session_ids;
};

/* A session's row. */
struct gate_row {
    struct text id;
    bool has_ended; /* the visitor has signed out */
    struct text key_id;
    struct text sealed; /* any bytes; absent: it has ended, or there are so many before it */
};

/* All of it in the arena, or the question's. */
struct gate_answer {
    int n_accounts; /* that account_id names: 0, 1, or 2 for several */
    struct text account_id;
    bool has_module;
    struct oauth_module module; /* without its client secret */
    int64_t incarnation;        /* a random number of the module, until it is deleted */
    struct gate_row *rows;
    size_t n_rows;
};

/* Reads the module of a route, and the rows of sessions.  What these hold: of the first
 * STORE_GATE_SESSIONS_MAX only. */
MUST_CHECK bool store_gate_ask(struct pg *pg, const struct gate_question *question,
                               struct arena *arena, struct gate_answer *answer, struct error *err);

/* A client secret as it is stored. */
struct gate_secret {
    bool is_found; /* the module is still there, with that provider and that application */
    struct text key_id;
    struct text sealed; /* any bytes */
};

/* Reads the sealed client secret of a module, in the arena. */
MUST_CHECK bool store_gate_secret(struct pg *pg, struct text account_id,
                                  const struct module_place *route,
                                  const struct oauth_module *module, struct arena *arena,
                                  struct gate_secret *secret, struct error *err);

/* A session's row to store. */
struct gate_write {
    struct gate_row row;
    struct text before; /* what is sealed in the row so far; absent: there is no row */
    int64_t ends_at;    /* how long it is kept, in seconds since 1970 */
};

/* Stores a session's row.  *is_kept: false if the row is another one than `before` by now, or has
 * ended: it stays as it is. */
MUST_CHECK bool store_gate_keep(struct pg *pg, struct text account_id,
                                const struct gate_write *write, bool *is_kept, struct error *err);

/* Notes that the visitor has signed out.  ends_at: when the session would end at the latest. */
MUST_CHECK bool store_gate_end(struct pg *pg, struct text account_id, struct text session_id,
                               int64_t ends_at, struct error *err);

/* Uses up the state of a login, which would end at ends_at: it is noted until then.  *is_first:
 * nobody has used it before.  Of several who ask at once, one is the first. */
MUST_CHECK bool store_gate_use(struct pg *pg, struct text account_id, struct text state_id,
                               int64_t ends_at, bool *is_first, struct error *err);

/* Deletes rows of sessions that have ended by now, at most 1000.  *is_done: no such row is left. */
MUST_CHECK bool store_gate_purge(struct pg *pg, bool *is_done, struct error *err);

#endif
