/* SPDX-License-Identifier: MIT */
/* Writing JSON (RFC 8259) in one pass.  These functions write the commas between values, but they
 * do not check the nesting.  A lack of memory sets out->failed. */
#ifndef ADIT_JSON_WRITE_H
#define ADIT_JSON_WRITE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/text.h"

/* Open and close an object or a list.  The bracket is one of {}[]. */
void json_open(struct buf *out, char bracket);
void json_close(struct buf *out, char bracket);

/* Writes the name of a member.  Its value has to be written next. */
void json_put_name(struct buf *out, const char *name);

/* Write a value.  Text must be UTF-8.  An absent text is written as null. */
void json_put_text(struct buf *out, struct text value);
void json_put_bool(struct buf *out, bool value);
void json_put_uint(struct buf *out, uint64_t value);
void json_put_null(struct buf *out);

/* Writes a list of strings.  An absent list is written as []. */
void json_put_texts(struct buf *out, struct text_list list);

#endif
