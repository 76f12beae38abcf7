/* SPDX-License-Identifier: MIT */
/* A growing string of bytes.  It remembers a failure, so the caller checks once, at the end. */
#ifndef ADIT_BASE_BUF_H
#define ADIT_BASE_BUF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/text.h"

/* All zero: empty.  The owner calls buf_free(). */
struct buf {
    char *data;  /* NULL until something is appended; then a NUL follows the bytes */
    size_t len;  /* bytes */
    size_t cap;  /* bytes allocated */
    bool failed; /* memory ran out: later bytes are missing */
};

/* Does the work of buf_room() when the buffer has to grow. */
char *buf_grow(struct buf *buf, size_t extra);

/* Makes room for extra more bytes and a NUL.  Returns where to write them; the caller adds their
 * number to len.  Returns NULL after a failure, and sets buf->failed. */
static inline char *buf_room(struct buf *buf, size_t extra)
{
    /* "<" and not "<=": the NUL needs a byte, too. */
    if (!buf->failed && extra < buf->cap - buf->len)
        return buf->data + buf->len;
    return buf_grow(buf, extra);
}

/* Append bytes, a C string, a number in decimal, or formatted text.  They set buf->failed if memory
 * runs out, and do nothing from then on. */
void buf_add(struct buf *buf, const char *s, size_t len);
static inline void buf_puts(struct buf *buf, const char *s)
{
    buf_add(buf, s, strlen(s));
}
void buf_uint(struct buf *buf, uint64_t value);
void buf_printf(struct buf *buf, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Removes all but the first len bytes, and overwrites the removed ones. */
void buf_cut(struct buf *buf, size_t len);

/* Removes and overwrites all bytes, and resets failed.  Keeps the memory for reuse. */
void buf_clear(struct buf *buf);

/* Does the same, and shrinks the memory to at most `most` bytes. */
void buf_shrink(struct buf *buf, size_t most);

/* Overwrites the bytes, frees the memory and makes the buffer all zero. */
void buf_free(struct buf *buf);

/* Returns the content as text, which is valid until the buffer changes; "" if it is empty. */
struct text buf_text(const struct buf *buf);

#endif
