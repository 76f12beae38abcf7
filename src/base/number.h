/* SPDX-License-Identifier: MIT */
/* Numbers in text. */
#ifndef ADIT_BASE_NUMBER_H
#define ADIT_BASE_NUMBER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/must_check.h"
#include "base/text.h"

/* Reads a whole number in base 8 or 10.  The text is nothing but its digits: one or more, without
 * sign or blanks; leading zeros are accepted.  Returns false for any other text, for an absent
 * one, and for a number above most; *out is undefined then. */
MUST_CHECK bool number_read(struct text digits, unsigned base, uint64_t most, uint64_t *out);

/* The most digits of a number. */
#define NUMBER_MAX 20

/* Writes the digits of a number, without a NUL.  Returns how many. */
size_t number_write(char out[NUMBER_MAX], uint64_t value);

#endif
