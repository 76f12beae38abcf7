/* SPDX-License-Identifier: MIT */
/* The system calls that a confined process may not make. */
#ifndef ADIT_CONFINE_CALLS_H
#define ADIT_CONFINE_CALLS_H

#include <stdbool.h>

#include "base/must_check.h"

/* Refuses them from now on, with EPERM, in a process that has no_new_privs.  Returns false where
 * the kernel has no seccomp filters, or nobody has told this room the processor's calls. */
MUST_CHECK bool confine_calls(void);

#endif
