/* SPDX-License-Identifier: MIT */
/* A bump allocator over a list of blocks. */
#include "base/arena.h"

#include <stdalign.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

struct arena_block {
    struct arena_block *older;
    size_t size; /* bytes in data */
    size_t used;
    alignas(max_align_t) char data[];
};

static const size_t first_size = 16384 - sizeof(struct arena_block);

static size_t round_up(size_t size)
{
    const size_t unit = alignof(max_align_t);

    return (size + unit - 1) / unit * unit;
}

static void *fail_arena(struct arena *arena)
{
    arena->failed = true;
    return NULL;
}

void *arena_alloc(struct arena *arena, size_t size)
{
    struct arena_block *block = arena->block;
    void *piece;

    if (size > SIZE_MAX / 2)
        return fail_arena(arena);
    size = round_up(size ? size : 1);
    if (!block || block->size - block->used < size) {
        size_t room = size > first_size ? size : first_size;

        block = malloc(sizeof *block + room);
        if (!block)
            return fail_arena(arena);
        *block = (struct arena_block){.older = arena->block, .size = room};
        arena->block = block;
    }
    piece = block->data + block->used;
    block->used += size;
    return memset(piece, 0, size);
}

void *arena_array(struct arena *arena, size_t n, size_t size)
{
    if (size && n > SIZE_MAX / size)
        return fail_arena(arena);
    return arena_alloc(arena, n * size);
}

char *arena_copy(struct arena *arena, const char *s, size_t len)
{
    char *copy = arena_alloc(arena, len + 1);

    if (copy && len > 0)
        memcpy(copy, s, len);
    return copy;
}

void arena_reset(struct arena *arena)
{
    struct arena_block *kept = NULL;
    struct arena_block *older;

    for (struct arena_block *block = arena->block; block; block = older) {
        older = block->older;
        explicit_bzero(block->data, block->used);
        if (!kept && block->size == first_size) {
            kept = block;
            *kept = (struct arena_block){.size = first_size};
        } else {
            free(block);
        }
    }
    arena->block = kept;
    arena->failed = false;
}

void arena_free(struct arena *arena)
{
    arena_reset(arena);
    free(arena->block);
    arena->block = NULL;
}
