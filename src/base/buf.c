/* SPDX-License-Identifier: MIT */
/* The growing string. */
#include "base/buf.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/number.h"

/* The old bytes may be a secret.  realloc() would free them unwiped, so copy and wipe here. */
char *buf_grow(struct buf *buf, size_t extra)
{
    size_t need;
    size_t cap;
    char *data;

    if (buf->failed)
        return NULL;
    if (extra > SIZE_MAX / 4 - buf->len) {
        buf->failed = true;
        return NULL;
    }
    need = buf->len + extra + 1;
    cap = buf->cap * 2 > need ? buf->cap * 2 : need;
    if (cap < 256)
        cap = 256;
    data = malloc(cap);
    if (!data) {
        buf->failed = true;
        return NULL;
    }
    if (buf->data) {
        memcpy(data, buf->data, buf->len);
        explicit_bzero(buf->data, buf->len);
        free(buf->data);
    }
    buf->data = data;
    buf->cap = cap;
    return data + buf->len;
}

void buf_add(struct buf *buf, const char *s, size_t len)
{
    char *room = buf_room(buf, len);

    if (!room)
        return;
    if (len > 0)
        memcpy(room, s, len);
    room[len] = '\0';
    buf->len += len;
}

void buf_uint(struct buf *buf, uint64_t value)
{
    char digits[NUMBER_MAX];

    buf_add(buf, digits, number_write(digits, value));
}

/* Formats into the free room first, and a second time if that is too small. */
void buf_printf(struct buf *buf, const char *format, ...)
{
    va_list args;
    va_list again;
    char *room = buf_room(buf, 0);
    size_t left = room ? buf->cap - buf->len : 0;
    int len = -1;

    va_start(args, format);
    va_copy(again, args);
    if (room)
        len = vsnprintf(room, left, format, args);
    if (len >= 0 && (size_t)len >= left) {
        explicit_bzero(room, left);
        room = buf_room(buf, (size_t)len);
        if (room)
            vsnprintf(room, (size_t)len + 1, format, again);
    }
    if (len < 0)
        buf->failed = true;
    else if (room)
        buf->len += (size_t)len;
    va_end(again);
    va_end(args);
}

void buf_cut(struct buf *buf, size_t len)
{
    if (len >= buf->len)
        return;
    explicit_bzero(buf->data + len, buf->len - len);
    buf->len = len;
}

void buf_clear(struct buf *buf)
{
    buf_cut(buf, 0);
    if (buf->data)
        buf->data[0] = '\0';
    buf->failed = false;
}

void buf_shrink(struct buf *buf, size_t most)
{
    char *data;

    buf_clear(buf);
    if (buf->cap <= most)
        return;
    /* realloc() to no bytes frees them, and returns NULL as after a failure. */
    if (most == 0) {
        buf_free(buf);
        return;
    }
    data = realloc(buf->data, most);
    if (!data)
        return;
    buf->data = data;
    buf->cap = most;
}

void buf_free(struct buf *buf)
{
    buf_clear(buf);
    free(buf->data);
    *buf = (struct buf){0};
}

struct text buf_text(const struct buf *buf)
{
    return (struct text){.s = buf->data ? buf->data : "", .len = buf->len};
}
