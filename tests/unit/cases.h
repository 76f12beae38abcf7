/* SPDX-License-Identifier: MIT */
/* Cases as data: a file of lines "expected<TAB>input<TAB>why".  In keys/ and fuzz/, why
 * is "name" or "name: why". */
#ifndef ADIT_TESTS_CASES_H
#define ADIT_TESTS_CASES_H

#include <stddef.h>

#include "base/buf.h"

struct test_case {
    const char *file;
    int line;
    char *expected;
    char *input;
    size_t input_len; /* in bytes: an input may contain a NUL */
    char *why;
};

/* Calls run for each case of tests/cases/<name>, and returns the number of cases.  In an input,
 * \t \n \r \\ \xHH stand for bytes and \{TEXT*N} for N times TEXT.  Skips empty lines and lines
 * that begin with '#'.  Ends the program if the file is missing, malformed or has no case.  The
 * environment variable CASES_DIR names the folder. */
int cases_each(const char *name, void (*run)(const struct test_case *));

/* The same, and prints the number. */
void cases_run(const char *name, void (*run)(const struct test_case *));

/* Appends the text with the escapes of an input resolved. */
void cases_unescape(struct buf *out, const char *s);

#endif
