/* SPDX-License-Identifier: MIT */
/* Numbers in base 62.  The digits are 0-9A-Za-z, so numbers of one length sort as their bytes do.
 */
#ifndef ADIT_BASE_BASE62_H
#define ADIT_BASE_BASE62_H

#include <stddef.h>
#include <stdint.h>

/* Writes the big-endian number of len bytes (at most 32) as exactly n_digits digits, most
 * significant first, without a NUL.  Drops the higher digits if n_digits is too small. */
void base62_write(char *out, size_t n_digits, const unsigned char *number, size_t len);

/* Returns the CRC-32 of len bytes, as zlib and gzip compute it (ISO 3309). */
uint32_t crc32_of(const void *data, size_t len);

#endif
