/* SPDX-License-Identifier: MIT */
/* Tests of digests and of sealing: a change anywhere makes opening fail. */
#include "crypt/crypt.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "suites.h"

#define TEXT "a client secret"
#define TEXT_LEN (sizeof TEXT - 1)
#define AAD "row 1"
#define AAD_LEN (sizeof AAD - 1)
#define SEALED_LEN (TEXT_LEN + CRYPT_SEAL_OVERHEAD)

static const unsigned char key[CRYPT_KEY_LEN] = {1, 2, 3, 250};
static struct crypt_cipher *cipher;

static void make_cipher(void)
{
    cipher = crypt_cipher_new();
    ck_assert_ptr_nonnull(cipher);
    ck_assert(crypt_cipher_set_key(cipher, key));
}

static void free_cipher(void)
{
    crypt_cipher_free(cipher);
    crypt_cipher_free(NULL);
}

/* After a failure the output has no byte of the text. */
static void expect_refused(struct text aad, const unsigned char *sealed, size_t len,
                           const char *what)
{
    char text[128];

    memset(text, 'x', sizeof text);
    ck_assert_msg(!crypt_open(cipher, aad, sealed, len, text), "%s", what);
    for (size_t i = 0; i + CRYPT_SEAL_OVERHEAD < len; i++)
        ck_assert_msg(text[i] == '\0', "%s: byte %zu is left", what, i);
}

START_TEST(digests)
{
    /* FIPS 180-2, appendix B.1, and the empty message. */
    static const char *const wanted[] = {
        "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
        "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"};
    static const char *const messages[] = {"", "abc"};
    struct crypt_hasher *hasher = crypt_hasher_new();

    ck_assert_ptr_nonnull(hasher);
    for (int i = 0; i < 4; i++) {
        const char *message = messages[i / 2];
        unsigned char digest[CRYPT_SHA256_LEN];
        unsigned char again[CRYPT_SHA256_LEN] = {0};
        char hex[2 * CRYPT_SHA256_LEN + 1];

        ck_assert(crypt_sha256(message, strlen(message), digest));
        for (size_t j = 0; j < sizeof digest; j++)
            snprintf(hex + 2 * j, 3, "%02x", digest[j]);
        ck_assert_str_eq(hex, wanted[i / 2]);
        ck_assert(crypt_hasher_sha256(hasher, message, strlen(message), again));
        ck_assert_mem_eq(again, digest, sizeof digest);
    }
    crypt_hasher_free(hasher);
    crypt_hasher_free(NULL);
}
END_TEST

START_TEST(sealing_and_opening)
{
    static const size_t lengths[] = {0, 1, 15, 16, 17, 1024, 65536};

    for (size_t i = 0; i < sizeof lengths / sizeof lengths[0]; i++) {
        size_t len = lengths[i];
        unsigned char *sealed = malloc(len + CRYPT_SEAL_OVERHEAD);
        char *text = malloc(len + 1);
        char *opened = malloc(len + 1);

        ck_assert(sealed && text && opened);
        memset(text, 's', len + 1);
        ck_assert(crypt_seal(cipher, text_of(AAD), (struct text){text, len}, sealed));
        ck_assert(crypt_open(cipher, text_of(AAD), sealed, len + CRYPT_SEAL_OVERHEAD, opened));
        ck_assert_int_eq(memcmp(text, opened, len), 0);
        free(sealed);
        free(text);
        free(opened);
    }
}
END_TEST

/* Test case 14 of AES-256-GCM: key, nonce and message are all zeros. */
START_TEST(known_answer)
{
    static const unsigned char zero_key[CRYPT_KEY_LEN];
    static const unsigned char sealed[CRYPT_SEAL_OVERHEAD + 16] = {
        [12] = 0xce, 0xa7, 0x40, 0x3d, 0x4d, 0x60, 0x6b, 0x6e, 0x07, 0x4e, 0xc5,
        0xd3,        0xba, 0xf3, 0x9d, 0x18, 0xd0, 0xd1, 0xc8, 0xa7, 0x99, 0x99,
        0x6b,        0xf0, 0x26, 0x5b, 0x98, 0xb5, 0xd4, 0x8a, 0xb9, 0x19};
    static const char zeros[16];
    char text[16];

    memset(text, 'x', sizeof text);
    ck_assert(crypt_cipher_set_key(cipher, zero_key));
    ck_assert(crypt_open(cipher, text_of(""), sealed, sizeof sealed, text));
    ck_assert_int_eq(memcmp(text, zeros, sizeof zeros), 0);
}
END_TEST

START_TEST(two_seals_differ)
{
    unsigned char one[SEALED_LEN];
    unsigned char two[SEALED_LEN];

    ck_assert(crypt_seal(cipher, text_of(AAD), text_of(TEXT), one));
    ck_assert(crypt_seal(cipher, text_of(AAD), text_of(TEXT), two));
    ck_assert_int_ne(memcmp(one, two, CRYPT_NONCE_LEN), 0);
    ck_assert_int_ne(memcmp(one + CRYPT_NONCE_LEN, two + CRYPT_NONCE_LEN, TEXT_LEN), 0);
    ck_assert_ptr_null(memmem(one, sizeof one, TEXT, TEXT_LEN));
}
END_TEST

START_TEST(every_bit_flipped)
{
    unsigned char sealed[SEALED_LEN];
    int n_cases = 0;

    ck_assert(crypt_seal(cipher, text_of(AAD), text_of(TEXT), sealed));
    for (size_t bit = 0; bit < SEALED_LEN * 8; bit++) {
        sealed[bit / 8] ^= (unsigned char)(1 << bit % 8);
        expect_refused(text_of(AAD), sealed, sizeof sealed, "a flipped bit");
        sealed[bit / 8] ^= (unsigned char)(1 << bit % 8);
        n_cases++;
    }
    printf("flipped bits: %d cases\n", n_cases);
    ck_assert_int_eq(n_cases, (int)SEALED_LEN * 8);
}
END_TEST

START_TEST(other_key_and_other_place)
{
    unsigned char sealed[SEALED_LEN];
    unsigned char other_key[CRYPT_KEY_LEN];

    ck_assert(crypt_seal(cipher, text_of(AAD), text_of(TEXT), sealed));
    for (size_t bit = 0; bit < CRYPT_KEY_LEN * 8; bit++) {
        memcpy(other_key, key, sizeof key);
        other_key[bit / 8] ^= (unsigned char)(1 << bit % 8);
        ck_assert(crypt_cipher_set_key(cipher, other_key));
        expect_refused(text_of(AAD), sealed, sizeof sealed, "another key");
    }
    ck_assert(crypt_cipher_set_key(cipher, key));
    expect_refused(text_of("row 2"), sealed, sizeof sealed, "another place");
    expect_refused((struct text){AAD, AAD_LEN - 1}, sealed, sizeof sealed, "a shorter place");
    expect_refused((struct text){AAD "\0", AAD_LEN + 1}, sealed, sizeof sealed, "a longer place");
    expect_refused(text_of(""), sealed, sizeof sealed, "no place");
}
END_TEST

START_TEST(every_length_that_is_wrong)
{
    unsigned char sealed[SEALED_LEN + 1];

    ck_assert(crypt_seal(cipher, text_of(AAD), text_of(TEXT), sealed));
    sealed[SEALED_LEN] = 0;
    for (size_t len = 0; len <= SEALED_LEN + 1; len++) {
        if (len != SEALED_LEN)
            expect_refused(text_of(AAD), sealed, len, "another length");
    }
}
END_TEST

/* What a cipher did before, well or not, makes no difference. */
START_TEST(any_order)
{
    unsigned char sealed[SEALED_LEN];
    unsigned char again[SEALED_LEN];
    unsigned char altered[SEALED_LEN];
    char text[TEXT_LEN];

    ck_assert(crypt_seal(cipher, text_of(AAD), text_of(TEXT), sealed));
    memcpy(altered, sealed, sizeof sealed);
    altered[SEALED_LEN - 1] ^= 1;
    for (int order = 0; order < 64; order++) {
        for (int i = 0; i < 6; i += 2) {
            int step = order >> i & 3;

            if (step == 0)
                ck_assert(crypt_seal(cipher, text_of(AAD), text_of(TEXT), again));
            else if (step == 1)
                expect_refused(text_of(AAD), altered, sizeof altered, "an altered tag");
            else if (step == 2)
                expect_refused(text_of(""), sealed, CRYPT_SEAL_OVERHEAD - 1, "too short");
            else
                ck_assert(crypt_cipher_set_key(cipher, key));
        }
        ck_assert_int_eq(crypt_open(cipher, text_of(AAD), sealed, sizeof sealed, text),
                         CRYPT_OPENED);
        ck_assert_mem_eq(text, TEXT, TEXT_LEN);
    }
}
END_TEST

Suite *crypt_suite(void)
{
    Suite *suite = suite_create("crypt/crypt");
    TCase *tcase = tcase_create("crypt");

    tcase_add_checked_fixture(tcase, make_cipher, free_cipher);
    tcase_add_test(tcase, digests);
    tcase_add_test(tcase, sealing_and_opening);
    tcase_add_test(tcase, known_answer);
    tcase_add_test(tcase, two_seals_differ);
    tcase_add_test(tcase, every_bit_flipped);
    tcase_add_test(tcase, other_key_and_other_place);
    tcase_add_test(tcase, every_length_that_is_wrong);
    tcase_add_test(tcase, any_order);
    suite_add_tcase(suite, tcase);
    return suite;
}
