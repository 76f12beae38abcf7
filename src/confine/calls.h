/* SPDX-License-Identifier: MIT */
/* The system calls that a confined process may not make. */
#ifndef ADIT_CONFINE_CALLS_H
#define ADIT_CONFINE_CALLS_H

#include <stdbool.h>

#include "base/must_check.h"

/* Installs the seccomp filter for the rest of the process' life.  Refused calls fail, most with
 * EPERM.  The process needs no_new_privs.  Returns false if the kernel has no seccomp filters, or
 * if calls.c does not know the processor. */
MUST_CHECK bool confine_calls(void);

#endif
