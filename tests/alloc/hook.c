/* SPDX-License-Identifier: MIT */
/* The allocator.  All libraries in a program use its definitions of these functions (manual of the
 * GNU C library, "Replacing malloc").  The program has one thread. */
#include "hook.h"

#include <errno.h>
#include <malloc.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#if defined(__SANITIZE_ADDRESS__)
#define BELOW(name) __interceptor_##name
#define below_aligned(align, size) __interceptor_memalign(align, size)
void *__interceptor_malloc(size_t size);
void *__interceptor_calloc(size_t n, size_t size);
void *__interceptor_realloc(void *block, size_t size);
void *__interceptor_memalign(size_t align, size_t size);
void __interceptor_free(void *block);
#else
#define BELOW(name) __libc_##name
#define below_aligned(align, size) __libc_memalign(align, size)
void *__libc_malloc(size_t size);
void *__libc_calloc(size_t n, size_t size);
void *__libc_realloc(void *block, size_t size);
void *__libc_memalign(size_t align, size_t size);
void __libc_free(void *block);
#endif

static bool armed;
static bool fails_for_good;
static size_t fails_at;
static size_t n_calls;
static long n_live;

void hook_arm(size_t n, bool for_good)
{
    n_calls = 0;
    fails_at = n;
    fails_for_good = for_good;
    armed = true;
}

size_t hook_disarm(void)
{
    armed = false;
    return n_calls;
}

long hook_live(void)
{
    return n_live;
}

static bool fails(void)
{
    if (!armed)
        return false;
    n_calls++;
    if (fails_at == 0 || n_calls < fails_at || (n_calls > fails_at && !fails_for_good))
        return false;
    errno = ENOMEM;
    return true;
}

static void *count(void *block)
{
    if (block)
        n_live++;
    return block;
}

void *malloc(size_t size)
{
    return fails() ? NULL : count(BELOW(malloc)(size));
}

void *calloc(size_t n, size_t size)
{
    return fails() ? NULL : count(BELOW(calloc)(n, size));
}

void free(void *block)
{
    if (block)
        n_live--;
    BELOW(free)(block);
}

void *realloc(void *block, size_t size)
{
    if (!block)
        return malloc(size);
    if (size == 0) {
        free(block);
        return NULL;
    }
    return fails() ? NULL : BELOW(realloc)(block, size);
}

void *reallocarray(void *block, size_t n, size_t size)
{
    if (size && n > SIZE_MAX / size) {
        errno = ENOMEM;
        return NULL;
    }
    /* NOLINTNEXTLINE(clang-analyzer-optin.portability.UnixAPI): 0 bytes are the caller's choice */
    return realloc(block, n * size);
}

void *memalign(size_t align, size_t size)
{
    return fails() ? NULL : count(below_aligned(align, size));
}

void *aligned_alloc(size_t align, size_t size)
{
    return memalign(align, size);
}

#if defined(__SANITIZE_ADDRESS__)
/* The sanitizer's own function would bypass this allocator. */
char *strndup(const char *s, size_t max)
{
    size_t len = strnlen(s, max);
    char *copy = malloc(len + 1);

    if (copy) {
        memcpy(copy, s, len);
        copy[len] = '\0';
    }
    return copy;
}

char *strdup(const char *s)
{
    return strndup(s, SIZE_MAX);
}

char *__strdup(const char *s);
char *__strdup(const char *s)
{
    return strdup(s);
}
#endif

int posix_memalign(void **block, size_t align, size_t size)
{
    void *made = memalign(align, size);

    if (!made)
        return ENOMEM;
    *block = made;
    return 0;
}
