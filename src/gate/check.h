/* SPDX-License-Identifier: MIT */
/* The decision whether a request may pass. */
#ifndef ADIT_GATE_CHECK_H
#define ADIT_GATE_CHECK_H

#include "gate/gate_call.h"

/* Answers a check. */
void check_answer(struct gate_call *call);

#endif
