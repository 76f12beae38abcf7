/* SPDX-License-Identifier: MIT */
/* How long a statement may take.  While the database is away: how often it is asked, and how long
 * it may keep the loop each time.  A server that hangs accepts connections and never answers, so
 * opening one takes as long as a statement that is late. */
#ifndef ADIT_GATEWAY_OUTAGE_H
#define ADIT_GATEWAY_OUTAGE_H

#include "base/must_check.h"
#include "gateway/gateway.h"

/* Milliseconds that a statement may take. */
#define OUTAGE_TIMEOUT_MS 1000

/* After a statement that was not answered in time, nothing is asked for so long, or nothing of the
 * same place: each would keep the loop as long again. */
#define OUTAGE_PAUSE_MS 500

/* Any failure that took so long keeps the loop, too: opening a session may hang. */
#define OUTAGE_LONG_MS 100

/* While the database, or an account's place in it, does not answer, the next statements for it may
 * take so long, but for every fourth: each keeps the loop, and with it all that is not of the
 * database, or of the place. */
#define OUTAGE_IMPATIENT_MS 300
#define OUTAGE_PATIENT_EVERY 4

/* Returns whether nothing is asked now, after a statement that was not answered in time. */
bool outage_shuts(const struct gateway *gateway);

/* Notes how statements that began then have ended.  After a failure that kept the loop for long,
 * nothing is asked for OUTAGE_PAUSE_MS. */
void outage_note(struct gateway *gateway, bool ok, const struct error *err, int64_t begun_ms);

/* Returns whether the database may be asked: it was not away, or answers a question that takes it
 * no time.  If not, sets *err. */
MUST_CHECK bool outage_is_over(struct gateway *gateway, struct error *err);

#endif
