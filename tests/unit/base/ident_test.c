/* SPDX-License-Identifier: MIT */
/* Tests of identifiers and API keys. */
#include "base/ident.h"

#include <check.h>
#include <stdint.h>

#include "base/base62.h"
#include "cases.h"
#include "suites.h"

#define N_MADE 200

static const char digits[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

/* Reads 27 digits back into 20 bytes. */
static void decode(unsigned char out[20], const char *s)
{
    memset(out, 0, 20);
    for (int i = 0; i < 27; i++) {
        const char *digit = strchr(digits, s[i]);
        unsigned carry;

        ck_assert_msg(s[i] && digit, "no digit in %s", s);
        carry = (unsigned)(digit - digits);
        for (int j = 20; j-- > 0; carry >>= 8) {
            carry += out[j] * 62u;
            out[j] = (unsigned char)carry;
        }
        ck_assert_uint_eq(carry, 0);
    }
}

static int64_t ms_of(const char *id)
{
    unsigned char number[20];
    int64_t ms = 0;

    decode(number, strchr(id, '_') + 1);
    for (int i = 0; i < 6; i++)
        ms = ms << 8 | number[i];
    return ms;
}

START_TEST(form_of_assigned_identifiers)
{
    static const char *const prefixes[] = {IDENT_CREDENTIAL, IDENT_ACCOUNT, IDENT_USER,
                                           IDENT_BOT,        IDENT_API_KEY, IDENT_OPERATION};

    for (size_t i = 0; i < sizeof prefixes / sizeof prefixes[0]; i++) {
        size_t len = strlen(prefixes[i]);
        char id[IDENT_SIZE];

        ck_assert(ident_make(id, prefixes[i], 0));
        ck_assert_uint_eq(strlen(id), len + 28);
        ck_assert(strncmp(id, prefixes[i], len) == 0 && id[len] == '_');
        ck_assert_uint_eq(strspn(id + len + 1, digits), 27);
        ck_assert(ident_valid(text_of(id)));
        ck_assert(ident_assigned(text_of(id), prefixes[i]));
        id[len + 27] = '-';
        ck_assert(!ident_assigned(text_of(id), prefixes[i]));
        id[len + 27] = '\0';
        ck_assert(!ident_assigned(text_of(id), prefixes[i]));
    }
    ck_assert(!ident_assigned(text_of("usr_000000000000000000000000001"), IDENT_ACCOUNT));
    ck_assert(!ident_assigned(text_of("ac-000000000000000000000000001"), IDENT_ACCOUNT));
    ck_assert(!ident_assigned((struct text){0}, IDENT_ACCOUNT));
}
END_TEST

START_TEST(prefix_too_long)
{
    char id[IDENT_SIZE];

    ck_assert(ident_make(id, "12345", 0));
    ck_assert(!ident_make(id, "123456", 0));
}
END_TEST

/* 2^48 - 1 is in the year 10889. */
static const int64_t times[] = {0, 1, 255, 256, 1769904000123, 0xffffffffffff};

START_TEST(identifiers_hold_the_time)
{
    char id[IDENT_SIZE];

    ck_assert(ident_make(id, "op", times[_i]));
    ck_assert_int_eq(ms_of(id), times[_i]);
}
END_TEST

/* An identifier of a later millisecond is a greater string. */
START_TEST(order_is_age)
{
    char older[IDENT_SIZE];
    char newer[IDENT_SIZE];

    ck_assert(ident_make(older, "op", 1769904000000));
    for (int64_t ms = 1769904000001; ms < 1769904000200; ms++) {
        ck_assert(ident_make(newer, "op", ms));
        ck_assert_str_gt(newer, older);
        memcpy(older, newer, sizeof older);
    }
}
END_TEST

/* Each of the 14 random bytes has more than one value, and no two identifiers are equal, whether
 * their random bytes are drawn one by one or many at once. */
START_TEST(identifiers_are_random)
{
    struct ident_random random = {.left = 0};
    static unsigned char made[N_MADE][20];
    bool varies[20] = {false};

    for (int i = 0; i < N_MADE; i++) {
        char id[IDENT_SIZE];

        ck_assert(ident_make_from(i % 2 ? &random : NULL, id, "op", 0));
        decode(made[i], id + 3);
        for (int j = 0; j < i; j++) {
            if (memcmp(made[i] + 6, made[j] + 6, 14) == 0)
                ck_abort_msg("%d and %d are the same", i, j);
        }
        for (int j = 6; j < 20; j++)
            varies[j] = varies[j] || made[i][j] != made[0][j];
    }
    for (int j = 6; j < 20; j++)
        ck_assert_msg(varies[j], "byte %d", j);
}
END_TEST

static void check_ident(const struct test_case *test)
{
    bool wanted = strcmp(test->expected, "ok") == 0;

    ck_assert_msg(wanted || strcmp(test->expected, "bad") == 0, "%s:%d: expects nothing known",
                  test->file, test->line);
    ck_assert_msg(ident_valid((struct text){test->input, test->input_len}) == wanted,
                  "%s:%d: is not: %s (%s)", test->file, test->line, test->expected, test->why);
}

START_TEST(incoming_identifiers)
{
    cases_run("identifiers.cases", check_ident);
    ck_assert(!ident_valid((struct text){0}));
    ck_assert(ident_valid((struct text){"..", 1}) == false);
    ck_assert(ident_valid((struct text){"a/", 1}));
}
END_TEST

START_TEST(faults_of_identifiers)
{
    char longest[257] = "";

    memset(longest, 'a', 256);
    ck_assert_ptr_null(ident_fault((struct text){longest, 255}));
    ck_assert_str_eq(ident_fault((struct text){longest, 256}), "it is longer than 255 characters");
    ck_assert_str_eq(ident_fault(text_of("")), "it is empty");
    ck_assert_str_eq(ident_fault((struct text){0}), "it is empty");
    ck_assert_ptr_nonnull(strstr(ident_fault(text_of("a/b")), "A-Z a-z 0-9 . _ ~ -"));
    ck_assert_ptr_nonnull(strstr(ident_fault(text_of(".")), "reserved"));
    ck_assert_ptr_nonnull(strstr(ident_fault(text_of("..")), "reserved"));
}
END_TEST

START_TEST(every_byte)
{
    for (int c = 0; c < 256; c++) {
        char id[] = {'a', (char)c};
        bool wanted = c && (strchr(digits, c) || strchr("._~-", c));

        ck_assert_msg(ident_valid((struct text){id, 2}) == wanted, "byte %d", c);
    }
}
END_TEST

#define ACCOUNT "ac_0123456789ABCDEFGHIJKLMNOPZ"
#define DIGITS_OF_ACCOUNT (&ACCOUNT[3])

/* Computes the check digits in another way: the CRC as a number, digit by digit from the end. */
static void append_check(char *key, size_t n_digits)
{
    uint32_t crc = crc32_of(key + 5, n_digits);

    for (size_t i = 6; i-- > 0; crc /= 62)
        key[5 + n_digits + i] = digits[crc % 62];
    key[5 + n_digits + 6] = '\0';
}

/* Makes a key of the earlier form. */
static void make_bare(char key[API_KEY_BARE_SIZE])
{
    char whole[API_KEY_SIZE];

    ck_assert(api_key_make(whole, text_of(ACCOUNT)));
    memcpy(key, whole, 5);
    memcpy(key + 5, whole + 5 + 27, 43);
    append_check(key, 43);
}

START_TEST(form_of_api_keys)
{
    char last[API_KEY_SIZE] = "";

    for (int i = 0; i < N_MADE; i++) {
        char key[API_KEY_SIZE];
        char again[API_KEY_SIZE];
        char account_id[IDENT_SIZE];

        ck_assert(api_key_make(key, text_of(ACCOUNT)));
        ck_assert_uint_eq(strlen(key), 5 + 27 + 43 + 6);
        ck_assert(strncmp(key, "adit_", 5) == 0);
        ck_assert(strncmp(key + 5, DIGITS_OF_ACCOUNT, 27) == 0);
        ck_assert_uint_eq(strspn(key + 5, digits), 76);
        ck_assert(api_key_valid(text_of(key)));
        ck_assert(api_key_account(text_of(key), account_id));
        ck_assert_str_eq(account_id, ACCOUNT);
        memcpy(again, key, sizeof again);
        append_check(again, 70);
        ck_assert_str_eq(again, key);
        ck_assert_str_ne(key, last);
        memcpy(last, key, sizeof last);
    }
}
END_TEST

START_TEST(account_of_no_api_key)
{
    static const char *const others[] = {"",
                                         "ac_",
                                         "ac_x",
                                         "usr_0123456789ABCDEFGHIJKLMNOPZ",
                                         "ac_0123456789ABCDEFGHIJKLMNOPZ0",
                                         "ac_0123456789ABCDEFGHIJKLMNOP_"};
    char key[API_KEY_SIZE];
    char account_id[IDENT_SIZE];

    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++)
        ck_assert_msg(!api_key_make(key, text_of(others[i])), "%s", others[i]);
    ck_assert(!api_key_make(key, (struct text){0}));
    make_bare(key);
    ck_assert(api_key_valid(text_of(key)));
    ck_assert(!api_key_account(text_of(key), account_id));
    ck_assert_str_eq(account_id, "");
    ck_assert(!api_key_account((struct text){0}, account_id));
    ck_assert_str_eq(account_id, "");
}
END_TEST

/* By zlib, crc32() of 43 times "0" is 0x7849568F, of the digits from '0' to 'g' 0xAA866F5C, of 70
 * times "0" 0x1991EE3D, and of the 62 digits and the first 8 again 0xBA64FFD0. */
START_TEST(known_api_keys)
{
    ck_assert(api_key_valid(text_of("adit_00000000000000000000000000000000000000000002CZclj")));
    ck_assert(api_key_valid(text_of("adit_0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefg37cCQ0")));
    ck_assert(api_key_valid(text_of("adit_00000000000000000000000000000000000000000000000000"
                                    "000000000000000000000T20xp")));
    ck_assert(api_key_valid(text_of("adit_0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmn"
                                    "opqrstuvwxyz012345673PdKhU")));
}
END_TEST

static void expect_changes_detected(char *key)
{
    size_t len = strlen(key);

    for (size_t at = 0; at < len; at++) {
        char right = key[at];

        for (int c = 0; c < 256; c++) {
            key[at] = (char)c;
            if (api_key_valid((struct text){key, len}) != (right == (char)c))
                ck_abort_msg("byte %d at %zu", c, at);
        }
        key[at] = right;
    }
}

/* The check digits detect each change of one character. */
START_TEST(one_character_changed)
{
    char key[API_KEY_SIZE];

    ck_assert(api_key_make(key, text_of(ACCOUNT)));
    expect_changes_detected(key);
    make_bare(key);
    expect_changes_detected(key);
}
END_TEST

START_TEST(other_lengths)
{
    char key[API_KEY_SIZE + 1] = "";

    ck_assert(!api_key_valid((struct text){0}));
    ck_assert(!api_key_valid(text_of("")));
    ck_assert(!api_key_valid(text_of("adit_")));
    ck_assert(api_key_make(key, text_of(ACCOUNT)));
    for (size_t len = 0; len < API_KEY_SIZE - 1; len++)
        ck_assert_msg(!api_key_valid((struct text){key, len}), "%zu", len);
    ck_assert(!api_key_valid((struct text){key, API_KEY_SIZE}));
    key[API_KEY_SIZE - 1] = '0';
    ck_assert(!api_key_valid(text_of(key)));
    /* Every length between and beyond the two forms, with the right check digits. */
    for (size_t n_digits = 0; n_digits < 100; n_digits++) {
        char other[120] = "adit_";

        memset(other + 5, 'a', n_digits);
        append_check(other, n_digits);
        ck_assert_msg(api_key_valid(text_of(other)) == (n_digits == 43 || n_digits == 70), "%zu",
                      n_digits);
    }
}
END_TEST

Suite *ident_suite(void)
{
    Suite *suite = suite_create("base/ident");
    TCase *idents = tcase_create("identifiers");
    TCase *keys = tcase_create("api keys");

    tcase_set_timeout(idents, 30);
    tcase_add_test(idents, form_of_assigned_identifiers);
    tcase_add_test(idents, prefix_too_long);
    tcase_add_test(idents, identifiers_hold_the_time);
    tcase_add_test(idents, order_is_age);
    tcase_add_test(idents, identifiers_are_random);
    tcase_add_test(idents, incoming_identifiers);
    tcase_add_test(idents, faults_of_identifiers);
    tcase_add_test(idents, every_byte);
    tcase_add_test(keys, form_of_api_keys);
    tcase_add_test(keys, account_of_no_api_key);
    tcase_add_test(keys, known_api_keys);
    tcase_add_test(keys, one_character_changed);
    tcase_add_test(keys, other_lengths);
    suite_add_tcase(suite, idents);
    suite_add_tcase(suite, keys);
    return suite;
}
