/* SPDX-License-Identifier: MIT */
/* Reads Cookie headers, which may hold anything, and writes Set-Cookie. */
#include "gate/cookie.h"

#include <inttypes.h>
#include <strings.h>

#include "base/ascii.h"

/* ---- Cookie ---- */

static struct text trim(struct text text)
{
    while (text.len > 0 && ascii_is_blank(text.s[0]))
        text = text_part(text, 1, text.len);
    while (text.len > 0 && ascii_is_blank(text.s[text.len - 1]))
        text.len--;
    return text;
}

/* Takes what comes before the next separator, or all, off a text that is not empty. */
static struct text take_field(struct text *rest, char separator)
{
    const char *end = memchr(rest->s, separator, rest->len);
    size_t len = end ? (size_t)(end - rest->s) : rest->len;
    struct text taken = text_part(*rest, 0, len);

    *rest = text_part(*rest, end ? len + 1 : len, rest->len);
    return trim(taken);
}

/* Between the values of several headers Apache puts this.  No cookie of the gate holds it. */
#define JOINED ", "

/* Takes what comes before the next ';' or JOINED, or all, off a text that is not empty. */
static struct text take_next(struct text *rest)
{
    struct text before = *rest;
    size_t len = 0;

    while (len < before.len && before.s[len] != ';' &&
           !(before.s[len] == ',' && text_begins(text_part(before, len, before.len), JOINED)))
        len++;
    *rest = text_part(before, len < before.len ? len + 1 : len, before.len);
    return trim(text_part(before, 0, len));
}

/* Takes the next cookie off the header.  Returns false at its end. */
static bool take_cookie(struct text *rest, struct text *name, struct text *value)
{
    while (rest->len > 0) {
        *value = take_next(rest);
        if (value->len == 0 || !memchr(value->s, '=', value->len))
            continue;
        *name = take_field(value, '=');
        *value = trim(*value);
        if (name->len > 0)
            return true;
    }
    return false;
}

void cookies_read(struct text header, struct arena *arena, struct cookies *cookies)
{
    struct cookie_read one;
    struct text rest = header;
    size_t n = 0;

    *cookies = (struct cookies){.n = 0};
    while (take_cookie(&rest, &one.name, &one.value))
        n++;
    cookies->items = arena_array(arena, n, sizeof *cookies->items);
    while (cookies->items && take_cookie(&header, &one.name, &one.value))
        cookies->items[cookies->n++] = one;
}

struct text cookie_next(const struct cookies *cookies, size_t *place, struct text name)
{
    while (*place < cookies->n) {
        const struct cookie_read *cookie = &cookies->items[(*place)++];

        if (text_eq(cookie->name, name))
            return cookie->value;
    }
    return (struct text){.s = NULL};
}

static bool name_ends(struct text name, struct text suffix)
{
    return name.len >= suffix.len &&
           memcmp(name.s + name.len - suffix.len, suffix.s, suffix.len) == 0;
}

struct text cookie_next_ending(const struct cookies *cookies, size_t *place, struct text suffix)
{
    while (*place < cookies->n) {
        const struct cookie_read *cookie = &cookies->items[(*place)++];

        if (name_ends(cookie->name, suffix))
            return cookie->value;
    }
    return (struct text){.s = NULL};
}

/* Returns what comes behind the prefix of a name; absent: it has another one. */
static struct text without_prefix(struct text name, struct text prefix)
{
    if (name.len < prefix.len || memcmp(name.s, prefix.s, prefix.len) != 0)
        return (struct text){.s = NULL};
    return text_part(name, prefix.len, name.len);
}

static bool is_state(struct text own)
{
    return own.s && text_begins(own, COOKIE_STATE) &&
           own.len == strlen(COOKIE_STATE) + COOKIE_STATE_ID_LEN;
}

const struct cookie_read *cookie_next_state(const struct cookies *cookies, size_t *place,
                                            struct text prefix)
{
    while (*place < cookies->n) {
        const struct cookie_read *cookie = &cookies->items[(*place)++];

        if (is_state(without_prefix(cookie->name, prefix)))
            return cookie;
    }
    return NULL;
}

static bool has_own_name(struct text name, struct text prefix)
{
    struct text rest = without_prefix(name, prefix);

    return rest.s && (text_eq(rest, text_of(COOKIE_SESSION)) || is_state(rest));
}

static bool is_session_elsewhere(const struct cookie_own *own, struct text name, struct text value)
{
    return own->is_session && name_ends(name, text_of(COOKIE_SESSION)) &&
           own->is_session(own->context, value);
}

/* Returns whether a piece of the header begins with a cookie of the gate. */
static bool is_of_gate(struct text piece, const struct cookie_own *own)
{
    struct text name;

    if (piece.len == 0)
        return false;
    name = take_field(&piece, '=');
    return has_own_name(name, own->prefix) || is_session_elsewhere(own, name, trim(piece));
}

/* No web server takes these in a header, and the result goes into one. */
static bool ends_header(struct text text)
{
    return memchr(text.s, '\r', text.len) || memchr(text.s, '\n', text.len) ||
           memchr(text.s, '\0', text.len);
}

/* Bytes of the shortest value that looks sealed. */
#define SEALED_MIN 64

/* Returns whether a text is a cookie of the gate with a value that looks sealed. */
static bool is_sealed(struct text cookie, const struct cookie_own *own)
{
    struct text value = cookie;

    if (!is_of_gate(cookie, own))
        return false;
    (void)take_field(&value, '=');
    value = trim(value);
    for (size_t i = 0; i < value.len; i++) {
        if (!ascii_is_alnum(value.s[i]) && value.s[i] != '-' && value.s[i] != '_')
            return false;
    }
    return value.len >= SEALED_MIN;
}

/* Appends a piece that several headers may have been joined to, without the gate's cookies.
 * Returns false, and appends nothing, if all of it is the gate's. */
static bool add_joined(struct buf *out, struct text piece, const char *separator,
                       const struct cookie_own *own)
{
    bool is_added = false;
    const char *joined;

    do {
        struct text part = piece;

        joined = piece.len > 0 ? memmem(piece.s, piece.len, JOINED, strlen(JOINED)) : NULL;
        if (joined) {
            part.len = (size_t)(joined - piece.s);
            piece = text_part(piece, part.len + strlen(JOINED), piece.len);
        }
        if (is_sealed(part, own))
            continue;
        buf_puts(out, is_added ? JOINED : separator);
        buf_add(out, part.s, part.len);
        is_added = true;
    } while (joined);
    return is_added;
}

/* Returns whether a piece is a cookie of the gate, and no other header was joined to it. */
static bool is_one_cookie(struct text piece, const struct cookie_own *own)
{
    const char *joined = piece.len > 0 ? memmem(piece.s, piece.len, JOINED, strlen(JOINED)) : NULL;
    struct text first = piece;

    if (!joined)
        return is_of_gate(piece, own);
    first.len = (size_t)(joined - piece.s);
    return has_own_name(take_field(&piece, '='), own->prefix) && !is_sealed(first, own);
}

/* A piece goes with the semicolon before it.  The first one goes with the one behind it, and with
 * the blanks there. */
void cookie_without(struct buf *out, struct text header, const struct cookie_own *own)
{
    bool is_first = true;
    bool was_cut = false;
    const char *end;

    if (header.len == 0)
        return;
    do {
        struct text piece = header;

        end = memchr(header.s, ';', header.len);
        if (end) {
            piece.len = (size_t)(end - header.s);
            header = text_part(header, piece.len + 1, header.len);
        }
        if (piece.len > 0 && (ends_header(piece) || is_one_cookie(piece, own))) {
            was_cut = true;
            continue;
        }
        while (is_first && was_cut && piece.len > 0 && ascii_is_blank(piece.s[0]))
            piece = text_part(piece, 1, piece.len);
        if (add_joined(out, piece, is_first ? "" : ";", own))
            is_first = false;
        else
            was_cut = true;
    } while (end);
}

/* ---- Set-Cookie ---- */

#define HOST_PREFIX "__Host-"

/* All but the separators of RFC 9110, 5.6.2. */
static bool is_name(struct text name)
{
    for (size_t i = 0; i < name.len; i++) {
        if (!ascii_is_visible(name.s[i]) || strchr("\"(),/:;<=>?@[\\]{}", name.s[i]))
            return false;
    }
    return name.len > 0;
}

static bool is_value(struct text value)
{
    for (size_t i = 0; i < value.len; i++) {
        if (!ascii_is_visible(value.s[i]) || strchr("\",;\\", value.s[i]))
            return false;
    }
    return true;
}

static bool name_begins(struct text name, const char *prefix)
{
    size_t len = strlen(prefix);

    return name.len >= len && strncasecmp(name.s, prefix, len) == 0;
}

bool cookie_prefix_works(struct text prefix, bool is_secure)
{
    return is_secure || (!name_begins(prefix, HOST_PREFIX) && !name_begins(prefix, "__Secure-") &&
                         !name_begins(prefix, "__Http-"));
}

void cookie_write(struct buf *out, const struct cookie *cookie)
{
    if (!is_name(cookie->name) || !is_value(cookie->value)) {
        out->failed = true;
        return;
    }
    buf_add(out, cookie->name.s, cookie->name.len);
    buf_puts(out, "=");
    buf_add(out, cookie->value.s, cookie->value.len);
    buf_printf(out, "; Path=%s", name_begins(cookie->name, HOST_PREFIX) ? "/" : cookie->path);
    if (cookie->max_age_s >= 0)
        buf_printf(out, "; Max-Age=%" PRId64, cookie->max_age_s);
    buf_puts(out, "; HttpOnly; SameSite=Lax");
    if (cookie->is_secure)
        buf_puts(out, "; Secure");
}
