/* SPDX-License-Identifier: MIT */
/* The handlers of audit events.  As in a row of the route table: read() checks the input, the
 * others do the work and write the answer.  Each returns false with *err. */
#ifndef ADIT_API_AUDIT_EVENT_H
#define ADIT_API_AUDIT_EVENT_H

#include "api/call.h"

/* Query parameters of the list. */
extern const struct query_param api_audit_event_query[];

bool api_audit_event_read_list(struct call *call, struct error *err);
bool api_audit_event_list(struct call *call, struct error *err);
bool api_audit_event_get(struct call *call, struct error *err);

#endif
