/* SPDX-License-Identifier: MIT */
/* Texts that several may hold. */
#include "gateway/shared.h"

#include <stdlib.h>

/* Where the next copy goes. */
struct place {
    struct text *item;
    char *s;
};

/* A text and its NUL. */
static size_t characters_of(struct text_list list)
{
    size_t n = list.n;

    for (size_t i = 0; i < list.n; i++)
        n += list.items[i].len;
    return n;
}

static struct text put_text(struct place *place, struct text text)
{
    const struct text copy = {place->s, text.len};

    if (text.len > 0)
        memcpy(place->s, text.s, text.len);
    place->s[text.len] = '\0';
    place->s += text.len + 1;
    return copy;
}

static struct text_list put_texts(struct place *place, struct text_list list)
{
    const struct text_list copy = {.items = place->item, .n = list.n, .given = true};

    for (size_t i = 0; i < list.n; i++)
        *place->item++ = put_text(place, list.items[i]);
    return copy;
}

struct shared *shared_new(struct text text, struct text_list first, struct text_list second)
{
    const size_t n_items = first.n + second.n;
    const size_t head = sizeof(struct shared) + n_items * sizeof(struct text);
    const size_t bytes = head + text.len + 1 + characters_of(first) + characters_of(second);
    struct shared *shared = malloc(bytes);
    struct place place;

    if (!shared)
        return NULL;
    *shared = (struct shared){.n_holders = 1, .bytes = bytes, .hash = text_hash(text)};
    place = (struct place){shared->items, (char *)shared + head};
    shared->text = put_text(&place, text);
    shared->lists[0] = put_texts(&place, first);
    shared->lists[1] = put_texts(&place, second);
    return shared;
}

bool shared_is(const struct shared *shared, uint64_t hash, struct text text, struct text_list first,
               struct text_list second)
{
    return shared->hash == hash && text_eq(shared->text, text) &&
           text_lists_equal(shared->lists[0], first) && text_lists_equal(shared->lists[1], second);
}

size_t shared_drop(struct shared *shared)
{
    const size_t bytes = shared->bytes;

    if (--shared->n_holders > 0)
        return 0;
    free(shared);
    return bytes;
}
