/* SPDX-License-Identifier: MIT */
/* The copy of plain bytes.  Nearly all bytes of an answer are plain, so it looks at many at once.
 */
#include "json/plain.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#define DEL 0x7F

static size_t copy_bytes(char *to, const char *from, size_t len)
{
    size_t at = 0;

    for (; at < len; at++) {
        unsigned char c = (unsigned char)from[at];

        if (c < ' ' || c == '"' || c == '\\' || c >= DEL)
            break;
        to[at] = from[at];
    }
    return at;
}

/* Copies eight bytes.  Returns whether all are plain.  Subtracting n from each byte of a word sets
 * the top bit of the bytes below n; bytes from 0x80 on have it.  A borrow from the next byte can
 * only come from a byte that is not plain. */
static bool copy_word(char *to, const char *from)
{
    const uint64_t each = 0x0101010101010101u;
    uint64_t word;
    uint64_t below_space;
    uint64_t quote;
    uint64_t backslash;
    uint64_t del;

    memcpy(&word, from, sizeof word);
    memcpy(to, &word, sizeof word);
    below_space = word - each * ' ';
    quote = (word ^ each * '"') - each;
    backslash = (word ^ each * '\\') - each;
    del = (word ^ each * DEL) - each;
    return ((below_space | quote | backslash | del | word) & each * 0x80) == 0;
}

/* The last word overlaps the one before it. */
size_t json_copy_plain_words(char *to, const char *from, size_t len)
{
    const size_t size = sizeof(uint64_t);
    size_t at = 0;

    for (; len - at >= size && copy_word(to + at, from + at); at += size)
        ;
    if (at == len ||
        (len >= size && len - at < size && copy_word(to + len - size, from + len - size)))
        return len;
    return at + copy_bytes(to + at, from + at, len - at);
}

/* GCC and Clang have vectors of 16 bytes.  Each operation on one is an instruction of all
 * processors of these kinds. */
#if defined(__GNUC__) && (defined(__SSE2__) || defined(__ARM_NEON))

typedef unsigned char vector __attribute__((vector_size(16)));
typedef uint64_t halves __attribute__((vector_size(16)));

/* Copies 16 bytes.  Returns a vector whose bytes are 0 where those are plain. */
static vector copy_vector(char *to, const char *from)
{
    vector bytes;

    memcpy(&bytes, from, sizeof bytes);
    memcpy(to, &bytes, sizeof bytes);
    return (vector)((bytes < ' ') | (bytes == '"') | (bytes == '\\') | (bytes >= DEL));
}

static bool is_zero(vector v)
{
    halves both = (halves)v;

    return (both[0] | both[1]) == 0;
}

/* Looks at 32 bytes at once.  The last 16 overlap those before them. */
size_t json_copy_plain(char *to, const char *from, size_t len)
{
    const size_t size = sizeof(vector);
    size_t at = 0;

    if (len < size)
        return json_copy_plain_words(to, from, len);
    for (; len - at >= 2 * size; at += 2 * size) {
        if (!is_zero(copy_vector(to + at, from + at) |
                     copy_vector(to + at + size, from + at + size)))
            return at + copy_bytes(to + at, from + at, len - at);
    }
    for (; len - at >= size; at += size) {
        if (!is_zero(copy_vector(to + at, from + at)))
            return at + copy_bytes(to + at, from + at, len - at);
    }
    if (at == len || is_zero(copy_vector(to + len - size, from + len - size)))
        return len;
    return at + copy_bytes(to + at, from + at, len - at);
}

#else

size_t json_copy_plain(char *to, const char *from, size_t len)
{
    return json_copy_plain_words(to, from, len);
}

#endif
