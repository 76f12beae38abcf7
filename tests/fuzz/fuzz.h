/* SPDX-License-Identifier: MIT */
/* Shared by the fuzz targets: MUST(), and splitting inputs. */
#ifndef ADIT_TESTS_FUZZ_H
#define ADIT_TESTS_FUZZ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"

/* A target: runs one input, and aborts on a fault.  Returns 0. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Targets call this for an input that was accepted.  The replay counts the calls, since a corpus
 * must not have refused inputs only.  libFuzzer's programs do not have this function. */
void fuzz_accepted(void) __attribute__((weak));

static inline void accepted(void)
{
    if (fuzz_accepted)
        fuzz_accepted();
}

/* Ends the program with a message unless the condition is true.  A build can turn assert() off, but
 * not this. */
#define MUST(condition)                                                                            \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            fprintf(stderr, "%s:%d: does not hold: %s\n", __FILE__, __LINE__, #condition);         \
            abort();                                                                               \
        }                                                                                          \
    } while (0)

/* The rest of an input.  No NUL follows it. */
struct input {
    const char *at;
    size_t left;
};

static inline struct input input_of(const uint8_t *data, size_t size)
{
    return (struct input){.at = (const char *)data, .left = size};
}

/* Returns a copy of the input up to the next NUL or to its end, which the caller frees.  A NUL
 * follows the copy.  It has memory of its exact size, so that a sanitizer sees a read past its end.
 */
static inline char *take_string(struct input *input)
{
    const char *end = input->left > 0 ? memchr(input->at, '\0', input->left) : NULL;
    size_t len = end ? (size_t)(end - input->at) : input->left;
    char *copy = malloc(len + 1);

    MUST(copy);
    if (len > 0)
        memcpy(copy, input->at, len);
    copy[len] = '\0';
    input->at += end ? len + 1 : len;
    input->left -= end ? len + 1 : len;
    return copy;
}

/* Returns whether the text has no control characters. */
static inline bool is_plain(struct text text)
{
    for (size_t i = 0; i < text.len; i++) {
        unsigned char c = (unsigned char)text.s[i];

        if (c < 0x20 || c == 0x7F)
            return false;
    }
    return true;
}

#endif
