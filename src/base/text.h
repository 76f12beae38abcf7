/* SPDX-License-Identifier: MIT */
/* Lengths beside bytes: text that somebody else owns, and lists of it. */
#ifndef ADIT_BASE_TEXT_H
#define ADIT_BASE_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

/* UTF-8 without NUL.  A NUL follows it unless whoever hands it out says otherwise.  Not given: s is
 * NULL. */
struct text {
    const char *s;
    size_t len; /* bytes, without the NUL */
};

/* Not given: given is false and n is 0. */
struct text_list {
    struct text *items;
    size_t n;
    bool given;
};

/* Returns the text of a C string, which keeps its owner; of NULL, a text that is not given. */
static inline struct text text_of(const char *s)
{
    return (struct text){.s = s, .len = s ? strlen(s) : 0};
}

/* Returns whether both hold the same bytes; a text that is not given equals only another such. */
static inline bool text_eq(struct text a, struct text b)
{
    if (!a.s || !b.s)
        return a.s == b.s;
    return a.len == b.len && memcmp(a.s, b.s, a.len) == 0;
}

/* Orders by bytes, the shorter first where one begins the other: <0, 0, >0.  Both must be given. */
static inline int text_cmp(struct text a, struct text b)
{
    int order = memcmp(a.s, b.s, a.len < b.len ? a.len : b.len);

    return order ? order : (a.len > b.len) - (a.len < b.len);
}

/* Returns the bytes from `from` to `to` (exclusive) of a text that has them.  No NUL follows. */
static inline struct text text_part(struct text whole, size_t from, size_t to)
{
    return (struct text){.s = whole.s + from, .len = to - from};
}

/* Returns whether the text begins with the prefix. */
static inline bool text_begins(struct text t, const char *prefix)
{
    size_t len = strlen(prefix);

    return t.s && t.len >= len && memcmp(t.s, prefix, len) == 0;
}

/* Returns whether the text is given and not empty. */
static inline bool text_present(struct text t)
{
    return t.s && t.len > 0;
}

#endif
