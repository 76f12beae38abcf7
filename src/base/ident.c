/* SPDX-License-Identifier: MIT */
/* Identifiers and API keys. */
#include "base/ident.h"

#include <stdio.h>
#include <string.h>
#include <sys/random.h>

#include "base/ascii.h"
#include "base/base62.h"

#define IDENT_DIGITS 27
#define KEY_PREFIX "adit_"
#define KEY_PREFIX_LEN 5
#define KEY_DIGITS 43
#define KEY_CHECK_DIGITS 6
#define ACCOUNT_PREFIX_LEN (sizeof IDENT_ACCOUNT) /* with '_' in the place of the NUL */

_Static_assert(API_KEY_BARE_SIZE == KEY_PREFIX_LEN + KEY_DIGITS + KEY_CHECK_DIGITS + 1 &&
                   API_KEY_SIZE == API_KEY_BARE_SIZE + IDENT_DIGITS,
               "both forms have room for their digits and a NUL");

static bool random_bytes(unsigned char *out, size_t len)
{
    return getrandom(out, len, 0) == (ssize_t)len;
}

/* The kernel gives up to 256 bytes at once. */
static bool take_random(struct ident_random *random, unsigned char *out, size_t len)
{
    if (!random)
        return random_bytes(out, len);
    if (random->left < len) {
        if (!random_bytes(random->bytes, sizeof random->bytes))
            return false;
        random->left = sizeof random->bytes;
    }
    random->left -= len;
    memcpy(out, random->bytes + random->left, len);
    explicit_bzero(random->bytes + random->left, len);
    return true;
}

static void put_big_endian(unsigned char *out, size_t len, uint64_t value)
{
    while (len-- > 0) {
        out[len] = (unsigned char)value;
        value >>= 8;
    }
}

static void write_ident(char out[IDENT_SIZE], const char *prefix, const unsigned char number[20])
{
    size_t prefix_len = strlen(prefix);

    memcpy(out, prefix, prefix_len);
    out[prefix_len] = '_';
    base62_write(out + prefix_len + 1, IDENT_DIGITS, number, 20);
    out[prefix_len + 1 + IDENT_DIGITS] = '\0';
}

bool ident_make_from(struct ident_random *random, char out[IDENT_SIZE], const char *prefix,
                     int64_t ms)
{
    unsigned char number[20];

    if (strlen(prefix) + 1 + IDENT_DIGITS >= IDENT_SIZE || !take_random(random, number + 6, 14))
        return false;
    put_big_endian(number, 6, (uint64_t)ms);
    write_ident(out, prefix, number);
    return true;
}

bool ident_make(char out[IDENT_SIZE], const char *prefix, int64_t ms)
{
    return ident_make_from(NULL, out, prefix, ms);
}

void ident_first(char out[IDENT_SIZE], const char *prefix, int64_t ms)
{
    unsigned char number[20] = {0};

    put_big_endian(number, 6, ms < 0 ? 0 : (uint64_t)ms);
    write_ident(out, prefix, number);
}

bool ident_assigned(struct text id, const char *prefix)
{
    size_t len = strlen(prefix);

    if (!text_begins(id, prefix) || id.len != len + 1 + IDENT_DIGITS || id.s[len] != '_')
        return false;
    for (size_t i = len + 1; i < id.len; i++) {
        if (!ascii_is_alnum(id.s[i]))
            return false;
    }
    return true;
}

const char *ident_fault(struct text id)
{
    if (!id.s || id.len < 1)
        return "it is empty";
    if (id.len > IDENT_MAX)
        return "it is longer than 255 characters";
    for (size_t i = 0; i < id.len; i++) {
        char c = id.s[i];

        if (!ascii_is_alnum(c) && c != '.' && c != '_' && c != '~' && c != '-')
            return "it has a character that is not one of A-Z a-z 0-9 . _ ~ -";
    }
    if (id.s[0] == '.' && (id.len == 1 || (id.len == 2 && id.s[1] == '.')))
        return "'.' and '..' are reserved";
    return NULL;
}

bool ident_valid(struct text id)
{
    return !ident_fault(id);
}

/* The check digits of a key whose digits before them begin there. */
static void check_digits(char out[KEY_CHECK_DIGITS], const char *digits, size_t n)
{
    unsigned char crc[4];

    put_big_endian(crc, sizeof crc, crc32_of(digits, n));
    base62_write(out, KEY_CHECK_DIGITS, crc, sizeof crc);
}

/* 43 digits hold just over 256 bits: no bit is lost, and all digits but the first are nearly
 * uniform. */
bool api_key_make(char out[API_KEY_SIZE], struct text account_id)
{
    unsigned char number[32];
    char *digits = out + KEY_PREFIX_LEN;

    if (!ident_assigned(account_id, IDENT_ACCOUNT) || !random_bytes(number, sizeof number))
        return false;
    memcpy(out, KEY_PREFIX, KEY_PREFIX_LEN);
    memcpy(digits, account_id.s + ACCOUNT_PREFIX_LEN, IDENT_DIGITS);
    base62_write(digits + IDENT_DIGITS, KEY_DIGITS, number, sizeof number);
    check_digits(digits + IDENT_DIGITS + KEY_DIGITS, digits, IDENT_DIGITS + KEY_DIGITS);
    out[API_KEY_SIZE - 1] = '\0';
    explicit_bzero(number, sizeof number);
    return true;
}

bool api_key_valid(struct text key)
{
    char check[KEY_CHECK_DIGITS];
    size_t n_checked = key.len - KEY_PREFIX_LEN - KEY_CHECK_DIGITS;

    if (!key.s || (key.len != API_KEY_SIZE - 1 && key.len != API_KEY_BARE_SIZE - 1) ||
        memcmp(key.s, KEY_PREFIX, KEY_PREFIX_LEN) != 0)
        return false;
    for (size_t i = KEY_PREFIX_LEN; i < key.len; i++) {
        if (!ascii_is_alnum(key.s[i]))
            return false;
    }
    check_digits(check, key.s + KEY_PREFIX_LEN, n_checked);
    return memcmp(check, key.s + KEY_PREFIX_LEN + n_checked, sizeof check) == 0;
}

bool api_key_account(struct text key, char account_id[IDENT_SIZE])
{
    account_id[0] = '\0';
    if (!key.s || key.len != API_KEY_SIZE - 1)
        return false;
    memcpy(account_id, IDENT_ACCOUNT "_", ACCOUNT_PREFIX_LEN);
    memcpy(account_id + ACCOUNT_PREFIX_LEN, key.s + KEY_PREFIX_LEN, IDENT_DIGITS);
    account_id[ACCOUNT_PREFIX_LEN + IDENT_DIGITS] = '\0';
    return true;
}
