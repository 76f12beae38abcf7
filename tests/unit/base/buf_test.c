/* SPDX-License-Identifier: MIT */
/* Tests of the growing string. */
#include "base/buf.h"

#include <check.h>
#include <stdint.h>

#include "suites.h"

START_TEST(empty)
{
    struct buf buf = {0};

    ck_assert_str_eq(buf_text(&buf).s, "");
    ck_assert_uint_eq(buf_text(&buf).len, 0);
    buf_add(&buf, NULL, 0);
    ck_assert_str_eq(buf.data, "");
    buf_free(&buf);
    ck_assert_ptr_null(buf.data);
    buf_free(&buf);
}
END_TEST

START_TEST(grows)
{
    struct buf buf = {0};

    for (unsigned i = 0; i < 100000; i++) {
        char c = (char)(i % 251);

        buf_add(&buf, &c, 1);
        if (buf.len != i + 1 || buf.cap <= buf.len || buf.data[buf.len] != '\0')
            ck_abort_msg("at %u: %zu of %zu", i, buf.len, buf.cap);
    }
    ck_assert(!buf.failed);
    for (unsigned i = 0; i < 100000; i++) {
        if (buf.data[i] != (char)(i % 251))
            ck_abort_msg("at %u: %d", i, buf.data[i]);
    }
    buf_free(&buf);
}
END_TEST

/* A NUL follows at every length, even if the bytes fill the memory to its end. */
START_TEST(every_length)
{
    static char x[1100];

    memset(x, 'x', sizeof x);
    for (size_t len = 0; len < sizeof x; len++) {
        struct buf buf = {0};

        buf_add(&buf, x, len);
        ck_assert_uint_eq(strlen(buf.data), len);
        buf_add(&buf, x, sizeof x - len);
        ck_assert_uint_eq(buf.len, sizeof x);
        ck_assert_int_eq(buf.data[buf.len], 0);
        buf_free(&buf);
    }
}
END_TEST

START_TEST(appends)
{
    struct buf buf = {0};

    buf_puts(&buf, "a");
    buf_add(&buf, "\0b", 2);
    buf_puts(&buf, "");
    buf_printf(&buf, "%d%s%%", 42, "x");
    buf_uint(&buf, 0);
    buf_uint(&buf, UINT64_MAX);
    ck_assert_uint_eq(buf.len, 28);
    ck_assert_mem_eq(buf.data, "a\0b42x%018446744073709551615\0", 29);
    buf_free(&buf);
}
END_TEST

START_TEST(prints_what_is_long)
{
    struct buf buf = {0};

    buf_puts(&buf, "<");
    buf_printf(&buf, "%5000d", 7);
    buf_puts(&buf, ">");
    ck_assert_uint_eq(buf.len, 5002);
    ck_assert_uint_eq(strspn(buf.data + 1, " "), 4999);
    ck_assert_str_eq(buf.data + 5000, "7>");
    buf_free(&buf);
}
END_TEST

START_TEST(room_is_there)
{
    struct buf buf = {0};
    char *room;

    buf_puts(&buf, "ab");
    room = buf_room(&buf, 1000);
    ck_assert_ptr_eq(room, buf.data + 2);
    ck_assert_uint_eq(buf.len, 2);
    memset(room, 'x', 1000);
    room[1000] = '\0';
    buf.len += 1000;
    ck_assert_uint_eq(strlen(buf.data), 1002);
    buf_free(&buf);
}
END_TEST

START_TEST(clear_wipes_and_keeps_memory)
{
    struct buf buf = {0};
    char *data;

    buf_puts(&buf, "secret");
    data = buf.data;
    buf_clear(&buf);
    ck_assert_mem_eq(data, "\0\0\0\0\0\0", 6);
    ck_assert_uint_eq(buf.len, 0);
    ck_assert_str_eq(buf_text(&buf).s, "");
    buf_puts(&buf, "b");
    ck_assert_ptr_eq(buf.data, data);
    ck_assert_str_eq(buf.data, "b");
    buf_free(&buf);
}
END_TEST

START_TEST(failure_is_kept)
{
    struct buf buf = {0};

    buf_puts(&buf, "a");
    ck_assert_ptr_null(buf_room(&buf, SIZE_MAX));
    ck_assert(buf.failed);
    ck_assert_ptr_null(buf_room(&buf, 1));
    buf_puts(&buf, "b");
    buf_printf(&buf, "%d", 1);
    ck_assert(buf.failed);
    ck_assert_str_eq(buf.data, "a");
    buf_clear(&buf);
    ck_assert(!buf.failed);
    buf_puts(&buf, "c");
    ck_assert_str_eq(buf.data, "c");
    buf_free(&buf);
}
END_TEST

/* A text that printf() cannot write fails as a lack of memory does: the locale "C" does not have
 * that character. */
START_TEST(print_that_fails_is_kept)
{
    struct buf buf = {0};

    buf_printf(&buf, "%ls", L"\u20AC");
    ck_assert(buf.failed);
    ck_assert_uint_eq(buf.len, 0);
    buf_free(&buf);
}
END_TEST

START_TEST(shrinks)
{
    struct buf buf = {0};

    for (size_t most = 0; most <= 512; most += 512) {
        for (int i = 0; i < 1000; i++)
            buf_puts(&buf, "abc");
        buf_shrink(&buf, most);
        ck_assert_uint_eq(buf.len, 0);
        ck_assert_uint_le(buf.cap, most);
        buf_puts(&buf, "again");
        ck_assert_str_eq(buf.data, "again");
    }
    buf_free(&buf);
}
END_TEST

Suite *buf_suite(void)
{
    Suite *suite = suite_create("base/buf");
    TCase *tests = tcase_create("buf");

    tcase_add_test(tests, empty);
    tcase_add_test(tests, grows);
    tcase_add_test(tests, every_length);
    tcase_add_test(tests, appends);
    tcase_add_test(tests, prints_what_is_long);
    tcase_add_test(tests, room_is_there);
    tcase_add_test(tests, clear_wipes_and_keeps_memory);
    tcase_add_test(tests, shrinks);
    tcase_add_test(tests, failure_is_kept);
    tcase_add_test(tests, print_that_fails_is_kept);
    suite_add_tcase(suite, tests);
    return suite;
}
