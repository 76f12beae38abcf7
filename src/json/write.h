/* SPDX-License-Identifier: MIT */
/* Writing JSON (RFC 8259) in one pass.  Commas are the writer's business: a value or a name that
 * follows another gets one.  What the caller nests wrongly comes out wrongly. */
#ifndef ADIT_JSON_WRITE_H
#define ADIT_JSON_WRITE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/text.h"

/* Opens and closes an object or a list: '{', '}', '[', ']'. */
void json_open(struct buf *out, char bracket);
void json_close(struct buf *out, char bracket);

/* Writes the name of the member whose value comes next. */
void json_put_name(struct buf *out, const char *name);

/* Write a value.  Text must be UTF-8; text that is not given is null. */
void json_put_text(struct buf *out, struct text value);
void json_put_bool(struct buf *out, bool value);
void json_put_uint(struct buf *out, uint64_t value);
void json_put_null(struct buf *out);

/* Writes a list of strings; [] also where it is not given. */
void json_put_texts(struct buf *out, struct text_list list);

#endif
