/* SPDX-License-Identifier: MIT */
/* Indenting JSON for people and for version control. */
#ifndef ADIT_JSON_INDENT_H
#define ADIT_JSON_INDENT_H

#include "base/buf.h"
#include "base/text.h"

/* Spaces per level. */
#define JSON_INDENT_STEP 2

/* Appends what json/write.h wrote, with a line for each member and element: the lines after the
 * first begin with `depth` levels of spaces more than their own.  Empty objects and lists stay on
 * one line.  A lack of memory sets out->failed. */
void json_indent(struct buf *out, struct text written, size_t depth);

/* Appends a line feed and `depth` levels of spaces. */
void json_new_line(struct buf *out, size_t depth);

#endif
