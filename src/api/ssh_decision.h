/* SPDX-License-Identifier: MIT */
/* The handler of decisions about SSH keys.  As in a row of the route table: read() checks the
 * input, the other does the work and writes the answer.  Each returns false with *err. */
#ifndef ADIT_API_SSH_DECISION_H
#define ADIT_API_SSH_DECISION_H

#include "api/call.h"

bool api_ssh_decision_read(struct call *call, struct error *err);
bool api_ssh_decision_make(struct call *call, struct error *err);

#endif
