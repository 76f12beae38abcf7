/* SPDX-License-Identifier: MIT */
/* Tests of public keys: a case file for spellings, folders of keys for forms and types, and
 * properties of all keys. */
#include "model/public_key_test.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cases.h"
#include "model/public_key.h"

#define REFUSED "refused: "
#define N_REFUSED_AT_LEAST 200
#define N_ACCEPTED_AT_LEAST 50

/* Reads a file into memory of its exact size, so that a sanitizer sees a read past its end. */
static struct text read_file(const char *path)
{
    FILE *file = fopen(path, "rb");
    long size;
    char *s;

    ck_assert_msg(file != NULL, "cannot open %s", path);
    ck_assert_int_eq(fseek(file, 0, SEEK_END), 0);
    size = ftell(file);
    ck_assert_msg(size >= 0 && size < 1024 * 1024, "%s is too large", path);
    ck_assert_int_eq(fseek(file, 0, SEEK_SET), 0);
    s = malloc(size > 0 ? (size_t)size : 1);
    ck_assert_ptr_nonnull(s);
    ck_assert_uint_eq(fread(s, 1, (size_t)size, file), (size_t)size);
    fclose(file);
    return (struct text){.s = s, .len = (size_t)size};
}

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

static void case_path(char out[4096], const char *folder, const char *name)
{
    const char *dir = getenv("CASES_DIR");

    ck_assert_msg(dir != NULL, "CASES_DIR is not set");
    ck_assert_int_lt(snprintf(out, 4096, "%s/keys/%s/%s", dir, folder, name), 4096);
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

/* ---- tests/cases/public_keys.cases ---- */

static void run_case(const struct test_case *test)
{
    struct text text = copy_of(test->input, test->input_len);
    size_t prefix = strlen(REFUSED);
    char what[128];

    snprintf(what, sizeof what, "%s:%d", test->file, test->line);
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

/* ---- the folders ---- */

/* Calls visit for each file of tests/cases/keys/<folder>.  Returns their number. */
static int each_file(const char *folder, void (*visit)(const char *folder, const char *name))
{
    char path[4096];
    int n_files = 0;
    DIR *dir;

    case_path(path, folder, "");
    dir = opendir(path);
    ck_assert_msg(dir != NULL, "cannot open %s", path);
    for (struct dirent *entry; (entry = readdir(dir));) {
        if (entry->d_name[0] == '.')
            continue;
        visit(folder, entry->d_name);
        n_files++;
    }
    closedir(dir);
    return n_files;
}

static bool is_fingerprint(const char *name)
{
    return strstr(name, ".fingerprint") != NULL;
}

/* Reads an accepted key, and compares it with "<type> <fingerprint>" in the file beside it. */
static struct text read_accepted(const char *folder, const char *name, char expected[256])
{
    char path[4096];
    char beside[512];
    struct text said;

    snprintf(beside, sizeof beside, "%s.fingerprint", name);
    case_path(path, folder, beside);
    said = read_file(path);
    ck_assert_msg(said.len < 256 && memchr(said.s, '\n', said.len), "%s: not a line", path);
    snprintf(expected, 256, "%.*s", (int)said.len - 1, said.s);
    free_text(said);
    case_path(path, folder, name);
    return read_file(path);
}

static void visit_accepted(const char *folder, const char *name)
{
    char expected[256];
    struct text text;

    if (is_fingerprint(name))
        return;
    text = read_accepted(folder, name, expected);
    expect_accepted(name, text, expected);
    free_text(text);
}

START_TEST(test_accepted)
{
    ck_assert_int_ge(each_file("accepted", visit_accepted), 2 * N_ACCEPTED_AT_LEAST);
}
END_TEST

static const char *part_of_reason; /* of the visited class of files */

static void visit_refused(const char *folder, const char *name)
{
    char path[4096];
    struct text text;

    case_path(path, folder, name);
    text = read_file(path);
    expect_refused(path, text, part_of_reason);
    free_text(text);
}

static int n_folders_seen;

static void count_folder(const char *folder, const char *name)
{
    (void)folder;
    n_folders_seen += strcmp(name, "reasons") != 0;
}

START_TEST(test_refused)
{
    char path[4096];
    char line[512];
    char folder[512];
    int n_classes = 0;
    int n_files = 0;
    FILE *reasons;

    case_path(path, "refused", "reasons");
    reasons = fopen(path, "r");
    ck_assert_msg(reasons != NULL, "cannot open %s", path);
    while (fgets(line, sizeof line, reasons)) {
        char *tab = strchr(line, '\t');
        int n_seen;

        ck_assert_msg(tab != NULL, "%s: no tab in a line", path);
        *tab = '\0';
        line[strlen(line) + 1 + strcspn(tab + 1, "\n")] = '\0';
        part_of_reason = tab + 1;
        snprintf(folder, sizeof folder, "refused/%.400s", line);
        n_seen = each_file(folder, visit_refused);
        ck_assert_msg(n_seen > 0, "%s is empty", folder);
        n_files += n_seen;
        n_classes++;
    }
    fclose(reasons);
    each_file("refused", count_folder);
    ck_assert_int_eq(n_classes, n_folders_seen);
    ck_assert_int_ge(n_files, N_REFUSED_AT_LEAST);
    printf("public keys: %d refused in %d classes\n", n_files, n_classes);
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

static void visit_cut(const char *folder, const char *name)
{
    char expected[256];
    struct text text;
    size_t end;
    size_t step;

    if (is_fingerprint(name))
        return;
    text = read_accepted(folder, name, expected);
    end = end_of_key(text);
    step = 1 + end / 512;
    for (size_t len = 0; len < end; len += step) {
        struct text cut = copy_of(text.s, len);

        expect_refused(name, cut, "");
        free_text(cut);
    }
    free_text(text);
}

START_TEST(test_no_part_is_a_key)
{
    ck_assert_int_gt(each_file("accepted", visit_cut), 0);
}
END_TEST

/* A changed byte makes another key or none, unless it is outside the key, as in a comment. */
static void visit_changed(const char *folder, const char *name)
{
    char expected[256];
    struct text text;
    struct text copy;
    char *byte;

    if (is_fingerprint(name) || !strstr(name, "25519.info") || strstr(name, ".info-"))
        return;
    text = read_accepted(folder, name, expected);
    copy = copy_of(text.s, text.len);
    for (size_t i = 0; i + 1 < text.len; i++) {
        for (unsigned bit = 0; bit < 8; bit++) {
            struct public_key key = {.type = ""};
            const char *reason = "";
            char seen[256];

            byte = (char *)(uintptr_t)copy.s + i;
            *byte = (char)(*byte ^ (1 << bit));
            if (public_key_read(copy, &key, &reason)) {
                snprintf(seen, sizeof seen, "%s %s", key.type, key.fingerprint);
                ck_assert_msg(strcmp(seen, expected) != 0, "%s: byte %zu says nothing", name, i);
            } else {
                ck_assert_msg(reason && reason[0] >= 'a' && reason[0] <= 'z', "%s: byte %zu", name,
                              i);
            }
            *byte = text.s[i];
        }
    }
    free_text(copy);
    free_text(text);
}

START_TEST(test_every_bit_counts)
{
    ck_assert_int_gt(each_file("accepted", visit_changed), 0);
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
