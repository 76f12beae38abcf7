/* SPDX-License-Identifier: MIT */
/* The URIs of resources in JSON. */
#include "model/uri.h"

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
