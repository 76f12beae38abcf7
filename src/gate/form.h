/* SPDX-License-Identifier: MIT */
/* Parameters of a query (application/x-www-form-urlencoded). */
#ifndef ADIT_GATE_FORM_H
#define ADIT_GATE_FORM_H

#include "base/arena.h"
#include "base/must_check.h"
#include "base/text.h"

/* Finds a parameter and decodes it: any bytes but NUL, in the arena.  *value is absent if there is
 * none.  Returns false if the parameter comes twice, is not encoded well, holds a NUL, or if memory
 * runs out. */
MUST_CHECK bool form_find(struct text query, const char *name, struct arena *arena,
                          struct text *value);

#endif
