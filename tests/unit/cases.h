/* SPDX-License-Identifier: MIT */
/* Cases as data: a file of lines "expected<TAB>input<TAB>why". */
#ifndef ADIT_TESTS_CASES_H
#define ADIT_TESTS_CASES_H

#include <stddef.h>

#include "base/buf.h"

struct test_case {
    const char *file;
    int line;
    char *expected;
    char *input;
    size_t input_len; /* bytes: an input may hold NUL */
    char *why;
};

/* Calls run for each case of tests/cases/<name>.  In an input, \t \n \r \\ \xHH stand for bytes and
 * \{TEXT*N} for TEXT repeated N times.  Empty lines and lines that begin with '#' are no cases.
 * Fails the running test where the file is missing, malformed or holds no case; prints how many
 * cases ran.  The environment variable CASES_DIR names the folder. */
void cases_run(const char *name, void (*run)(const struct test_case *));

/* Appends what the text stands for, its escapes being those of an input. */
void cases_unescape(struct buf *out, const char *s);

#endif
