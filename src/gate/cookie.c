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

/* Takes the next cookie off the header.  Returns false at its end. */
static bool take_cookie(struct text *rest, struct text *name, struct text *value)
{
    while (rest->len > 0) {
        *value = take_field(rest, ';');
        if (value->len == 0 || !memchr(value->s, '=', value->len))
            continue;
        *name = take_field(value, '=');
        *value = trim(*value);
        if (name->len > 0)
            return true;
    }
    return false;
}

struct text cookie_next(struct text *rest, struct text name)
{
    struct text found;
    struct text value;

    while (take_cookie(rest, &found, &value)) {
        if (text_eq(found, name))
            return value;
    }
    return (struct text){.s = NULL};
}

struct text cookie_next_ending(struct text *rest, struct text suffix)
{
    struct text found;
    struct text value;

    while (take_cookie(rest, &found, &value)) {
        if (found.len >= suffix.len &&
            memcmp(found.s + found.len - suffix.len, suffix.s, suffix.len) == 0)
            return value;
    }
    return (struct text){.s = NULL};
}

static bool is_of_gate(struct text name, struct text prefix)
{
    struct text own;

    if (name.len < prefix.len || memcmp(name.s, prefix.s, prefix.len) != 0)
        return false;
    own = text_part(name, prefix.len, name.len);
    return text_eq(own, text_of(COOKIE_SESSION)) ||
           (text_begins(own, COOKIE_STATE) &&
            own.len == strlen(COOKIE_STATE) + COOKIE_STATE_ID_LEN);
}

/* No web server takes these in a header, and the result goes into one. */
static bool ends_header(struct text text)
{
    return memchr(text.s, '\r', text.len) || memchr(text.s, '\n', text.len) ||
           memchr(text.s, '\0', text.len);
}

/* A piece goes with the semicolon before it.  The first one goes with the one behind it, and with
 * the blanks there. */
void cookie_without(struct buf *out, struct text header, struct text prefix)
{
    bool is_first = true;
    bool was_cut = false;
    const char *end;

    if (header.len == 0)
        return;
    do {
        struct text piece = header;
        struct text rest;

        end = memchr(header.s, ';', header.len);
        if (end) {
            piece.len = (size_t)(end - header.s);
            header = text_part(header, piece.len + 1, header.len);
        }
        rest = piece;
        if (piece.len > 0 && (ends_header(piece) || is_of_gate(take_field(&rest, '='), prefix))) {
            was_cut = true;
            continue;
        }
        while (is_first && was_cut && piece.len > 0 && ascii_is_blank(piece.s[0]))
            piece = text_part(piece, 1, piece.len);
        if (!is_first)
            buf_puts(out, ";");
        buf_add(out, piece.s, piece.len);
        is_first = false;
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
