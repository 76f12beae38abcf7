/* SPDX-License-Identifier: MIT */
/* Text as a pointer and a length, owned by somebody else, and lists of it. */
#ifndef ADIT_BASE_TEXT_H
#define ADIT_BASE_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* UTF-8 without NUL.  A NUL follows it, unless the comment of the function that returns it says
 * otherwise.  Absent: s is NULL. */
struct text {
    const char *s;
    size_t len; /* bytes, without the NUL */
};

/* Absent: given is false and n is 0. */
struct text_list {
    struct text *items;
    size_t n;
    bool given;
};

/* Returns the text of a C string, without a copy.  For NULL it is absent. */
static inline struct text text_of(const char *s)
{
    return (struct text){.s = s, .len = s ? strlen(s) : 0};
}

/* Returns whether both hold the same bytes.  An absent text equals only another absent one. */
static inline bool text_eq(struct text a, struct text b)
{
    if (!a.s || !b.s)
        return a.s == b.s;
    return a.len == b.len && memcmp(a.s, b.s, a.len) == 0;
}

/* Returns whether both lists have the same texts in the same order. */
static inline bool text_lists_equal(struct text_list a, struct text_list b)
{
    size_t i = 0;

    while (i < a.n && i < b.n && text_eq(a.items[i], b.items[i]))
        i++;
    return i == a.n && i == b.n;
}

/* Compares by bytes, and puts a text before the longer ones that begin with it.  Returns <0, 0 or
 * >0.  Neither may be absent. */
static inline int text_cmp(struct text a, struct text b)
{
    int order = memcmp(a.s, b.s, a.len < b.len ? a.len : b.len);

    return order ? order : (a.len > b.len) - (a.len < b.len);
}

/* Returns a number for tables, the same for the same bytes (FNV-1a).  Texts can be made to
 * collide. */
static inline uint64_t text_hash(struct text t)
{
    uint64_t hash = UINT64_C(0xcbf29ce484222325);

    for (size_t i = 0; i < t.len; i++)
        hash = (hash ^ (unsigned char)t.s[i]) * UINT64_C(0x100000001b3);
    return hash ^ hash >> 32;
}

/* Returns the bytes from `from` to `to` (exclusive) of a text that has them.  No NUL follows. */
static inline struct text text_part(struct text whole, size_t from, size_t to)
{
    return (struct text){.s = whole.s + from, .len = to - from};
}

/* Takes the next word off a text of words that blanks (spaces, tabs) separate.  Absent: there is
 * none.  No NUL follows. */
static inline struct text text_next_word(struct text *rest)
{
    size_t from = 0;
    size_t to;

    while (from < rest->len && (rest->s[from] == ' ' || rest->s[from] == '\t'))
        from++;
    to = from;
    while (to < rest->len && rest->s[to] != ' ' && rest->s[to] != '\t')
        to++;
    if (from == to)
        return (struct text){.s = NULL};
    *rest = (struct text){.s = rest->s + to, .len = rest->len - to};
    return (struct text){.s = rest->s - (to - from), .len = to - from};
}

/* Returns how many words a text has. */
static inline size_t text_count_words(struct text text)
{
    size_t n = 0;

    while (text_next_word(&text).s)
        n++;
    return n;
}

/* Returns whether the text begins with the prefix. */
static inline bool text_begins(struct text t, const char *prefix)
{
    size_t len = strlen(prefix);

    return t.s && t.len >= len && memcmp(t.s, prefix, len) == 0;
}

/* Returns whether the text is neither absent nor empty. */
static inline bool text_present(struct text t)
{
    return t.s && t.len > 0;
}

#endif
