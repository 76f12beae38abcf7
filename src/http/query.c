/* SPDX-License-Identifier: MIT */
/* Query strings. */
#include "http/query.h"

#include <string.h>

#include "base/ascii.h"
#include "base/utf8.h"

/* Decodes '+' and percent-encoding.  Returns an absent text if memory runs out.  If the text is
 * malformed, sets *bad and returns an empty text. */
static struct text decode_percent(const char *s, size_t len, struct arena *arena, bool *bad)
{
    char *out = arena_alloc(arena, len + 1);
    size_t n = 0;

    *bad = false;
    for (size_t i = 0; out && i < len; i++) {
        if (s[i] == '%') {
            int high = i + 2 < len ? ascii_hex_value(s[i + 1]) : -1;
            int low = i + 2 < len ? ascii_hex_value(s[i + 2]) : -1;

            if (high < 0 || low < 0) {
                *bad = true;
                break;
            }
            out[n++] = (char)(high << 4 | low);
            i += 2;
        } else {
            out[n++] = s[i] == '+' ? ' ' : s[i];
        }
    }
    if (out && !utf8_valid(out, n))
        *bad = true;
    return (struct text){.s = out, .len = *bad ? 0 : n};
}

static bool is_named(const struct query_param *param, struct text name)
{
    return text_eq(text_of(param->name), name) ||
           (param->alias && text_eq(text_of(param->alias), name));
}

static const struct query_param *find(const struct query_param *params, struct text name)
{
    for (; params && params->name; params++) {
        if (is_named(params, name))
            return params;
    }
    return NULL;
}

static bool unknown(const struct query_param *params, struct text name, struct error *err)
{
    char quote[ERROR_QUOTE_SIZE];
    struct buf names = {0};

    for (const struct query_param *param = params; param && param->name; param++)
        buf_printf(&names, "%s%s", param == params ? "" : ", ", param->name);
    if (names.failed)
        error_set(err, ERR_OUT_OF_MEMORY);
    else
        error_say(err, ERR_QUERY_UNKNOWN,
                  "The query parameter '%s' is unknown. This operation takes %s.",
                  error_quote(quote, name), names.len ? names.data : "none");
    buf_free(&names);
    return false;
}

/* Reads one "name=value" of len bytes. */
static bool read_pair(const char *pair, size_t len, const struct query_param *params,
                      struct arena *arena, struct text *values, struct error *err)
{
    const char *equals = memchr(pair, '=', len);
    size_t name_len = equals ? (size_t)(equals - pair) : len;
    const struct query_param *param;
    struct text name;
    struct text value = {.s = ""};
    bool bad_name;
    bool bad_value = false;

    name = decode_percent(pair, name_len, arena, &bad_name);
    if (equals)
        value = decode_percent(equals + 1, len - name_len - 1, arena, &bad_value);
    if (!name.s || !value.s)
        return error_set(err, ERR_OUT_OF_MEMORY);
    if (bad_name || bad_value)
        return error_set(err, ERR_QUERY_MALFORMED);
    param = find(params, name);
    if (!param)
        return unknown(params, name, err);
    if (values[param - params].s)
        return error_say(err, ERR_QUERY_REPEATED,
                         "The query parameter '%s' is given more than once. Give it once.",
                         param->name);
    values[param - params] = value;
    return true;
}

/* Without memory of its own.  What is malformed is another name. */
static bool is_encoded(const char *s, size_t len, const char *name)
{
    size_t at = 0;

    for (size_t i = 0; i < len; i++, at++) {
        int c = (unsigned char)s[i];

        if (c == '%') {
            int high = i + 2 < len ? ascii_hex_value(s[i + 1]) : -1;
            int low = i + 2 < len ? ascii_hex_value(s[i + 2]) : -1;

            c = high < 0 || low < 0 ? -1 : high << 4 | low;
            i += 2;
        }
        if (!name[at] || c != (unsigned char)name[at])
            return false;
    }
    return !name[at];
}

bool query_gives(struct text query, const char *name)
{
    size_t at = 0;

    while (at < query.len) {
        const char *pair = query.s + at;
        const char *end = memchr(pair, '&', query.len - at);
        size_t len = end ? (size_t)(end - pair) : query.len - at;
        const char *equals = memchr(pair, '=', len);

        if (is_encoded(pair, equals ? (size_t)(equals - pair) : len, name))
            return true;
        at += len + 1;
    }
    return false;
}

bool query_read(const char *query, const struct query_param *params, struct arena *arena,
                struct text *values, struct error *err)
{
    while (*query) {
        size_t len = strcspn(query, "&");

        if (len > 0 && !read_pair(query, len, params, arena, values, err))
            return false;
        query += len + (query[len] == '&');
    }
    return true;
}
