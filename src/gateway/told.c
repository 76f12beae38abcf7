/* SPDX-License-Identifier: MIT */
/* The table of what was logged. */
#include "gateway/told.h"

#include <stdio.h>
#include <stdlib.h>

/* Returns the file's place, a new one if it has none, or NULL if memory runs out. */
static struct told_file *file_of(struct told *told, struct text authority)
{
    struct told_file *items;

    for (size_t i = 0; i < told->n; i++) {
        if (text_eq(authority, text_of(told->items[i].authority)))
            return &told->items[i];
    }
    items = realloc(told->items, (told->n + 1) * sizeof *items);
    if (!items)
        return NULL;
    told->items = items;
    items[told->n] = (struct told_file){.text = 0};
    snprintf(items[told->n].authority, sizeof items[told->n].authority, "%.*s", (int)authority.len,
             authority.s);
    return &items[told->n++];
}

bool told_note(struct told *told, struct text authority, const struct authority_stamp *stamp,
               struct text text)
{
    struct told_file *file = file_of(told, authority);
    uint64_t hash = text_hash(text);

    if (file && file->text == hash && authority_stamps_equal(&file->stamp, stamp))
        return false;
    if (file) {
        file->stamp = *stamp;
        file->text = hash;
    }
    return true;
}

void told_free(struct told *told)
{
    free(told->items);
    *told = (struct told){0};
}
