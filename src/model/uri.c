/* SPDX-License-Identifier: MIT */
/* The URIs of resources in JSON. */
#include "model/uri.h"

#include "base/percent.h"
#include "json/write.h"

void uri_write(struct buf *out, struct text base_url, const char *path, struct text id)
{
    struct text middle = text_of(path);
    char *to;

    json_put_name(out, "uri");
    to = buf_room(out, base_url.len + middle.len + id.len + 2);
    if (!to)
        return;
    *to++ = '"';
    memcpy(to, base_url.s, base_url.len);
    to += base_url.len;
    memcpy(to, middle.s, middle.len);
    to += middle.len;
    memcpy(to, id.s, id.len);
    to += id.len;
    memcpy(to, "\"", 2);
    out->len = (size_t)(to + 1 - out->data);
}

void uri_write_unchecked(struct buf *out, struct text base_url, const char *path, struct text id)
{
    struct buf encoded = {0};

    percent_encode(&encoded, id);
    out->failed = out->failed || encoded.failed;
    uri_write(out, base_url, path, buf_text(&encoded));
    buf_free(&encoded);
}
