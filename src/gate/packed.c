/* SPDX-License-Identifier: MIT */
/* Numbers are LEB128: seven bits a byte, the lowest first, and as few bytes as possible. */
#include "gate/packed.h"

/* ---- writing ---- */

void packed_put_number(struct buf *out, uint64_t value)
{
    while (value > 0x7F) {
        buf_add(out, &(char){(char)((value & 0x7F) | 0x80)}, 1);
        value >>= 7;
    }
    buf_add(out, &(char){(char)value}, 1);
}

void packed_put_text(struct buf *out, struct text text)
{
    packed_put_number(out, text.len);
    buf_add(out, text.s, text.len);
}

void packed_put_optional(struct buf *out, struct text text)
{
    packed_put_number(out, text.s != NULL);
    if (text.s)
        packed_put_text(out, text);
}

void packed_put_list(struct buf *out, const struct text_list *list)
{
    packed_put_number(out, list->n);
    for (size_t i = 0; i < list->n; i++)
        packed_put_text(out, list->items[i]);
}

/* ---- reading ---- */

static bool has_failed(const struct packed *packed)
{
    return packed->malformed || packed->no_memory;
}

/* Returns len bytes, or NULL. */
static const char *take_part(struct packed *packed, size_t len)
{
    const char *at = packed->rest.s;

    if (len > packed->rest.len)
        packed->malformed = true;
    if (has_failed(packed))
        return NULL;
    packed->rest = text_part(packed->rest, len, packed->rest.len);
    return at;
}

uint64_t packed_take_number(struct packed *packed, uint64_t most)
{
    uint64_t value = 0;
    unsigned shift = 0;
    const char *at;
    unsigned char byte;

    do {
        at = take_part(packed, 1);
        byte = at ? (unsigned char)*at : 0;
        /* The tenth byte has one bit of the 64.  A last byte of zero could have been left out. */
        if (!at || shift > 63 || (shift == 63 && byte > 1) || (shift > 0 && byte == 0)) {
            packed->malformed = packed->malformed || at;
            return 0;
        }
        value |= (uint64_t)(byte & 0x7F) << shift;
        shift += 7;
    } while (byte & 0x80);
    if (value <= most)
        return value;
    packed->malformed = true;
    return 0;
}

struct text packed_take_text(struct packed *packed)
{
    size_t len = packed_take_number(packed, packed->rest.len);
    const char *at = take_part(packed, len);
    char *copy = at ? arena_copy(packed->arena, at, len) : NULL;

    packed->no_memory = packed->no_memory || (at && !copy);
    return (struct text){.s = copy, .len = copy ? len : 0};
}

struct text packed_take_optional(struct packed *packed)
{
    if (packed_take_number(packed, 1) == 1)
        return packed_take_text(packed);
    return (struct text){.s = NULL};
}

struct text_list packed_take_list(struct packed *packed)
{
    /* An entry has at least the byte of its length: no input makes this allocate much. */
    size_t n = packed_take_number(packed, packed->rest.len);
    struct text_list list = {.given = true};

    if (n == 0 || has_failed(packed))
        return list;
    list.items = arena_array(packed->arena, n, sizeof *list.items);
    packed->no_memory = !list.items;
    for (size_t i = 0; i < n && !has_failed(packed); i++)
        list.items[list.n++] = packed_take_text(packed);
    return list;
}

void packed_take_bytes(struct packed *packed, void *out, size_t len)
{
    const char *at = take_part(packed, len);

    if (at)
        memcpy(out, at, len);
    else
        memset(out, 0, len);
}

bool packed_is_done(const struct packed *packed)
{
    return !has_failed(packed) && packed->rest.len == 0;
}
