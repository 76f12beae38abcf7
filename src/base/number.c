/* SPDX-License-Identifier: MIT */
/* Reading and writing numbers. */
#include "base/number.h"

#include <string.h>

#include "base/ascii.h"

bool number_read(struct text digits, unsigned base, uint64_t most, uint64_t *out)
{
    uint64_t value = 0;

    if (!text_present(digits))
        return false;
    for (size_t i = 0; i < digits.len; i++) {
        uint64_t digit = (uint64_t)(digits.s[i] - '0');

        if (!ascii_is_digit(digits.s[i]) || digit >= base || digit > most ||
            value > (most - digit) / base)
            return false;
        value = value * base + digit;
    }
    *out = value;
    return true;
}

/* By hand: every answer has several numbers, and snprintf() takes 5 times as long. */
size_t number_write(char out[NUMBER_MAX], uint64_t value)
{
    char digits[NUMBER_MAX];
    size_t at = sizeof digits;

    do
        digits[--at] = (char)('0' + value % 10);
    while (value /= 10);
    memcpy(out, digits + at, sizeof digits - at);
    return sizeof digits - at;
}
