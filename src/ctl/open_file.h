/* SPDX-License-Identifier: MIT */
/* Files that operators name. */
#ifndef ADIT_CTL_OPEN_FILE_H
#define ADIT_CTL_OPEN_FILE_H

#include "base/must_check.h"

/* Opens a file to read, without waiting for the writer of a FIFO: one without a writer is empty.
 * Returns the descriptor, which the caller closes, or -1 with errno. */
MUST_CHECK int ctl_open_file(const char *path);

#endif
