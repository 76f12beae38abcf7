/* SPDX-License-Identifier: MIT */
/* The program's allocator, of which single calls can be made to fail: also those that libraries
 * make, and libc for them. */
#ifndef ADIT_TESTS_ALLOC_HOOK_H
#define ADIT_TESTS_ALLOC_HOOK_H

#include <stdbool.h>
#include <stddef.h>

/* Counts allocations from here on, and lets the n-th fail (1: the first; 0: none), and also all
 * that follow it where for_good is true. */
void hook_arm(size_t n, bool for_good);

/* Lets all succeed again.  Returns how many were asked for since hook_arm(). */
size_t hook_disarm(void);

/* Returns how many blocks are allocated. */
long hook_live(void);

#endif
