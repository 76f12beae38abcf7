/* SPDX-License-Identifier: MIT */
/* Tests of the folder of authorities: files that are no authority's, and ids that are no names. */
#include "gateway/authority.h"

#include <check.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "folder.h"
#include "gateway/told.h"
#include "suites.h"

static void expect_result(struct text id, const char *reason_wanted,
                          enum authority_result result_wanted)
{
    char reason[AUTHORITY_REASON_SIZE] = "";
    struct buf out = {0};
    struct buf wanted = {0};
    enum authority_result result;

    buf_puts(&out, "before\n");
    result = authority_read(folder, id, &out, reason);
    buf_puts(&wanted, "before\n");
    if (!reason_wanted)
        folder_add_certificate(&wanted, "authority-1");
    ck_assert_str_eq(reason, reason_wanted ? reason_wanted : "");
    ck_assert_int_eq(result, reason_wanted ? result_wanted : AUTHORITY_READ);
    ck_assert_str_eq(out.data, wanted.data);
    buf_free(&out);
    buf_free(&wanted);
}

/* Expects that the authority is left out for that reason, or with NULL that authority-1 is read. */
static void expect(struct text id, const char *reason_wanted)
{
    expect_result(id, reason_wanted, AUTHORITY_LEFT_OUT);
}

START_TEST(ids_are_names_of_files)
{
    char longest[257];

    memset(longest, 'a', sizeof longest);
    folder_copy("ca-1", "authority-1");
    expect(text_of("ca-1"), NULL);
    expect(text_of("ca-2"), "No such file or directory");
    longest[255] = '\0';
    folder_copy(longest, "authority-1");
    expect(text_of(longest), NULL);
    longest[255] = 'a';
    longest[256] = '\0';
    expect(text_of(longest), "it is longer than 255 characters");
}
END_TEST

START_TEST(ids_are_no_paths)
{
    static const char bad[] = "it has a character that is not one of A-Z a-z 0-9 . _ ~ -";
    char *beside = strdup(folder_path("ca-1"));

    folder_copy("ca-1", "authority-1");
    ck_assert_int_eq(mkdir(folder_path("sub"), 0700), 0);
    folder_copy("sub/ca-1", "authority-1");
    expect(text_of(""), "it is empty");
    expect((struct text){.s = NULL}, "it is empty");
    expect(text_of("."), "'.' and '..' are reserved");
    expect(text_of(".."), "'.' and '..' are reserved");
    expect(text_of("sub/ca-1"), bad);
    expect(text_of("sub/../ca-1"), bad);
    expect(text_of(beside), bad);
    expect(text_of("ca-1\n"), bad);
    expect((struct text){.s = "ca-1\0x", .len = 6}, bad);
    expect(text_of("sub"), "it is not a regular file");
    free(beside);
}
END_TEST

#define NO_AUTHORITY "it holds no certificate of an authority; blocks left out: "

START_TEST(files_that_are_no_authorities)
{
    char *big = calloc(1, AUTHORITY_BYTES_MAX + 1);

    folder_write("empty", text_of(""));
    expect(text_of("empty"), "it holds no PEM block");
    folder_write("text", text_of("not PEM\n"));
    expect(text_of("text"), "it holds no PEM block");
    folder_copy("leaf", "leaf");
    expect(text_of("leaf"), NO_AUTHORITY "1 without CA:TRUE");
    folder_copy("key", "key");
    expect(text_of("key"), NO_AUTHORITY "1 no certificate");
    folder_copy("no-signing", "no-signing");
    expect(text_of("no-signing"), NO_AUTHORITY "1 whose keyUsage lacks keyCertSign");
    folder_write("damaged", text_of("-----BEGIN CERTIFICATE-----\nMIIB\n"));
    expect(text_of("damaged"), "one of its PEM blocks is damaged");
    folder_write("big", (struct text){.s = big, .len = AUTHORITY_BYTES_MAX + 1});
    expect(text_of("big"), "it is longer than 1 MiB");
    folder_write("big", (struct text){.s = big, .len = AUTHORITY_BYTES_MAX});
    expect(text_of("big"), "it holds no PEM block");
    ck_assert_int_eq(mkfifo(folder_path("pipe"), 0600), 0);
    expect(text_of("pipe"), "it is not a regular file");
    ck_assert_int_eq(symlink("/dev/zero", folder_path("zero")), 0);
    expect(text_of("zero"), "it is not a regular file");
    free(big);
}
END_TEST

START_TEST(links_are_followed)
{
    folder_copy("ca-1.pem", "authority-1");
    ck_assert_int_eq(symlink("ca-1.pem", folder_path("ca-1")), 0);
    expect(text_of("ca-1"), NULL);
    ck_assert_int_eq(symlink("nothing", folder_path("ca-2")), 0);
    expect(text_of("ca-2"), "No such file or directory");
    ck_assert_int_eq(symlink("ca-3", folder_path("ca-3")), 0);
    expect_result(text_of("ca-3"), "Too many levels of symbolic links", AUTHORITY_FAILED);
}
END_TEST

static bool is_same(const char *id, struct authority_stamp *before)
{
    struct authority_stamp now;
    bool same;

    authority_look(folder, text_of(id), &now);
    same = authority_stamps_equal(before, &now);
    *before = now;
    return same;
}

START_TEST(stamps_tell_versions_apart)
{
    static const struct authority_stamp none;
    struct authority_stamp seen;

    authority_look(folder, text_of("ca-1"), &seen);
    ck_assert(authority_stamps_equal(&seen, &none));
    ck_assert(is_same("ca-1", &seen));
    folder_copy("ca-1", "authority-1");
    ck_assert(!is_same("ca-1", &seen));
    ck_assert(is_same("ca-1", &seen));
    folder_copy("new", "authority-1");
    ck_assert_int_eq(rename(folder_path("new"), folder_path("ca-1")), 0);
    ck_assert(!is_same("ca-1", &seen));
    poll(NULL, 0, 20); /* before Linux 6.13, the times of files advance by up to 10 ms */
    ck_assert_int_eq(chmod(folder_path("ca-1"), 0640), 0);
    ck_assert(!is_same("ca-1", &seen));
    ck_assert_int_eq(unlink(folder_path("ca-1")), 0);
    ck_assert(!is_same("ca-1", &seen));
    ck_assert(authority_stamps_equal(&seen, &none));
    authority_look("/", text_of("etc/passwd"), &seen);
    ck_assert(authority_stamps_equal(&seen, &none));
}
END_TEST

/* Each of many files is told of, each version once. */
START_TEST(each_file_is_told_of_once)
{
    struct told told = {0};
    struct authority_stamp stamp;
    char name[16];

    for (int round = 0; round < 2; round++) {
        for (int i = 0; i < 50; i++) {
            snprintf(name, sizeof name, "ca-%d", i);
            if (round == 0)
                folder_write(name, text_of("DER"));
            authority_look(folder, text_of(name), &stamp);
            ck_assert_int_eq(told_note(&told, text_of(name), &stamp, text_of("why")), round == 0);
        }
    }
    ck_assert(told_note(&told, text_of(name), &stamp, text_of("another reason")));
    folder_copy(name, "leaf");
    authority_look(folder, text_of(name), &stamp);
    ck_assert(told_note(&told, text_of(name), &stamp, text_of("another reason")));
    told_free(&told);
}
END_TEST

Suite *gateway_authority_suite(void)
{
    Suite *suite = suite_create("gateway/authority");
    TCase *tcase = tcase_create("authority");

    tcase_add_checked_fixture(tcase, folder_make, folder_remove);
    tcase_add_test(tcase, ids_are_names_of_files);
    tcase_add_test(tcase, ids_are_no_paths);
    tcase_add_test(tcase, files_that_are_no_authorities);
    tcase_add_test(tcase, links_are_followed);
    tcase_add_test(tcase, stamps_tell_versions_apart);
    tcase_add_test(tcase, each_file_is_told_of_once);
    suite_add_tcase(suite, tcase);
    return suite;
}
