/* SPDX-License-Identifier: MIT */
/* Numbers in base 62 with the digits 0-9A-Za-z, so that the order of bytes is the order of numbers.
 */
#ifndef ADIT_BASE_BASE62_H
#define ADIT_BASE_BASE62_H

#include <stddef.h>
#include <stdint.h>

/* Writes the big-endian number of len bytes (at most 32) as exactly n_digits digits, most
 * significant first, without a NUL.  Digits that do not fit are lost: the caller gives enough. */
void base62_write(char *out, size_t n_digits, const unsigned char *number, size_t len);

/* Returns the CRC-32 of ISO 3309 (the one of zlib and gzip) of len bytes. */
uint32_t crc32_of(const void *data, size_t len);

#endif
