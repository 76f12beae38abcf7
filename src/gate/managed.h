/* SPDX-License-Identifier: MIT */
/* The secrets of the managed OAuth applications: those for modules that name none. */
#ifndef ADIT_GATE_MANAGED_H
#define ADIT_GATE_MANAGED_H

#include <stdbool.h>
#include <stddef.h>

#include "base/must_check.h"
#include "gate/gate.h"

/* Reads the files that the settings name.  Returns false with a reason, which quotes nothing of
 * them; managed_free() is due in either case. */
MUST_CHECK bool managed_read(struct gate *gate, char *reason, size_t size);

/* Wipes and frees them. */
void managed_free(struct gate *gate);

#endif
