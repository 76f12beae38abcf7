/* SPDX-License-Identifier: MIT */
/* A growing string of bytes whose failures can be asked for once, at the end. */
#ifndef ADIT_BASE_BUF_H
#define ADIT_BASE_BUF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/text.h"

/* All zero: empty.  Whoever declares it frees it. */
struct buf {
    char *data;  /* a NUL follows the bytes as soon as anything was appended */
    size_t len;  /* bytes */
    size_t cap;  /* bytes allocated */
    bool failed; /* there was no memory: what was appended since then is missing */
};

/* What buf_room() does, and returns, where the room is not there yet. */
char *buf_grow(struct buf *buf, size_t extra);

/* Makes room for extra more bytes and a NUL.  Returns where to write them, or NULL after a failure,
 * which *buf remembers.  The caller adds what it wrote to len. */
static inline char *buf_room(struct buf *buf, size_t extra)
{
    /* The NUL takes a byte of what is left. */
    if (!buf->failed && extra < buf->cap - buf->len)
        return buf->data + buf->len;
    return buf_grow(buf, extra);
}

/* Append bytes, a C string, a number in decimal, formatted text.  A failure is remembered in
 * buf->failed. */
void buf_add(struct buf *buf, const char *s, size_t len);
static inline void buf_puts(struct buf *buf, const char *s)
{
    buf_add(buf, s, strlen(s));
}
void buf_uint(struct buf *buf, uint64_t value);
void buf_printf(struct buf *buf, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Takes back what was appended behind the first len bytes. */
void buf_cut(struct buf *buf, size_t len);

/* Empties it, and keeps its memory. */
void buf_clear(struct buf *buf);

/* Empties it, and keeps at most so many bytes of memory. */
void buf_shrink(struct buf *buf, size_t most);

/* Overwrites its bytes and frees it. */
void buf_free(struct buf *buf);

/* Returns the content as text that lives until the buffer changes; "" where nothing was added. */
struct text buf_text(const struct buf *buf);

#endif
