/* SPDX-License-Identifier: MIT */
/* Fills in the templates of configuration files. */
#ifndef ADIT_CTL_CONFIG_FILL_IN_H
#define ADIT_CTL_CONFIG_FILL_IN_H

#include <stdbool.h>

#include "base/buf.h"

/* A name between two at signs in a template, and the text that replaces it. */
struct value {
    const char *name;
    const char *text;
};

/* Appends a template, in which "@NAME@" is replaced by the value of NAME.  The last value has the
 * name NULL.  Other at signs stay. */
void fill_in(struct buf *out, struct text text, const struct value *values);

/* Appends " --NAME VALUE", for the command in a file's first line.  Appends nothing if the value is
 * NULL, or has characters that need quotes. */
void fill_in_option(struct buf *out, const char *name, const char *value);

/* Returns whether the text is an absolute path of at most len_max bytes without '/' at the end,
 * which needs no quotes or escapes in any of the configuration files. */
bool fill_in_path_valid(const char *path, size_t len_max);

/* Bytes of a path that a configuration file may hold. */
#define FILL_IN_PATH_MAX 1023

/* What fill_in_path_valid() accepts, for messages: a format with one %zu. */
#define FILL_IN_PATH_WANTED                                                                        \
    "at most %zu letters, digits, '/', '.', '_', '+' and '-', no '/' at the end"

#endif
