/* SPDX-License-Identifier: MIT */
/* The header Link (RFC 8288). */
#ifndef ADIT_GATE_LINK_H
#define ADIT_GATE_LINK_H

#include "base/text.h"

/* Returns the target of the first link whose relation is "next", and which has no anchor, a part of
 * the header's value.  No
 * NUL follows.  Absent: there is none, or the value is malformed up to there. */
struct text link_next(struct text value);

#endif
