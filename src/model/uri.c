/* SPDX-License-Identifier: MIT */
/* The URIs of resources in JSON. */
#include "model/uri.h"

#include "base/ascii.h"
#include "base/percent.h"
#include "json/write.h"

static bool is_of_url(char c)
{
    return ascii_is_visible(c) && c != '"' && c != '\\';
}

/* Returns the first of the bytes that does not belong, or len. */
static size_t find_foreign(struct text text, bool (*belongs)(char c))
{
    size_t at = 0;

    while (at < text.len && belongs(text.s[at]))
        at++;
    return at;
}

static void add_encoded(struct buf *out, struct text text, bool (*belongs)(char c))
{
    while (text.len > 0) {
        size_t at = find_foreign(text, belongs);

        buf_add(out, text.s, at);
        if (at < text.len)
            percent_encode(out, text_part(text, at, at + 1));
        text = text_part(text, at < text.len ? at + 1 : at, text.len);
    }
}

void uri_add_base(struct buf *out, struct text base_url)
{
    add_encoded(out, base_url, is_of_url);
}

void uri_add_id(struct buf *out, struct text id)
{
    add_encoded(out, id, percent_is_unreserved);
}

void uri_write(struct buf *out, struct text base_url, const char *path, struct text id)
{
    json_put_name(out, "uri");
    buf_add(out, "\"", 1);
    uri_add_base(out, base_url);
    buf_puts(out, path);
    uri_add_id(out, id);
    buf_add(out, "\"", 1);
}
