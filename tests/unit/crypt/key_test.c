/* SPDX-License-Identifier: MIT */
/* Tests of base64url: each text of bytes has one form. */
#include "crypt/key.h"

#include <check.h>
#include <string.h>

#include "suites.h"

#define MAX_LEN 70

static void expect_text(const char *bytes, size_t len, const char *wanted)
{
    char text[MAX_LEN * 2];

    memset(text, 'x', sizeof text);
    crypt_key_base64url_encode((const unsigned char *)bytes, len, text);
    ck_assert_str_eq(text, wanted);
    ck_assert_uint_eq(strlen(text) + 1, CRYPT_KEY_BASE64URL_SIZE(len));
}

/* RFC 4648, section 10, without padding; and the two characters that base64 does not have. */
START_TEST(known_texts)
{
    expect_text("", 0, "");
    expect_text("f", 1, "Zg");
    expect_text("fo", 2, "Zm8");
    expect_text("foo", 3, "Zm9v");
    expect_text("foob", 4, "Zm9vYg");
    expect_text("fooba", 5, "Zm9vYmE");
    expect_text("foobar", 6, "Zm9vYmFy");
    expect_text("\xFB\xFF\xBF", 3, "-_-_");
    expect_text("\x00\x10\x83\x10\x51\x87\x20\x92\x8B\x30\xD3\x8F\x41\x14\x93\x51\x55\x97\x61\x96"
                "\x9B\x71\xD7\x9F\x82\x18\xA3\x92\x59\xA7\xA2\x9A\xAB\xB2\xDB\xAF\xC3\x1C\xB3\xD3"
                "\x5D\xB7\xE3\x9E\xBB\xF3\xDF\xBF",
                48, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_");
}
END_TEST

START_TEST(there_and_back)
{
    unsigned char bytes[MAX_LEN];
    unsigned char back[MAX_LEN + 2];
    char text[CRYPT_KEY_BASE64URL_SIZE(MAX_LEN)];
    size_t len;

    for (size_t i = 0; i < MAX_LEN; i++)
        bytes[i] = (unsigned char)(i * 89 + 7);
    for (size_t n = 1; n <= MAX_LEN; n++) {
        crypt_key_base64url_encode(bytes, n, text);
        ck_assert(crypt_key_base64url_decode(text, strlen(text), back, &len));
        ck_assert_uint_eq(len, n);
        ck_assert_mem_eq(back, bytes, n);
    }
}
END_TEST

START_TEST(other_texts_are_refused)
{
    static const char *const bad[] = {
        "",     "Z",    "Zm9vZ",        /* no bytes have that length */
        "Zh",   "Zm9",  "Z_",    "Zm-", /* unused bits are set */
        "Zg==", "Zm8=", "Z===",  "+A",  "/A", "Zm9v\n", " Zg", "Z g", "Zm.v", "Zm9vYm\xC3\xBC",
    };
    unsigned char out[MAX_LEN];
    size_t len;

    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        ck_assert_msg(!crypt_key_base64url_decode(bad[i], strlen(bad[i]), out, &len), "%s", bad[i]);
    ck_assert(!crypt_key_base64url_decode("Zm9v\0", 5, out, &len));
    ck_assert(!crypt_key_base64url_decode("Zm\0v", 4, out, &len));
}
END_TEST

Suite *crypt_key_suite(void)
{
    Suite *suite = suite_create("crypt/key");
    TCase *tcase = tcase_create("base64url");

    tcase_add_test(tcase, known_texts);
    tcase_add_test(tcase, there_and_back);
    tcase_add_test(tcase, other_texts_are_refused);
    suite_add_tcase(suite, tcase);
    return suite;
}
