/* SPDX-License-Identifier: MIT */
/* Memory that lives as long as one request: allocated in pieces, freed all at once. */
#ifndef ADIT_BASE_ARENA_H
#define ADIT_BASE_ARENA_H

#include <stdbool.h>
#include <stddef.h>

#include "base/must_check.h"
#include "base/text.h"

/* All zero: an empty arena. */
struct arena {
    struct arena_block *block; /* newest */
    bool failed;               /* memory ran out since the last reset */
};

/* Returns size bytes, zeroed and aligned for any type.  They belong to the arena.  Returns NULL if
 * memory runs out. */
MUST_CHECK void *arena_alloc(struct arena *arena, size_t size);

/* Returns n elements of size bytes each, as arena_alloc() does.  Returns NULL also if n * size
 * overflows. */
MUST_CHECK void *arena_array(struct arena *arena, size_t n, size_t size);

/* Returns a copy of len bytes and a NUL, which belongs to the arena.  Returns NULL if memory runs
 * out. */
MUST_CHECK char *arena_copy(struct arena *arena, const char *s, size_t len);

/* Overwrites all allocated bytes with zeros.  Keeps one block of 16 KiB for the next request and
 * frees the others.  Pointers into the arena become invalid. */
void arena_reset(struct arena *arena);

/* Overwrites all allocated bytes with zeros and frees every block. */
void arena_free(struct arena *arena);

#endif
