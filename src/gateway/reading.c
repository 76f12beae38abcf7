/* SPDX-License-Identifier: MIT */
/* How long the daemon may read the keys of one owner. */
#include "gateway/reading.h"

#include <stddef.h>
#include <stdio.h>

void reading_name(char payer_id[IDENT_SIZE], struct text owner_id)
{
    snprintf(payer_id, IDENT_SIZE, "%.*s", (int)owner_id.len, owner_id.s);
}

void reading_find_payer(const struct gateway_credentials *found, struct arena *arena,
                        char payer_id[IDENT_SIZE])
{
    struct text owner_id;

    if (ssh_share_most(found->items, found->n, &found->beyond, arena, &owner_id) && owner_id.s)
        reading_name(payer_id, owner_id);
}

bool reading_is_due(const struct readings *readings, struct text owner_id, int64_t now_ms)
{
    for (size_t i = 0; i < READING_OWNERS_MAX; i++) {
        if (text_eq(text_of(readings->items[i].owner_id), owner_id))
            return readings->items[i].paid_ms < now_ms + READING_AT_ONCE_MS * READING_SHARE;
    }
    return true;
}

/* Returns the place of the owner, or of the one who has to wait least. */
static size_t find_reading(const struct readings *readings, struct text owner_id)
{
    size_t least = 0;

    for (size_t i = 0; i < READING_OWNERS_MAX; i++) {
        if (text_eq(text_of(readings->items[i].owner_id), owner_id))
            return i;
        if (readings->items[i].paid_ms < readings->items[least].paid_ms)
            least = i;
    }
    return least;
}

void reading_note(struct readings *readings, struct text owner_id, int64_t took_ms, int64_t now_ms)
{
    size_t at = find_reading(readings, owner_id);
    int64_t from_ms = now_ms;

    if (text_eq(text_of(readings->items[at].owner_id), owner_id) &&
        readings->items[at].paid_ms > now_ms)
        from_ms = readings->items[at].paid_ms;
    reading_name(readings->items[at].owner_id, owner_id);
    readings->items[at].paid_ms = from_ms + took_ms * READING_SHARE;
}
