/* SPDX-License-Identifier: MIT */
/* What is stored about a request's route. */
#ifndef ADIT_GATE_STORED_H
#define ADIT_GATE_STORED_H

#include "base/must_check.h"
#include "gate/gate_call.h"

/* Reads the route's module, and the rows of the sessions that the cookies name, and brings the call
 * from CALL_READ to CALL_LOOKED_UP.  Returns false, with the answer made, if that cannot be
 * known. */
MUST_CHECK bool stored_look_up(struct gate_call *call);

#endif
