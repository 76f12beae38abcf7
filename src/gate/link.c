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

static void pass_blanks(struct link_walk *w)
{
    while (w->at < w->end && ascii_is_blank(*w->at))
        w->at++;
}

/* Takes a parameter's value, with its escapes if it is in quotes. */
static struct text take_link_value(struct link_walk *w)
{
    struct text value;

    pass_blanks(w);
    if (!take_char(w, '"'))
        return take_up_to(w, " \t;,");
    value.s = w->at;
    while (w->at < w->end && *w->at != '"')
        w->at += *w->at == '\\' && w->end - w->at > 1 ? 2 : 1;
    value.len = (size_t)(w->at - value.s);
    (void)take_char(w, '"');
    return value;
}

static bool equals_word(struct text t, const char *word)
{
    return t.len == strlen(word) && strncasecmp(t.s, word, t.len) == 0;
}

/* Returns whether a value has a word.  A backslash stands for the character behind it (RFC 9110,
 * 5.6.4). */
static bool has_relation(struct text words, const char *word)
{
    char plain[256];
    struct text rest = {.s = plain};
    struct text next;

    for (size_t i = 0; i < words.len && rest.len < sizeof plain; i++) {
        if (words.s[i] == '\\' && i + 1 < words.len)
            i++;
        plain[rest.len++] = words.s[i];
    }
    while ((next = text_next_word(&rest)).s) {
        if (equals_word(next, word))
            return true;
    }
    return false;
}

/* Takes the parameters of a link.  Returns whether it is from this page to the next one. */
static bool take_link_params(struct link_walk *w)
{
    bool has_rel = false;
    bool is_next = false;
    bool is_elsewhere = false;

    while (take_char(w, ';')) {
        struct text name, value = {0};

        pass_blanks(w);
        name = take_up_to(w, " \t=;,");
        if (take_char(w, '='))
            value = take_link_value(w);
        /* The link is from another page (RFC 8288, 3.2). */
        is_elsewhere = is_elsewhere || equals_word(name, "anchor");
        /* The first "rel" counts (RFC 8288, 3.3). */
        if (!has_rel && value.s && equals_word(name, "rel")) {
            has_rel = true;
            is_next = has_relation(value, "next");
        }
    }
    return is_next && !is_elsewhere;
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
