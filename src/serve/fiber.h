/* SPDX-License-Identifier: MIT */
/* Functions that can pause.  Each has a stack of its own; one runs at a time, in one thread. */
#ifndef ADIT_SERVE_FIBER_H
#define ADIT_SERVE_FIBER_H

#include <stddef.h>

#include "base/must_check.h"

struct serve_fiber;

/* Bytes of a fiber's stack.  Untouched pages take no memory.  An inaccessible page guards its end.
 */
#define SERVE_FIBER_STACK_SIZE ((size_t)512 * 1024)

/* Returns a fiber that calls run() again and again, and pauses after each call, or NULL with errno
 * set.  serve_fiber_free() frees it.  The context must outlive it. */
MUST_CHECK struct serve_fiber *serve_fiber_new(void (*run)(void *context), void *context);

/* Frees a fiber that does not run.  If its function has paused, whatever the function holds is
 * lost.  NULL is fine. */
void serve_fiber_free(struct serve_fiber *fiber);

/* Runs the fiber until its function pauses or returns. */
void serve_fiber_resume(struct serve_fiber *fiber);

/* Called on the fiber's own stack: returns to the caller of serve_fiber_resume(). */
void serve_fiber_pause(struct serve_fiber *fiber);

#endif
