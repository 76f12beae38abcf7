/* SPDX-License-Identifier: MIT */
/* Base 62 by repeated division, and the CRC that API keys carry. */
#include "base/base62.h"

static const char digits[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

/* Divide for five digits at a time: 62^5 is the highest power of 62 below 2^32. */
#define GROUP 5
#define GROUP_VALUE 916132832u /* 62^5 */

void base62_write(char *out, size_t n_digits, const unsigned char *number, size_t len)
{
    uint32_t rest[8] = {0};
    size_t n = (len + 3) / 4;

    for (size_t i = 0; i < len; i++)
        rest[n - 1 - i / 4] |= (uint32_t)number[len - 1 - i] << i % 4 * 8;
    while (n_digits > 0) {
        uint64_t group = 0;

        for (size_t i = 0; i < n; i++) {
            uint64_t value = group << 32 | rest[i];

            rest[i] = (uint32_t)(value / GROUP_VALUE);
            group = value % GROUP_VALUE;
        }
        for (int i = 0; i < GROUP && n_digits > 0; i++) {
            out[--n_digits] = digits[group % 62];
            group /= 62;
        }
    }
}

/* Uses a table of 16 entries, for four bits at a time. */
uint32_t crc32_of(const void *data, size_t len)
{
    static const uint32_t table[16] = {0x00000000, 0x1DB71064, 0x3B6E20C8, 0x26D930AC,
                                       0x76DC4190, 0x6B6B51F4, 0x4DB26158, 0x5005713C,
                                       0xEDB88320, 0xF00F9344, 0xD6D6A3E8, 0xCB61B38C,
                                       0x9B64C2B0, 0x86D3D2D4, 0xA00AE278, 0xBDBDF21C};
    const unsigned char *bytes = data;
    uint32_t crc = 0xFFFFFFFFu;

    for (size_t i = 0; i < len; i++) {
        crc ^= bytes[i];
        crc = crc >> 4 ^ table[crc & 15];
        crc = crc >> 4 ^ table[crc & 15];
    }
    return ~crc;
}
