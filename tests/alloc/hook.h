/* SPDX-License-Identifier: MIT */
/* The program's allocator.  It can make single calls fail, also those of libraries and of libc. */
#ifndef ADIT_TESTS_ALLOC_HOOK_H
#define ADIT_TESTS_ALLOC_HOOK_H

#include <stdbool.h>
#include <stddef.h>

/* Starts to count allocations, and lets the n-th fail (1: the first; 0: none).  If for_good is
 * true, all later ones fail too. */
void hook_arm(size_t n, bool for_good);

/* Lets all allocations succeed again.  Returns their number since hook_arm(). */
size_t hook_disarm(void);

/* Returns the number of allocated blocks. */
long hook_live(void);

#endif
