/* SPDX-License-Identifier: MIT */
/* Base64 and elliptic curve points by libcrypto. */
#include "crypt/key.h"

#include <limits.h>
#include <openssl/ec.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/objects.h>
#include <string.h>

#include "base/ascii.h"

static bool in_alphabet(char c)
{
    return ascii_is_alnum(c) || c == '+' || c == '/';
}

/* EVP_DecodeBlock() skips white space, ignores unused bits, and counts padding as bytes.  So this
 * checks the characters first, and the unused bits by encoding the last group again. */
bool crypt_key_base64_decode(const char *s, size_t len, unsigned char *out, size_t *out_len)
{
    char group[CRYPT_KEY_ENCODED_SIZE(3)];
    size_t n_pad = 0;
    size_t n_tail;

    if (len == 0 || len % 4 != 0 || len > INT_MAX)
        return false;
    while (n_pad < 2 && s[len - 1 - n_pad] == '=')
        n_pad++;
    for (size_t i = 0; i < len - n_pad; i++) {
        if (!in_alphabet(s[i]))
            return false;
    }
    if (EVP_DecodeBlock(out, (const unsigned char *)s, (int)len) < 0)
        return false;
    *out_len = len / 4 * 3 - n_pad;
    n_tail = 3 - n_pad;
    crypt_key_base64_encode(out + *out_len - n_tail, n_tail, group);
    return memcmp(group, s + len - 4, 4) == 0;
}

void crypt_key_base64_encode(const unsigned char *data, size_t len, char *out)
{
    EVP_EncodeBlock((unsigned char *)out, data, (int)len);
}

static const char url_alphabet[] =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

/* Returns the six bits of a character of base64url, or -1. */
static int url_value(char c)
{
    if (ascii_is_upper(c))
        return c - 'A';
    if (ascii_is_lower(c))
        return c - 'a' + 26;
    if (ascii_is_digit(c))
        return c - '0' + 52;
    if (c == '-')
        return 62;
    return c == '_' ? 63 : -1;
}

bool crypt_key_base64url_decode(const char *s, size_t len, unsigned char *out, size_t *out_len)
{
    unsigned bits = 0;
    unsigned n_bits = 0;

    *out_len = 0;
    if (len == 0 || len % 4 == 1)
        return false;
    for (size_t i = 0; i < len; i++) {
        int value = url_value(s[i]);

        if (value < 0)
            return false;
        bits = (bits << 6 | (unsigned)value) & 0xFFFF;
        n_bits += 6;
        if (n_bits >= 8) {
            n_bits -= 8;
            out[(*out_len)++] = (unsigned char)(bits >> n_bits);
        }
    }
    return (bits & ((1U << n_bits) - 1)) == 0;
}

void crypt_key_base64url_encode(const unsigned char *data, size_t len, char *out)
{
    unsigned bits = 0;
    unsigned n_bits = 0;

    for (size_t i = 0; i < len; i++) {
        bits = (bits << 8 | data[i]) & 0xFFFF;
        for (n_bits += 8; n_bits >= 6;) {
            n_bits -= 6;
            *out++ = url_alphabet[bits >> n_bits & 63];
        }
    }
    if (n_bits > 0)
        *out++ = url_alphabet[bits << (6 - n_bits) & 63];
    *out = '\0';
}

static int curve_nid(const char *curve)
{
    if (strcmp(curve, "nistp256") == 0)
        return NID_X9_62_prime256v1;
    if (strcmp(curve, "nistp384") == 0)
        return NID_secp384r1;
    if (strcmp(curve, "nistp521") == 0)
        return NID_secp521r1;
    return NID_undef;
}

/* Empties libcrypto's queue of errors, and returns whether one of them was a lack of memory.  The
 * call that failed returns no reason. */
static bool ran_out_of_memory(void)
{
    bool memory = false;
    unsigned long code;

    while ((code = ERR_get_error()) != 0)
        memory = memory || ERR_GET_REASON(code) == ERR_R_MALLOC_FAILURE;
    return memory;
}

/* The curves have a cofactor of 1, so each of their points is in the group (SEC 1, 3.2.2.1). */
bool crypt_key_point_check(const char *curve, const unsigned char *point, size_t len, bool *valid)
{
    EC_GROUP *group = EC_GROUP_new_by_curve_name(curve_nid(curve));
    EC_POINT *p = group ? EC_POINT_new(group) : NULL;
    bool checked = false;

    *valid = false;
    if (!p)
        goto out;
    ERR_clear_error();
    *valid =
        EC_POINT_oct2point(group, p, point, len, NULL) == 1 && !EC_POINT_is_at_infinity(group, p);
    checked = *valid || !ran_out_of_memory();
out:
    EC_POINT_free(p);
    EC_GROUP_free(group);
    ERR_clear_error();
    return checked;
}

/* The y of the points of small order, least byte first, and the two that are below 2^255 without
 * being reduced modulo 2^255 - 19: table 1 of "Taming the many EdDSAs" (Chalkias, Garillot,
 * Nikolaenko, 2020), without the bit of x. */
static const char small_ys[][CRYPT_ED25519_LEN + 1] = {
    "\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00"
    "\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00", /* order 4 */
    "\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00"
    "\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00", /* the neutral element */
    "\x26\xe8\x95\x8f\xc2\xb2\x27\xb0\x45\xc3\xf4\x89\xf2\xef\x98\xf0"
    "\xd5\xdf\xac\x05\xd3\xc6\x33\x39\xb1\x38\x02\x88\x6d\x53\xfc\x05", /* order 8 */
    "\xc7\x17\x6a\x70\x3d\x4d\xd8\x4f\xba\x3c\x0b\x76\x0d\x10\x67\x0f"
    "\x2a\x20\x53\xfa\x2c\x39\xcc\xc6\x4e\xc7\xfd\x77\x92\xac\x03\x7a", /* order 8 */
    "\xec\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff"
    "\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x7f", /* order 2 */
    "\xed\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff"
    "\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x7f", /* 0, not reduced */
    "\xee\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff"
    "\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x7f", /* 1, not reduced */
};

bool crypt_key_ed25519_is_small(const unsigned char point[CRYPT_ED25519_LEN])
{
    unsigned char y[CRYPT_ED25519_LEN];

    memcpy(y, point, sizeof y);
    y[sizeof y - 1] &= 0x7F;
    for (size_t i = 0; i < sizeof small_ys / sizeof small_ys[0]; i++) {
        if (memcmp(y, small_ys[i], sizeof y) == 0)
            return true;
    }
    return false;
}
