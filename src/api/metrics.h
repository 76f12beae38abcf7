/* SPDX-License-Identifier: MIT */
/* Counting of requests, and the answer to /metrics. */
#ifndef ADIT_API_METRICS_H
#define ADIT_API_METRICS_H

#include "api/call.h"

/* Counts a request whose answer is complete.  code: of its error, or ERR_NONE.  Does nothing if the
 * settings have no place for counts. */
void api_metrics_count(const struct call *call, enum error_code code);

/* Answers with the sums of all workers, in Prometheus' text format 0.0.4.  Returns false with
 * ERR_PATH_UNKNOWN if this process does not share its counts with others, or with
 * ERR_OUT_OF_MEMORY. */
bool api_metrics_show(struct call *call, struct error *err);

#endif
