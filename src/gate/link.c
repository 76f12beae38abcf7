/* SPDX-License-Identifier: MIT */
/* Links: <target>; name=value; name="value", <target> ... */
#include "gate/link.h"

#include <strings.h>

#include "base/ascii.h"

struct link_walk {
    const char *at;
    const char *end;
};

static bool take_char(struct link_walk *w, char c)
{
    while (w->at < w->end && ascii_is_blank(*w->at))
        w->at++;
    if (w->at == w->end || *w->at != c)
        return false;
    w->at++;
    return true;
}

/* Takes the bytes up to the first of the stops, which is left, or to the end. */
static struct text take_up_to(struct link_walk *w, const char *stops)
{
    const char *from = w->at;

    while (w->at < w->end && !strchr(stops, *w->at))
        w->at++;
    return (struct text){.s = from, .len = (size_t)(w->at - from)};
}

/* Takes a parameter's value.  An escape in quotes is left as it is: no relation has one. */
static struct text take_link_value(struct link_walk *w)
{
    struct text value;

    if (!take_char(w, '"'))
        return take_up_to(w, " \t;,");
    value.s = w->at;
    while (w->at < w->end && *w->at != '"')
        w->at += *w->at == '\\' && w->at + 1 < w->end ? 2 : 1;
    value.len = (size_t)(w->at - value.s);
    (void)take_char(w, '"');
    return value;
}

static bool equals_word(struct text t, const char *word)
{
    return t.len == strlen(word) && strncasecmp(t.s, word, t.len) == 0;
}

static bool has_word(struct text words, const char *word)
{
    struct text next;

    while ((next = text_next_word(&words)).s) {
        if (equals_word(next, word))
            return true;
    }
    return false;
}

/* Takes the parameters of a link.  Returns whether its relation is "next". */
static bool take_link_params(struct link_walk *w)
{
    bool has_rel = false;
    bool is_next = false;

    while (take_char(w, ';')) {
        struct text name, value = {0};

        while (w->at < w->end && ascii_is_blank(*w->at))
            w->at++;
        name = take_up_to(w, " \t=;,");
        if (take_char(w, '='))
            value = take_link_value(w);
        /* The first "rel" counts (RFC 8288, 3.3). */
        if (!has_rel && value.s && equals_word(name, "rel")) {
            has_rel = true;
            is_next = has_word(value, "next");
        }
    }
    return is_next;
}

struct text link_next(struct text value)
{
    struct link_walk w = {.at = value.s, .end = value.s + value.len};

    do {
        struct text target;

        while (take_char(&w, ','))
            ;
        if (!take_char(&w, '<'))
            break;
        target = take_up_to(&w, ">");
        if (!take_char(&w, '>'))
            break;
        if (take_link_params(&w))
            return target;
    } while (take_char(&w, ','));
    return (struct text){0};
}
