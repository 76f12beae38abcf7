/* SPDX-License-Identifier: MIT */
/* Tests of public keys: a case file for spellings, one a class for forms and types, and
 * properties of all keys. */
#include "model/public_key_test.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cases.h"
#include "model/public_key.h"

#define REFUSED "refused: "
#define ACCEPTED "keys/accepted.cases"
#define N_REFUSED_AT_LEAST 200
#define N_ACCEPTED_AT_LEAST 50

static void free_text(struct text text)
{
    free((char *)(uintptr_t)text.s);
}

static struct text copy_of(const char *s, size_t len)
{
    char *copy = malloc(len > 0 ? len : 1);

    ck_assert_ptr_nonnull(copy);
    memcpy(copy, s, len);
    return (struct text){.s = copy, .len = len};
}

static void expect_accepted(const char *what, struct text text, const char *expected)
{
    struct public_key key = {0};
    const char *reason = "";
    char seen[256];

    ck_assert_msg(public_key_read(text, &key, &reason), "%s: refused: %s", what,
                  reason ? reason : "(memory)");
    snprintf(seen, sizeof seen, "%s %s", key.type, key.fingerprint);
    ck_assert_msg(strcmp(seen, expected) == 0, "%s: read as %s, is %s", what, seen, expected);
}

static void expect_refused(const char *what, struct text text, const char *part)
{
    struct public_key key = {0};
    const char *reason = NULL;

    ck_assert_msg(!public_key_read(text, &key, &reason), "%s: accepted as %s", what, key.type);
    ck_assert_msg(reason && strstr(reason, part), "%s: \"%s\" has not \"%s\"", what,
                  reason ? reason : "(memory)", part);
}

/* ---- case files ---- */

static void run_case(const struct test_case *test)
{
    struct text text = copy_of(test->input, test->input_len);
    size_t prefix = strlen(REFUSED);
    char what[128];

    snprintf(what, sizeof what, "%s:%d: %s", test->file, test->line, test->why);
    if (strncmp(test->expected, REFUSED, prefix) == 0)
        expect_refused(what, text, test->expected + prefix);
    else
        expect_accepted(what, text, test->expected);
    free_text(text);
}

START_TEST(test_cases)
{
    cases_run("public_keys.cases", run_case);
}
END_TEST

START_TEST(test_accepted)
{
    ck_assert_int_ge(cases_each(ACCEPTED, run_case), N_ACCEPTED_AT_LEAST);
}
END_TEST

static int is_of_refused(const struct dirent *entry)
{
    return strstr(entry->d_name, ".cases") && !strstr(ACCEPTED, entry->d_name);
}

START_TEST(test_refused)
{
    const char *dir = getenv("CASES_DIR");
    struct dirent **entries;
    char name[512];
    int n_classes;
    int n_keys = 0;

    ck_assert_msg(dir != NULL, "CASES_DIR is not set");
    snprintf(name, sizeof name, "%s/keys", dir);
    n_classes = scandir(name, &entries, is_of_refused, alphasort);
    for (int i = 0; i < n_classes; i++) {
        snprintf(name, sizeof name, "keys/%s", entries[i]->d_name);
        n_keys += cases_each(name, run_case);
        free(entries[i]);
    }
    ck_assert_int_ge(n_keys, N_REFUSED_AT_LEAST);
    free(entries);
    printf("public keys: %d refused in %d classes\n", n_keys, n_classes);
}
END_TEST

/* ---- properties of every key ---- */

/* Returns the length of the necessary text: up to the end of the data in the one-line form, up to
 * the last dash in the other forms. */
static size_t end_of_key(struct text text)
{
    size_t len = text.len;
    const char *blank;

    while (len > 0 && strchr(" \t\r\n", text.s[len - 1]))
        len--;
    if (memchr(text.s, '-', len) && memmem(text.s, len, "---- BEGIN ", 11))
        return len;
    if (memmem(text.s, len, "-----BEGIN ", 11))
        return len;
    blank = memmem(text.s, len, "AAAA", 4);
    while (blank < text.s + len && !strchr(" \t", *blank))
        blank++;
    return (size_t)(blank - text.s);
}

static void cut_case(const struct test_case *test)
{
    struct text text = {.s = test->input, .len = test->input_len};
    size_t end = end_of_key(text);
    size_t step = 1 + end / 512;

    for (size_t len = 0; len < end; len += step) {
        struct text cut = copy_of(text.s, len);

        expect_refused(test->why, cut, "");
        free_text(cut);
    }
}

START_TEST(test_no_part_is_a_key)
{
    cases_each(ACCEPTED, cut_case);
}
END_TEST

/* A changed byte makes another key or none, unless it is outside the key, as in a comment. */
static void change_case(const struct test_case *test)
{
    struct text copy;
    char *byte;

    if (!strstr(test->why, "25519.info") || strstr(test->why, ".info-"))
        return;
    copy = copy_of(test->input, test->input_len);
    for (size_t i = 0; i + 1 < test->input_len; i++) {
        for (unsigned bit = 0; bit < 8; bit++) {
            struct public_key key = {.type = ""};
            const char *reason = "";
            char seen[256];

            byte = (char *)(uintptr_t)copy.s + i;
            *byte = (char)(*byte ^ (1 << bit));
            if (public_key_read(copy, &key, &reason)) {
                snprintf(seen, sizeof seen, "%s %s", key.type, key.fingerprint);
                ck_assert_msg(strcmp(seen, test->expected) != 0, "%s: byte %zu says nothing",
                              test->why, i);
            } else {
                ck_assert_msg(reason && reason[0] >= 'a' && reason[0] <= 'z', "%s: byte %zu",
                              test->why, i);
            }
            *byte = test->input[i];
        }
    }
    free_text(copy);
}

START_TEST(test_every_bit_counts)
{
    cases_each(ACCEPTED, change_case);
}
END_TEST

/* Reasons are static, so they cannot quote the input. */
START_TEST(test_reasons_are_static)
{
    struct public_key key;
    const char *first = NULL;
    const char *second = NULL;

    ck_assert(!public_key_read(text_of("-----BEGIN PRIVATE KEY-----\nc2VjcmV0"), &key, &first));
    ck_assert(!public_key_read(text_of("PuTTY-User-Key-File-3: another"), &key, &second));
    ck_assert_ptr_nonnull(first);
    ck_assert_ptr_eq(first, second);
}
END_TEST

START_TEST(test_length)
{
    char *s = malloc(PUBLIC_KEY_MAX + 2);

    ck_assert_ptr_nonnull(s);
    memset(s, ' ', PUBLIC_KEY_MAX + 1);
    s[PUBLIC_KEY_MAX + 1] = '\0';
    expect_refused("longest", (struct text){.s = s, .len = PUBLIC_KEY_MAX}, "is empty");
    expect_refused("longer", (struct text){.s = s, .len = PUBLIC_KEY_MAX + 1}, "longer than 16384");
    expect_refused("not given", (struct text){0}, "is empty");
    free(s);
}
END_TEST

Suite *public_key_suite(void)
{
    Suite *suite = suite_create("model/public_key");
    TCase *tcase = tcase_create("public_key");

    tcase_add_test(tcase, test_cases);
    tcase_add_test(tcase, test_accepted);
    tcase_add_test(tcase, test_refused);
    tcase_add_test(tcase, test_no_part_is_a_key);
    tcase_add_test(tcase, test_every_bit_counts);
    tcase_add_test(tcase, test_reasons_are_static);
    tcase_add_test(tcase, test_length);
    tcase_set_timeout(tcase, 120);
    suite_add_tcase(suite, tcase);
    return suite;
}
