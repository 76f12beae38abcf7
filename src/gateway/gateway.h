/* SPDX-License-Identifier: MIT */
/* What the rooms of the daemon share. */
#ifndef ADIT_GATEWAY_GATEWAY_H
#define ADIT_GATEWAY_GATEWAY_H

#include "base/buf.h"
#include "base/error.h"
#include "base/ident.h"
#include "base/log.h"
#include "conf/conf.h"
#include "crypt/crypt.h"
#include "gateway/edges.h"
#include "gateway/feed.h"
#include "gateway/follow.h"
#include "gateway/glanced.h"
#include "gateway/heavy_keys.h"
#include "gateway/reading.h"
#include "gateway/ssh_session.h"
#include "gateway/state.h"
#include "gateway/textfile.h"
#include "pg/pg.h"

/* Accounts that the next line of the log counts. */
struct account_news {
    size_t n;
    int64_t due_ms; /* no line before (steady clock) */
};

struct by_account;
struct nodes;

struct gateway {
    struct conf conf;
    struct log_limit log_limit;
    struct pg *pg;
    struct pg *edges_pg; /* another session: a login does not wait for what is late about edges */
    struct crypt_hasher *hasher;
    struct state state;
    struct ssh_sessions sessions;
    struct heavy_keys heavy_keys;
    struct heavy_keys light_keys; /* the others: they push out no heavy one */
    struct readings readings;
    struct edges *edges;
    bool edges_are_marked; /* what is stored is to be compared with what was read */
    bool edges_are_unread; /* the last reading failed */
    int edges_late;        /* how often a statement was late, less readings since that were not */
    int64_t edges_read_at_ms;  /* no reading before (steady clock) */
    const char *account_fault; /* why the edges' account cannot be obeyed; NULL: it can, static */
    int epoll;                 /* see gateway/watched.h */

    /* The database, as the last statement left it. */
    bool is_away;
    int64_t shut_until_ms; /* it did not answer in time: nothing is asked before (steady clock) */
    unsigned n_late;       /* how often since it answered last */
    struct feed feed;
    int64_t polled_ms; /* when the last poll succeeded (steady clock); 0: never */

    /* Keys that the next statement may glance at to judge sessions: fewer after one that was late;
     * 0: the most.  Logins have a number of their own, or they would undo this. */
    size_t glance_max;
    struct glanced glanced; /* keys that logins ask about now */
    uint64_t n_polls;       /* how often changes were to be read */
    int64_t turn_ms;        /* how long a turn of judging goes on; 0: MARKED_TURN_MS */

    /* Where each account has a place of its own.  The feed is unused then. */
    const struct by_account *by_account; /* NULL: all accounts are in one */
    const char *unnamed_fault; /* why a key must name its account; NULL: it need not, static */
    struct follows follows;
    struct account_news lost; /* cannot be asked for any more; */
    char lost_id[IDENT_SIZE]; /* the first of them, */
    struct error lost_err;    /* and why */
    struct account_news found;
    struct nodes *nodes; /* of the driver (drivers.c) */

    struct textfile textfile;
};

#endif
