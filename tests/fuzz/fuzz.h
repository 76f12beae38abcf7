/* SPDX-License-Identifier: MIT */
/* What the fuzz targets share: the word that ends them, and inputs taken apart. */
#ifndef ADIT_TESTS_FUZZ_H
#define ADIT_TESTS_FUZZ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"

/* A target: runs one input, and aborts where something is not as it has to be.  Returns 0. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Called by targets for an input that was taken and not refused.  The replay counts them, so that a
 * corpus cannot come to hold nothing but noise; libFuzzer's programs do not have it. */
void fuzz_accepted(void) __attribute__((weak));

static inline void accepted(void)
{
    if (fuzz_accepted)
        fuzz_accepted();
}

/* Ends the program, and says why, unless the condition is true.  Not assert(), which can be turned
 * off. */
#define MUST(condition)                                                                            \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            fprintf(stderr, "%s:%d: does not hold: %s\n", __FILE__, __LINE__, #condition);         \
            abort();                                                                               \
        }                                                                                          \
    } while (0)

/* What is left of an input.  No NUL follows it. */
struct input {
    const char *at;
    size_t left;
};

static inline struct input input_of(const uint8_t *data, size_t size)
{
    return (struct input){.at = (const char *)data, .left = size};
}

/* Returns a copy of what stands in front of the next NUL, or of all that is left; a NUL follows it.
 * The copy has its own memory, so that a sanitizer sees what reads past its end.  The caller frees
 * it. */
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

/* Returns whether the text holds no control character. */
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
