/* SPDX-License-Identifier: MIT */
/* While the database is away: how often it is asked, and how long it may keep the loop each time.
 * A server that hangs accepts connections and never answers, so opening one takes as long as a
 * statement that is late. */
#ifndef ADIT_GATEWAY_OUTAGE_H
#define ADIT_GATEWAY_OUTAGE_H

#include "base/must_check.h"
#include "gateway/gateway.h"

/* Notes how statements that began then have ended.  After a failure that kept the loop for long,
 * nothing is asked for JUDGE_PAUSE_MS. */
void outage_note(struct gateway *gateway, bool ok, const struct error *err, int64_t begun_ms);

/* Returns whether the database may be asked: it was not away, or answers a question that takes it
 * no time.  If not, sets *err. */
MUST_CHECK bool outage_is_over(struct gateway *gateway, struct error *err);

#endif
