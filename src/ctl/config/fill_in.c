/* SPDX-License-Identifier: MIT */
/* Replaces the names in templates. */
#include "ctl/config/fill_in.h"

#include <string.h>

/* Characters that need no quotes or escapes in any of the configuration files. */
#define PLAIN "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789/._+-"

static bool has_only(const char *s, const char *characters)
{
    return s[strspn(s, characters)] == '\0';
}

bool fill_in_path_valid(const char *path, size_t len_max)
{
    size_t len = strlen(path);

    return path[0] == '/' && len > 1 && path[len - 1] != '/' && len <= len_max &&
           has_only(path, PLAIN);
}

void fill_in_option(struct buf *out, const char *name, const char *value)
{
    /* The line is a comment, which a shell may run: URLs and HOST:PORT have colons. */
    if (value && has_only(value, PLAIN ":"))
        buf_printf(out, " --%s %s", name, value);
}

/* Returns the text for the name, or NULL. */
static const char *find_value(const struct value *values, struct text name)
{
    for (; values->name; values++) {
        if (text_eq(text_of(values->name), name))
            return values->text;
    }
    return NULL;
}

/* Returns the name after an at sign, if another one follows it.  Absent: there is none. */
static struct text name_at(struct text text, size_t at)
{
    size_t end = at + 1;

    while (end < text.len && ((text.s[end] >= 'A' && text.s[end] <= 'Z') || text.s[end] == '_'))
        end++;
    return end < text.len && text.s[end] == '@' ? text_part(text, at + 1, end)
                                                : (struct text){.s = NULL};
}

void fill_in(struct buf *out, struct text text, const struct value *values)
{
    const char *at;

    while ((at = memchr(text.s, '@', text.len)) != NULL) {
        size_t before = (size_t)(at - text.s);
        struct text name = name_at(text, before);
        const char *value = name.s ? find_value(values, name) : NULL;

        buf_add(out, text.s, before);
        buf_puts(out, value ? value : "@");
        text = text_part(text, before + (value ? name.len + 2 : 1), text.len);
    }
    buf_add(out, text.s, text.len);
}
