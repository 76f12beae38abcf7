/* SPDX-License-Identifier: MIT */
/* Functions that can pause: each runs on a stack of its own, one at a time, in one thread. */
#ifndef ADIT_SERVE_FIBER_H
#define ADIT_SERVE_FIBER_H

#include <stddef.h>

struct fiber;

/* Bytes of a fiber's stack.  What is not touched takes no memory; behind its end lies a page that
 * nobody may touch. */
#define FIBER_STACK_SIZE ((size_t)512 * 1024)

/* Returns a fiber that will call run() over and over, and pauses between two calls; or NULL, with
 * errno set.  The context must outlive it. */
struct fiber *fiber_new(void (*run)(void *context), void *context);

/* Frees it, also one that has paused; what its function holds at that time is lost.  NULL is fine.
 */
void fiber_free(struct fiber *fiber);

/* Lets it go on until its function pauses or returns. */
void fiber_resume(struct fiber *fiber);

/* Called on the fiber's own stack: goes back to whoever resumed it. */
void fiber_pause(struct fiber *fiber);

#endif
