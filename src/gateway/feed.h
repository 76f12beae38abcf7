/* SPDX-License-Identifier: MIT */
/* The record of changes as a feed: where the next poll begins, and when it is due.
 *
 * A lock on the record, or more changes than can be read in time, makes the feed late alone: the
 * database still answers for keys.  The feed then rests, and everything is judged anew instead. */
#ifndef ADIT_GATEWAY_FEED_H
#define ADIT_GATEWAY_FEED_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/log.h"
#include "store/gateway.h"

/* A feed that was late is not read again for so long: each attempt keeps the loop, and with it
 * logins. */
#define FEED_REST_MS 5000

/* How often everything is judged anew meanwhile. */
#define FEED_ANEW_MS 1000

/* All zero at first. */
struct feed {
    struct buf snapshot;  /* of the last poll; empty: everything is to be judged anew */
    bool is_late;         /* it was, and has not been read since */
    int64_t rest_to_ms;   /* it is not read before (steady clock), */
    int64_t anew_from_ms; /* and until then, nothing is judged anew before */
};

/* Returns whether the feed is to be read now. */
bool feed_is_due(const struct feed *feed, int64_t now_ms);

/* Returns the snapshot to begin from; absent: there is none. */
struct text feed_since(const struct feed *feed);

/* Takes over what was read.  Logs the end of being late. */
void feed_note_answer(struct feed *feed, const struct gateway_changes *changes,
                      const struct log *log);

/* Has the next poll begin anew, after one that failed: there may be too many changes to be read in
 * time, and it would ask for those and more. */
void feed_forget(struct feed *feed);

/* Begins a rest of a feed that is late alone.  Logs the first one. */
void feed_note_late(struct feed *feed, const struct error *err, int64_t now_ms,
                    const struct log *log);

#endif
