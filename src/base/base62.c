/* SPDX-License-Identifier: MIT */
/* Base 62 by repeated division, and the CRC that API keys carry. */
#include "base/base62.h"

#include <string.h>

static const char digits[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

void base62_write(char *out, size_t n_digits, const unsigned char *number, size_t len)
{
    unsigned char rest[32];

    memcpy(rest, number, len);
    for (size_t i = n_digits; i-- > 0;) {
        unsigned remainder = 0;

        for (size_t j = 0; j < len; j++) {
            unsigned value = remainder << 8 | rest[j];

            rest[j] = (unsigned char)(value / 62);
            remainder = value % 62;
        }
        out[i] = digits[remainder];
    }
}

bool base62_is_digit(char c)
{
    return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
}

uint32_t crc32_of(const void *data, size_t len)
{
    const unsigned char *bytes = data;
    uint32_t crc = 0xFFFFFFFFu;

    for (size_t i = 0; i < len; i++) {
        crc ^= bytes[i];
        for (int bit = 0; bit < 8; bit++)
            crc = crc >> 1 ^ (crc & 1 ? 0xEDB88320u : 0);
    }
    return ~crc;
}
