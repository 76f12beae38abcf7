/* SPDX-License-Identifier: MIT */
/* Memory that lives as long as one request: given out piece by piece, taken back at once. */
#ifndef ADIT_BASE_ARENA_H
#define ADIT_BASE_ARENA_H

#include <stddef.h>

#include "base/must_check.h"
#include "base/text.h"

/* All zero: an empty arena. */
struct arena {
    struct arena_block *block; /* newest */
};

/* Returns size bytes, zeroed and aligned for any type, that belong to the arena, or NULL where
 * there is no memory. */
MUST_CHECK void *arena_alloc(struct arena *arena, size_t size);

/* Returns n elements of size bytes each, as arena_alloc() does; NULL also where n * size overflows.
 */
MUST_CHECK void *arena_array(struct arena *arena, size_t n, size_t size);

/* Returns a copy of len bytes with a NUL behind them, or NULL. */
MUST_CHECK char *arena_copy(struct arena *arena, const char *s, size_t len);

/* Overwrites what was given out with zeros, keeps one small block for the next request and frees
 * the others. */
void arena_reset(struct arena *arena);

/* The same, and frees everything. */
void arena_free(struct arena *arena);

#endif
