/* SPDX-License-Identifier: MIT */
/* Lanes that wait for a provider, or for another lane that asks one.  Some lanes stay for checks,
 * and some for visitors of other addresses. */
#ifndef ADIT_GATE_WAITING_H
#define ADIT_GATE_WAITING_H

#include "base/must_check.h"
#include "gate/call.h"

/* Why the next two may fail. */
extern const char waiting_fault[];

/* Notes that this lane waits.  Returns false if too many do so already; waiting_end() ends it. */
MUST_CHECK bool waiting_begin(struct call *call);
void waiting_end(struct call *call);

/* The same, with a fetcher to ask the provider with, which waiting_end_fetch() frees.  Returns NULL
 * if too many lanes wait already, or memory is short; that needs no end. */
MUST_CHECK struct fetcher *waiting_begin_fetch(struct call *call);
void waiting_end_fetch(struct call *call, struct fetcher *fetcher);

#endif
