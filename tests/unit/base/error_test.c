/* SPDX-License-Identifier: MIT */
/* Tests of errors and of their catalogue. */
#include "base/error.h"

#include <check.h>

#include "base/utf8.h"
#include "suites.h"

#define EURO "\xE2\x82\xAC"
#define ELLIPSIS "\xE2\x80\xA6"

/* Fills text with n letters, and then with the character as often as it fits into len bytes. */
static void fill(char *text, size_t n, const char *character, size_t len)
{
    size_t size = strlen(character);

    memset(text, 'a', n);
    for (; n + size <= len; n += size)
        memcpy(text + n, character, size);
    text[n] = '\0';
}

START_TEST(catalogue_is_whole)
{
    for (int code = ERR_NONE + 1; code < ERR_N_CODES; code++) {
        const struct error_row *row = error_row((enum error_code)code);

        ck_assert_msg(row->symbol && row->text, "code %d has no row", code);
        ck_assert_msg(row->number > 0, "%s", row->symbol);
        ck_assert_msg(row->status >= 400 && row->status <= 599, "%s", row->symbol);
        ck_assert_msg(row->text[strlen(row->text) - 1] == '.', "%s", row->symbol);
        ck_assert_msg(strlen(row->text) < sizeof((struct error *)0)->msg, "%s", row->symbol);
        for (int other = ERR_NONE + 1; other < code; other++)
            ck_assert_msg(error_row((enum error_code)other)->number != row->number,
                          "number %d is used twice", row->number);
    }
}
END_TEST

START_TEST(rows_of_codes)
{
    ck_assert_int_eq(error_row(ERR_BODY_NOT_JSON)->number, 213);
    ck_assert_int_eq(error_row(ERR_BODY_NOT_JSON)->status, 400);
    ck_assert_str_eq(error_row(ERR_BODY_NOT_JSON)->symbol, "BODY_NOT_JSON");
    ck_assert_int_eq(error_row(ERR_NONE)->number, 10000);
    ck_assert_int_eq(error_row(ERR_N_CODES)->number, 10000);
    /* NOLINTNEXTLINE(clang-analyzer-optin.core.EnumCastOutOfRange): that is the case */
    ck_assert_int_eq(error_row((enum error_code)12345)->number, 10000);
}
END_TEST

START_TEST(set_leaves_nothing_of_before)
{
    struct error err;

    memset(&err, 0xA5, sizeof err);
    ck_assert(!error_set(&err, ERR_NOT_ADMIN));
    ck_assert_int_eq(err.code, ERR_NOT_ADMIN);
    ck_assert(!err.has_offset && err.offset == 0);
    ck_assert_str_eq(err.field, "");
    ck_assert_str_eq(err.msg, "");
    ck_assert_str_eq(err.cause, "");
}
END_TEST

/* The message for the client is not in the cause, and the cause not in the message. */
START_TEST(faces_are_apart)
{
    struct error err;

    memset(&err, 0xA5, sizeof err);
    ck_assert(!error_say(&err, ERR_ACL_RULE, "%s %d", "rule", 7));
    ck_assert_str_eq(err.msg, "rule 7");
    ck_assert_str_eq(err.cause, "");
    ck_assert_str_eq(err.field, "");
    ck_assert(!error_cause(&err, ERR_DATABASE_TIMEOUT, "host %s", "db1"));
    ck_assert_int_eq(err.code, ERR_DATABASE_TIMEOUT);
    ck_assert_str_eq(err.cause, "host db1");
    ck_assert_str_eq(err.msg, "");
    ck_assert(!error_field(&err, ERR_WRONG_VALUE, "a.b[2]", "no %s", "number"));
    ck_assert_int_eq(err.code, ERR_WRONG_VALUE);
    ck_assert_str_eq(err.field, "a.b[2]");
    ck_assert_str_eq(err.msg, "no number");
    ck_assert_str_eq(err.cause, "");
}
END_TEST

/* A value is never used as a format. */
START_TEST(percent_signs_of_values)
{
    struct error err;

    error_field(&err, ERR_WRONG_VALUE, "%s%n", "%s", "%d%n");
    ck_assert_str_eq(err.field, "%s%n");
    ck_assert_str_eq(err.msg, "%d%n");
}
END_TEST

/* Texts that are too long are cut to as many whole characters as fit. */
START_TEST(long_texts_are_cut_at_characters)
{
    static const char *const characters[] = {"x", "\xC3\xA9", EURO, "\xF0\x9F\x98\x80"};

    for (size_t n = 0; n < 16; n++) {
        char text[1200];
        struct error err;

        fill(text, n / 4, characters[n % 4], sizeof text - 1);
        error_field(&err, ERR_WRONG_VALUE, text, "%s", text);
        ck_assert(strncmp(text, err.msg, strlen(err.msg)) == 0);
        ck_assert(utf8_valid(err.msg, strlen(err.msg)));
        ck_assert_uint_ge(strlen(err.msg), sizeof err.msg - 1 - 3);
        ck_assert(strncmp(text, err.field, strlen(err.field)) == 0);
        ck_assert(utf8_valid(err.field, strlen(err.field)));
        ck_assert_uint_ge(strlen(err.field), sizeof err.field - 1 - 3);
        error_cause(&err, ERR_INTERNAL, "%s", text);
        ck_assert(utf8_valid(err.cause, strlen(err.cause)));
        ck_assert_uint_ge(strlen(err.cause), sizeof err.cause - 1 - 3);
    }
}
END_TEST

START_TEST(text_that_just_fits_is_whole)
{
    char text[sizeof((struct error *)0)->msg];
    struct error err;

    fill(text, (sizeof text - 1) % 3, EURO, sizeof text - 1);
    error_say(&err, ERR_INTERNAL, "%s", text);
    ck_assert_uint_eq(strlen(text), sizeof text - 1);
    ck_assert_str_eq(err.msg, text);
}
END_TEST

START_TEST(short_values_are_quoted_whole)
{
    char out[ERROR_QUOTE_SIZE];
    char value[77];

    ck_assert_str_eq(error_quote(out, text_of("abc")), "abc");
    ck_assert_ptr_eq(error_quote(out, text_of("abc")), out);
    ck_assert_str_eq(error_quote(out, text_of("")), "");
    ck_assert_str_eq(error_quote(out, (struct text){0}), "");
    ck_assert_str_eq(error_quote(out, (struct text){"abcdef", 3}), "abc");
    fill(value, 76, "", 0);
    ck_assert_str_eq(error_quote(out, text_of(value)), value);
}
END_TEST

START_TEST(long_values_are_quoted_to_a_character)
{
    static const char *const characters[] = {"x", "\xC3\xA9", EURO, "\xF0\x9F\x98\x80"};

    for (size_t n = 0; n < 16; n++) {
        char value[300];
        char out[ERROR_QUOTE_SIZE];
        size_t len;

        fill(value, n / 4, characters[n % 4], sizeof value - 1);
        len = strlen(error_quote(out, text_of(value)));
        ck_assert_uint_lt(len, sizeof out);
        ck_assert_uint_ge(len, sizeof out - 1 - 3);
        ck_assert_str_eq(out + len - 3, ELLIPSIS);
        ck_assert(strncmp(out, value, len - 3) == 0);
        ck_assert_msg(utf8_valid(out, len), "%zu: %s", n, out);
    }
}
END_TEST

/* A lack of memory has no cause of its own. */
START_TEST(reason_is_never_empty)
{
    struct error err;

    error_set(&err, ERR_OUT_OF_MEMORY);
    ck_assert_str_eq(error_reason(&err), error_row(ERR_OUT_OF_MEMORY)->text);
    error_cause(&err, ERR_DATABASE_TIMEOUT, "no answer");
    ck_assert_str_eq(error_reason(&err), "no answer");
}
END_TEST

Suite *error_suite(void)
{
    Suite *suite = suite_create("base/error");
    TCase *tests = tcase_create("error");

    tcase_add_test(tests, catalogue_is_whole);
    tcase_add_test(tests, rows_of_codes);
    tcase_add_test(tests, set_leaves_nothing_of_before);
    tcase_add_test(tests, faces_are_apart);
    tcase_add_test(tests, reason_is_never_empty);
    tcase_add_test(tests, percent_signs_of_values);
    tcase_add_test(tests, long_texts_are_cut_at_characters);
    tcase_add_test(tests, text_that_just_fits_is_whole);
    tcase_add_test(tests, short_values_are_quoted_whole);
    tcase_add_test(tests, long_values_are_quoted_to_a_character);
    suite_add_tcase(suite, tests);
    return suite;
}
