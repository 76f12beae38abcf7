/* SPDX-License-Identifier: MIT */
/* The standard descriptors: 0, 1 and 2. */
#ifndef ADIT_BASE_STANDARD_FDS_H
#define ADIT_BASE_STANDARD_FDS_H

#include <stdbool.h>

#include "base/must_check.h"

/* Fills each standard descriptor that is closed, so that no file or connection gets its number and
 * the program's output.  Such a descriptor is at its end for a reader, and refuses what is written
 * (EBADF).  A program calls this before it opens anything.  Returns false after a message on
 * standard error if the process may not open a descriptor. */
MUST_CHECK bool standard_fds_fill(void);

#endif
