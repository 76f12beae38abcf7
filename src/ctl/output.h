/* SPDX-License-Identifier: MIT */
/* Standard output, before and after a change. */
#ifndef ADIT_CTL_OUTPUT_H
#define ADIT_CTL_OUTPUT_H

#include "ctl/ctl.h"

/* Writes out what was printed.  Returns whether all of it was written, or false after a message:
 * what became of a change follows the reason. */
MUST_CHECK bool ctl_flush_output(const char *change);

/* Writes to standard output what was printed so far, before a change.  Returns CTL_OK, or
 * CTL_FAILED after a message that nothing was changed. */
MUST_CHECK int ctl_flush(struct ctl *ctl);

/* Does ctl_flush() and commits the transaction, or rolls it back.  Returns CTL_OK, or CTL_FAILED
 * after a message. */
MUST_CHECK int ctl_commit(struct ctl *ctl);

#endif
