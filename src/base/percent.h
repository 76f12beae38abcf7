/* SPDX-License-Identifier: MIT */
/* Percent-encoding (RFC 3986). */
#ifndef ADIT_BASE_PERCENT_H
#define ADIT_BASE_PERCENT_H

#include <stdbool.h>

#include "base/buf.h"
#include "base/text.h"

/* Returns whether the character is unreserved (RFC 3986, 2.3). */
bool percent_is_unreserved(char c);

/* Appends the text to out, and percent-encodes all but unreserved characters.  A
 * lack of memory sets out->failed. */
void percent_encode(struct buf *out, struct text value);

#endif
