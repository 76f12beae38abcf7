/* SPDX-License-Identifier: MIT */
/* The handlers that a supervisor or a load balancer asks. */
#ifndef ADIT_API_HEALTH_H
#define ADIT_API_HEALTH_H

#include "api/call.h"

/* The process answers.  Never fails. */
bool api_health_live(struct call *call, struct error *err);

/* The process answers and goes on, and the store is ready.  Returns false with ERR_DRAINING, or as
 * store_ready(). */
bool api_health_ready(struct call *call, struct error *err);

#endif
