/* SPDX-License-Identifier: MIT */
/* Parameters of a query. */
#include "gate/form.h"

#include <string.h>

#include "base/ascii.h"

/* Returns false if the value is malformed. */
static bool decode(struct text raw, struct arena *arena, struct text *value)
{
    char *out = arena_alloc(arena, raw.len + 1);
    size_t len = 0;

    for (size_t i = 0; out && i < raw.len; i++) {
        char c = raw.s[i];

        if (c == '%') {
            int high = raw.len - i > 2 ? ascii_hex_value(raw.s[i + 1]) : -1;
            int low = high < 0 ? -1 : ascii_hex_value(raw.s[i + 2]);

            if (low < 0 || (high | low) == 0)
                return false;
            c = (char)(high << 4 | low);
            i += 2;
        } else if (c == '+') {
            c = ' ';
        }
        out[len++] = c;
    }
    *value = (struct text){out, len};
    return out != NULL;
}

bool form_find(struct text query, const char *name, struct arena *arena, struct text *value)
{
    size_t name_len = strlen(name);

    *value = (struct text){.s = NULL};
    for (size_t at = 0; at <= query.len;) {
        const char *end = memchr(query.s + at, '&', query.len - at);
        size_t to = end ? (size_t)(end - query.s) : query.len;

        if (to - at > name_len && memcmp(query.s + at, name, name_len) == 0 &&
            query.s[at + name_len] == '=') {
            if (value->s || !decode(text_part(query, at + name_len + 1, to), arena, value))
                return false;
        }
        at = to + 1;
    }
    return true;
}
