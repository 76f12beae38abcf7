/* SPDX-License-Identifier: MIT */
/* Tests of what each kind of API key may do. */
#include "model/key_kind.h"

#include <check.h>
#include <string.h>

#include "suites.h"

/* Written by hand: what people were promised, whatever the table says. */
static const struct promise {
    enum key_kind kind;
    const char *scope;
    bool read_only;
    bool reads_secrets;
    enum error_code read;
    enum error_code write;
    enum error_code write_own;
    enum error_code write_others;
    enum error_code ask;
} promises[] = {
    {KEY_READ_WRITE, "account", false, true, ERR_NONE, ERR_NONE, ERR_NONE, ERR_NONE, ERR_NONE},
    {KEY_READ_ONLY, "account", true, false, ERR_NONE, ERR_KEY_READ_ONLY, ERR_KEY_READ_ONLY,
     ERR_KEY_READ_ONLY, ERR_NONE},
    {KEY_OWN, "own", true, false, ERR_NONE, ERR_KEY_OWN, ERR_NONE, ERR_KEY_OWN, ERR_NONE},
    {KEY_GATEWAY, "gateway", true, false, ERR_KEY_GATEWAY, ERR_KEY_GATEWAY, ERR_KEY_GATEWAY,
     ERR_KEY_GATEWAY, ERR_NONE},
};

#define N_PROMISES (sizeof promises / sizeof promises[0])

_Static_assert(N_PROMISES == KEY_N_KINDS, "each kind of key has its promise");

START_TEST(each_kind_and_operation)
{
    const struct promise *promise = &promises[_i];
    enum key_kind kind = promise->kind;

    ck_assert_int_eq(kind, _i);
    for (enum key_whose whose = KEY_WHOSE_UNKNOWN; whose <= KEY_WHOSE_OTHERS; whose++) {
        ck_assert_int_eq(key_kind_forbids(kind, KEYS_READ, false, whose), promise->read);
        ck_assert_int_eq(key_kind_forbids(kind, KEYS_ASK, false, whose), promise->ask);
        ck_assert_int_eq(key_kind_forbids(kind, KEYS_WRITE, true, whose), promise->write);
    }
    ck_assert_int_eq(key_kind_forbids(kind, KEYS_WRITE_OWN, true, KEY_WHOSE_UNKNOWN),
                     promise->write_own);
    ck_assert_int_eq(key_kind_forbids(kind, KEYS_WRITE_OWN, true, KEY_WHOSE_OWN),
                     promise->write_own);
    ck_assert_int_eq(key_kind_forbids(kind, KEYS_WRITE_OWN, true, KEY_WHOSE_OTHERS),
                     promise->write_others);
}
END_TEST

/* The SQL conditions and a key's row go by read_only: whoever may not write everything has it, and
 * reads no secrets. */
START_TEST(each_kind_and_its_row)
{
    const struct promise *promise = &promises[_i];
    const struct key_kind_row *row = key_kind_row(promise->kind);

    ck_assert_str_eq(row->scope, promise->scope);
    ck_assert_int_eq(key_kind_is_read_only(promise->kind), promise->read_only);
    ck_assert_int_eq(row->reads == KEY_READS_SECRETS, promise->reads_secrets);
    ck_assert_int_eq(row->reads == KEY_READS_SECRETS, row->writes == KEY_WRITES_ALL);
    ck_assert_int_eq(key_kind_of(text_of(row->scope), promise->read_only), promise->kind);
    /* Conditions of reads and decisions go by the scope, which these kinds share. */
    if (strcmp(row->scope, "account") == 0)
        ck_assert(row->reads != KEY_READS_NOTHING && row->asks == KEY_ASKS);
}
END_TEST

/* A route without kinds, and a write where the route only reads. */
START_TEST(faulty_table_permits_nothing)
{
    enum key_kind kind = promises[_i].kind;

    ck_assert_int_ne(key_kind_forbids(kind, KEYS_NONE, false, KEY_WHOSE_UNKNOWN), ERR_NONE);
    ck_assert_int_ne(key_kind_forbids(kind, KEYS_NONE, true, KEY_WHOSE_OWN), ERR_NONE);
    ck_assert_int_eq(key_kind_forbids(kind, KEYS_ASK, true, KEY_WHOSE_OTHERS),
                     kind == KEY_READ_WRITE ? ERR_NONE : key_kind_row(kind)->error);
}
END_TEST

START_TEST(unknown_kind_may_do_nothing)
{
    static const unsigned all = (1U << KEY_N_KINDS) - 1;

    ck_assert_int_eq(key_kind_of(text_of("later"), false), KEY_N_KINDS);
    ck_assert_int_eq(key_kind_of(text_of("later"), true), KEY_N_KINDS);
    ck_assert_int_eq(key_kind_of(text_of("own"), false), KEY_N_KINDS);
    ck_assert_int_eq(key_kind_of(text_of(NULL), true), KEY_N_KINDS);
    ck_assert_int_eq(key_kind_forbids(KEY_N_KINDS, all, false, KEY_WHOSE_OWN), ERR_KEY_UNKNOWN);
    ck_assert_int_eq(key_kind_forbids(KEY_N_KINDS, ~0U, true, KEY_WHOSE_OWN), ERR_KEY_UNKNOWN);
}
END_TEST

START_TEST(sets_that_read_only)
{
    ck_assert(key_set_reads_only(KEYS_READ) && key_set_reads_only(KEYS_ASK));
    ck_assert(!key_set_reads_only(KEYS_WRITE) && !key_set_reads_only(KEYS_WRITE_OWN));
    ck_assert(!key_set_reads_only(KEYS_NONE));
}
END_TEST

Suite *key_kind_suite(void)
{
    Suite *suite = suite_create("model/key_kind");
    TCase *tcase = tcase_create("key kinds");

    tcase_add_loop_test(tcase, each_kind_and_operation, 0, N_PROMISES);
    tcase_add_loop_test(tcase, each_kind_and_its_row, 0, N_PROMISES);
    tcase_add_loop_test(tcase, faulty_table_permits_nothing, 0, N_PROMISES);
    tcase_add_test(tcase, unknown_kind_may_do_nothing);
    tcase_add_test(tcase, sets_that_read_only);
    suite_add_tcase(suite, tcase);
    return suite;
}
