/* SPDX-License-Identifier: MIT */
/* Percent-encoding (RFC 3986). */
#include "base/percent.h"

#include <string.h>

#include "base/ascii.h"

bool percent_is_unreserved(char c)
{
    return ascii_is_alnum(c) || (c && strchr("-._~", c));
}

void percent_encode(struct buf *out, struct text value)
{
    for (size_t i = 0; i < value.len; i++) {
        char c = value.s[i];

        if (percent_is_unreserved(c))
            buf_add(out, &c, 1);
        else
            buf_printf(out, "%%%02X", (unsigned char)c);
    }
}
