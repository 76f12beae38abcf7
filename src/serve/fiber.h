/* SPDX-License-Identifier: MIT */
/* Functions that can pause: each runs on a stack of its own, one at a time, in one thread. */
#ifndef ADIT_SERVE_FIBER_H
#define ADIT_SERVE_FIBER_H

#include <stddef.h>

struct serve_fiber;

/* Bytes of a fiber's stack.  What is not touched takes no memory; behind its end lies a page that
 * nobody may touch. */
#define SERVE_FIBER_STACK_SIZE ((size_t)512 * 1024)

/* Returns a fiber that will call run() over and over, and pauses between two calls; or NULL, with
 * errno set.  The context must outlive it. */
struct serve_fiber *serve_fiber_new(void (*run)(void *context), void *context);

/* Frees it, also one that has paused; what its function holds at that time is lost.  NULL is fine.
 */
void serve_fiber_free(struct serve_fiber *fiber);

/* Lets it go on until its function pauses or returns. */
void serve_fiber_resume(struct serve_fiber *fiber);

/* Called on the fiber's own stack: goes back to whoever resumed it. */
void serve_fiber_pause(struct serve_fiber *fiber);

#endif
