/* SPDX-License-Identifier: MIT */
/* Tests of parameters for PostgreSQL, and of values out of results that are made here by hand. */
#include <check.h>
#include <inttypes.h>
#include <libpq-fe.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/buf.h"
#include "pg/pg.h"
#include "suites.h"

/* ---- parameters ---- */

static void expect_param(const struct pg_params *params, int at, const char *value, int format)
{
    ck_assert_int_lt(at, params->n);
    ck_assert_int_eq(params->formats[at], format);
    if (!value) {
        ck_assert_ptr_null(params->values[at]);
        return;
    }
    ck_assert_ptr_nonnull(params->values[at]);
    ck_assert_int_eq(params->lengths[at], (int)strlen(value));
    ck_assert_mem_eq(params->values[at], value, strlen(value));
}

START_TEST(parameters_in_their_order)
{
    struct pg_params params = {.n = 0};

    pg_add_text(&params, text_of("a"));
    pg_add_text(&params, (struct text){0});
    pg_add_text(&params, text_of(""));
    pg_add_bytes(&params, "bytes", 5);
    pg_add_bytes(&params, NULL, 0);
    pg_add_bool(&params, true);
    pg_add_bool(&params, false);
    pg_add_int(&params, INT64_MIN);
    pg_add_int(&params, INT64_MAX);
    pg_add_int(&params, 0);
    pg_add_null(&params);
    ck_assert(!params.failed);
    ck_assert_int_eq(params.n, 11);
    expect_param(&params, 0, "a", 1);
    expect_param(&params, 1, NULL, 1);
    expect_param(&params, 2, "", 1);
    expect_param(&params, 3, "bytes", 1);
    expect_param(&params, 4, NULL, 1);
    expect_param(&params, 5, "t", 0);
    expect_param(&params, 6, "f", 0);
    expect_param(&params, 7, "-9223372036854775808", 0);
    expect_param(&params, 8, "9223372036854775807", 0);
    expect_param(&params, 9, "0", 0);
    expect_param(&params, 10, NULL, 0);
}
END_TEST

START_TEST(text_is_not_cut_at_nul)
{
    struct pg_params params = {.n = 0};

    pg_add_text(&params, (struct text){.s = "a\0b", .len = 3});
    ck_assert_int_eq(params.lengths[0], 3);
    ck_assert_int_eq(params.formats[0], 1);
}
END_TEST

START_TEST(too_many_parameters)
{
    struct pg_params params = {.n = 0};
    struct arena arena = {0};

    for (int i = 0; i < PG_MAX_PARAMS; i++)
        pg_add_int(&params, i);
    ck_assert(!params.failed);
    ck_assert_int_eq(params.n, PG_MAX_PARAMS);
    for (int i = 0; i < 6; i++) {
        params.failed = false;
        if (i == 0)
            pg_add_int(&params, 1);
        else if (i == 1)
            pg_add_text(&params, text_of("x"));
        else if (i == 2)
            pg_add_null(&params);
        else if (i == 3)
            pg_add_bool(&params, true);
        else if (i == 4)
            pg_add_time(&params, 0);
        else
            pg_add_texts(&params, (struct text_list){.given = true}, &arena);
        ck_assert(params.failed);
        ck_assert_int_eq(params.n, PG_MAX_PARAMS);
    }
    expect_param(&params, PG_MAX_PARAMS - 1, "79", 0);
    arena_free(&arena);
}
END_TEST

START_TEST(array_literals)
{
    static const struct {
        const char *entries[4];
        const char *wanted;
    } cases[] = {
        {{NULL}, "{}"},
        {{"a"}, "{\"a\"}"},
        {{"a", "b"}, "{\"a\",\"b\"}"},
        {{""}, "{\"\"}"},
        {{"", ""}, "{\"\",\"\"}"},
        {{"NULL", "null"}, "{\"NULL\",\"null\"}"},
        {{"a b", " "}, "{\"a b\",\" \"}"},
        {{"a,b", "{}", "'"}, "{\"a,b\",\"{}\",\"'\"}"},
        {{"\"", "\\"}, "{\"\\\"\",\"\\\\\"}"},
        {{"\\\"\\", "x"}, "{\"\\\\\\\"\\\\\",\"x\"}"},
        {{"\xC3\xA9\n"}, "{\"\xC3\xA9\n\"}"},
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct pg_params params = {.n = 0};
        struct arena arena = {0};
        struct text items[4];
        struct text_list list = {.items = items, .given = true};

        for (; list.n < 4 && cases[i].entries[list.n]; list.n++)
            items[list.n] = text_of(cases[i].entries[list.n]);
        pg_add_texts(&params, list, &arena);
        ck_assert(!params.failed);
        expect_param(&params, 0, cases[i].wanted, 0);
        ck_assert_str_eq(params.values[0], cases[i].wanted);
        arena_free(&arena);
    }
}
END_TEST

START_TEST(number_arrays)
{
    static const int64_t values[] = {0, -1, INT64_MAX, INT64_MIN};
    struct arena arena = {0};
    struct pg_params params = {.n = 0};

    pg_add_ints(&params, values, 4, true, &arena);
    pg_add_ints(&params, NULL, 0, true, &arena);
    pg_add_ints(&params, NULL, 0, false, &arena);
    ck_assert_int_eq(params.n, 3);
    ck_assert(!params.failed);
    ck_assert_mem_eq(params.values[0], "{0,-1,9223372036854775807,-9223372036854775808}",
                     (size_t)params.lengths[0]);
    ck_assert_mem_eq(params.values[1], "{}", 2);
    ck_assert_int_eq(params.lengths[1], 2);
    ck_assert_ptr_null(params.values[2]);
    arena_free(&arena);
}
END_TEST

START_TEST(array_not_given)
{
    struct pg_params params = {.n = 0};

    pg_add_texts(&params, (struct text_list){0}, NULL);
    ck_assert(!params.failed);
    expect_param(&params, 0, NULL, 0);
}
END_TEST

/* ---- results ---- */

/* Returns a result of one row and one column; NULL bytes are NULL.  It is freed by
 * pg_result_free(). */
static struct pg_result *make(const void *bytes, size_t len)
{
    PGresult *result = PQmakeEmptyPGresult(NULL, PGRES_TUPLES_OK);
    char name[] = "c";
    PGresAttDesc column = {.name = name, .format = 1};

    ck_assert_ptr_nonnull(result);
    ck_assert(PQsetResultAttrs(result, 1, &column));
    ck_assert(PQsetvalue(result, 0, 0, (char *)(uintptr_t)bytes, bytes ? (int)len : -1));
    return (struct pg_result *)(void *)result;
}

#define MAKE(bytes) make(bytes, sizeof(bytes) - 1)

START_TEST(numbers)
{
    static const struct {
        const char *bytes;
        size_t len;
        int64_t value;
    } cases[] = {
        {"\0\1", 2, 1},
        {"\xFF\xFF", 2, -1},
        {"\x7F\xFF", 2, 32767},
        {"\x80\0", 2, -32768},
        {"\0\0\0\1", 4, 1},
        {"\xFF\xFF\xFF\xFE", 4, -2},
        {"\0\0\0\0\xFF\xFF\xFF\xFF", 8, 4294967295},
        {"\x7F\xFF\xFF\xFF\xFF\xFF\xFF\xFF", 8, INT64_MAX},
        {"\x80\0\0\0\0\0\0\0", 8, INT64_MIN},
        {"\1", 1, 1},
        {"", 0, 0},
        {"\1\1\1\1\1\1\1\1\1", 9, 0},
        {NULL, 0, 0},
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct pg_result *result = make(cases[i].bytes, cases[i].len);

        ck_assert_msg(pg_int(result, 0, 0) == cases[i].value, "case %zu: %" PRId64, i,
                      pg_int(result, 0, 0));
        pg_result_free(result);
    }
}
END_TEST

START_TEST(flags_and_nulls)
{
    struct pg_result *yes = MAKE("\1");
    struct pg_result *no = MAKE("\0");
    struct pg_result *null = make(NULL, 0);

    ck_assert(pg_bool(yes, 0, 0) && !pg_bool(no, 0, 0) && !pg_bool(null, 0, 0));
    ck_assert(!pg_is_null(yes, 0, 0) && !pg_is_null(no, 0, 0) && pg_is_null(null, 0, 0));
    ck_assert_int_eq(pg_rows(yes), 1);
    pg_result_free(yes);
    pg_result_free(no);
    pg_result_free(null);
    pg_result_free(NULL);
}
END_TEST

START_TEST(text_and_bytes)
{
    struct pg_result *text = MAKE("a\xC3\xA9");
    struct pg_result *empty = make("", 0);
    struct pg_result *null = make(NULL, 0);

    ck_assert(text_eq(pg_text(text, 0, 0), text_of("a\xC3\xA9")));
    ck_assert_int_eq(pg_text(text, 0, 0).s[3], '\0');
    ck_assert(text_eq(pg_text(empty, 0, 0), text_of("")));
    ck_assert_ptr_null(pg_text(null, 0, 0).s);
    ck_assert_uint_eq(pg_text(null, 0, 0).len, 0);
    pg_result_free(text);
    pg_result_free(empty);
    pg_result_free(null);
}
END_TEST

/* Microseconds since 2000, as whole seconds since 1970, rounded down on either side. */
START_TEST(times)
{
    static const struct {
        const char *bytes;
        int64_t seconds;
    } cases[] = {
        {"\0\0\0\0\0\0\0\0", 946684800},
        {"\0\0\0\0\0\x0F\x42\x3F", 946684800},
        {"\0\0\0\0\0\x0F\x42\x40", 946684801},
        {"\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF", 946684799},
        {"\xFF\xFF\xFF\xFF\xFF\xF0\xBD\xC0", 946684799},
        {"\xFF\xFF\xFF\xFF\xFF\xF0\xBD\xBF", 946684798},
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct pg_result *result = make(cases[i].bytes, 8);

        ck_assert_msg(pg_time(result, 0, 0) == cases[i].seconds, "case %zu: %" PRId64, i,
                      pg_time(result, 0, 0));
        ck_assert_int_eq(pg_time_us(result, 0, 0), pg_int(result, 0, 0) + 946684800000000);
        pg_result_free(result);
    }
}
END_TEST

START_TEST(infinite_times)
{
    struct pg_result *late = make("\x7F\xFF\xFF\xFF\xFF\xFF\xFF\xFF", 8);
    struct pg_result *early = make("\x80\0\0\0\0\0\0\0", 8);

    ck_assert_int_eq(pg_time(late, 0, 0), INT64_MAX / 1000000);
    ck_assert_int_eq(pg_time_us(late, 0, 0), INT64_MAX);
    ck_assert_int_eq(pg_time(early, 0, 0), INT64_MIN / 1000000 - 1 + 946684800);
    ck_assert_int_eq(pg_time_us(early, 0, 0), INT64_MIN + 946684800000000);
    pg_result_free(late);
    pg_result_free(early);
}
END_TEST

/* As PostgreSQL sends them back. */
START_TEST(times_as_parameters)
{
    static const int64_t cases[] = {
        0, 1, -1, 946684800000000, 946684799999999, -62135596800000000, 253402300799999999};
    struct pg_params params = {.n = 0};

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct pg_result *result;

        pg_add_time(&params, cases[i]);
        ck_assert_int_eq(params.lengths[i], 8);
        ck_assert_int_eq(params.formats[i], 1);
        result = make(params.values[i], 8);
        ck_assert_int_eq(pg_time_us(result, 0, 0), cases[i]);
        pg_result_free(result);
    }
    ck_assert(!params.failed);
}
END_TEST

START_TEST(copies_outlive_the_result)
{
    struct arena arena = {0};
    struct text copy;
    struct pg_result *bytes = MAKE("a\0b");
    struct pg_result *empty = make("", 0);
    struct pg_result *null = make(NULL, 0);

    ck_assert(pg_copy(bytes, 0, 0, &arena, &copy));
    pg_result_free(bytes);
    ck_assert_uint_eq(copy.len, 3);
    ck_assert_int_eq(memcmp(copy.s, "a\0b", 4), 0);
    ck_assert(pg_copy(empty, 0, 0, &arena, &copy));
    ck_assert(copy.s && copy.len == 0);
    ck_assert(pg_copy(null, 0, 0, &arena, &copy));
    ck_assert_ptr_null(copy.s);
    pg_result_free(empty);
    pg_result_free(null);
    arena_free(&arena);
}
END_TEST

#define HEAD_OF(n) "\0\0\0\1\0\0\0\0\0\0\0\x19\0\0\0" n "\0\0\0\1"

START_TEST(arrays)
{
    struct arena arena = {0};
    struct text_list list;
    struct pg_result *two = MAKE(HEAD_OF("\2") "\0\0\0\1a\0\0\0\0");
    struct pg_result *none = MAKE("\0\0\0\0\0\0\0\0\0\0\0\x19");
    struct pg_result *null = make(NULL, 0);

    ck_assert(pg_texts(two, 0, 0, &arena, &list));
    ck_assert(list.given && list.n == 2);
    ck_assert(text_eq(list.items[0], text_of("a")) && text_eq(list.items[1], text_of("")));
    ck_assert_int_eq(list.items[0].s[1], '\0');
    ck_assert(pg_texts(none, 0, 0, &arena, &list));
    ck_assert(list.given && list.n == 0);
    ck_assert(pg_texts(null, 0, 0, &arena, &list));
    ck_assert(!list.given && list.n == 0);
    pg_result_free(two);
    pg_result_free(none);
    pg_result_free(null);
    arena_free(&arena);
}
END_TEST

/* Cut anywhere, of two dimensions, with a NULL or with lengths that lie: no array, no read past the
 * end. */
START_TEST(arrays_that_are_none)
{
    static const char whole[] = HEAD_OF("\2") "\0\0\0\1a\0\0\0\1b";
    struct arena arena = {0};
    struct text_list list;
    struct pg_result *bad[] = {
        MAKE("\0\0\0\2\0\0\0\0\0\0\0\x19\0\0\0\1\0\0\0\1\0\0\0\1\0\0\0\1\0\0\0\1a"),
        MAKE(HEAD_OF("\1") "\xFF\xFF\xFF\xFF"),
        MAKE(HEAD_OF("\1") "\0\0\0\2a"),
        MAKE(HEAD_OF("\1") "\x7F\xFF\xFF\xFF"
                           "a"),
        MAKE("\0\0\0\1\0\0\0\0\0\0\0\x19\xFF\xFF\xFF\xFF\0\0\0\1"),
        MAKE("\xFF\xFF\xFF\xFF\0\0\0\0\0\0\0\x19"),
    };

    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        ck_assert_msg(!pg_texts(bad[i], 0, 0, &arena, &list), "case %zu", i);
        pg_result_free(bad[i]);
    }
    for (size_t len = 0; len < sizeof whole; len++) {
        struct pg_result *cut = make(whole, len);

        ck_assert_msg(pg_texts(cut, 0, 0, &arena, &list) == (len == sizeof whole - 1), "%zu bytes",
                      len);
        pg_result_free(cut);
    }
    arena_free(&arena);
}
END_TEST

START_TEST(conninfos)
{
    static const struct {
        const char *conninfo;
        bool valid;
    } cases[] = {
        {"", true},
        {"dbname=adit", true},
        {"host=/run/postgresql dbname=adit", true},
        {"postgresql://db.example/adit?connect_timeout=1", true},
        {"dbname='a b'", true},
        {"host=a,/run/p@g,@adit port=5432,,1", true},
        {"host=a port=' 5432 '", true},
        {"postgresql://me:hu%40%2Fsh@[::1]:5432,b/d?host=/run/p@g", true},
        {"postgresql:///d", true},
        {"postgresql://h?host=/run/p@g", true},
        {"application_name=a://b/c@d", true},
        {"nonsense", false},
        {"dbname='unfinished", false},
        {"no_such_setting=1", false},
        {"postgresql://db.example/adit?no_such_setting=1", false},
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        ck_assert_msg(pg_conninfo_valid(cases[i].conninfo) == cases[i].valid, "%s",
                      cases[i].conninfo);
}
END_TEST

START_TEST(passwords_in_conninfos)
{
    ck_assert(!pg_conninfo_has_password("dbname=adit passfile=/nowhere"));
    ck_assert(!pg_conninfo_has_password("password=''"));
    ck_assert(pg_conninfo_has_password("password=hush"));
    ck_assert(pg_conninfo_has_password("sslpassword=hush"));
    ck_assert(pg_conninfo_has_password("postgresql://me:hush@h/d"));
    ck_assert(!pg_conninfo_has_password("nonsense"));
}
END_TEST

static void shows(const char *conninfo, const char *wanted)
{
    char *shown = pg_conninfo_without_password(conninfo);

    ck_assert_str_eq(shown, wanted);
    ck_assert(pg_conninfo_valid(shown) && !pg_conninfo_has_password(shown));
    free(shown);
}

START_TEST(conninfo_without_password)
{
    shows("", "");
    shows("dbname=adit  passfile='/a b'", "dbname=adit  passfile='/a b'");
    shows("password=hush", "postgresql://");
    shows("password=hush host=a,b port=1,2", "postgresql://?host=a,b&port=1,2");
    shows("sslpassword=hush user='a b&c'", "postgresql://?user=a%20b%26c");
    shows("postgresql://me:hush@h/d?application_name=%0A%3B",
          "postgresql://?user=me&dbname=d&host=h&application_name=%0A%3B");
}
END_TEST

/* Whatever is wrong, no part of a password is quoted. */
START_TEST(conninfo_reasons)
{
    static const struct {
        const char *conninfo;
        const char *says;
    } cases[] = {
        {"hots=/run dbname=adit", "invalid connection option \"hots\""},
        {"dbname=adit pasword=hush", "invalid connection option \"pasword\""},
        {"hots=/run password=hush", "invalid connection option \"hots\""},
        {"host=/run nonsense password=hush", "after \"nonsense\""},
        {"dbname='unfinished", "unterminated quoted string"},
        {"dbname=adit password='hush", "after it"},
        {"dbname=adit password=hush hush=1", "after it"},
        {"dbname=adit password=hush hush", "after it"},
        {"dbname=adit sslpassword=hush hush", "after it"},
        {"password=hush hush", "after it"},
        {"password = hush\thush=hush", "after it"},
        {"postgresql://me:hu%shhush@h/d", "the URI is malformed"},
        {"postgresql://me:hush@h/d?no_such=hush", "the URI is malformed"},
        {"postgresql://me:hush/d", "the port is not a number"},
        {"postgresql://me:hush", "the port is not a number"},
        {"postgresql://me:1hush/d", "the port is not a number"},
        {"postgresql://me:70000/d", "the port is not a number"},
        {"postgresql://me:5432,n:hush/d", "the port is not a number"},
        {"port=hush", "the port is not a number"},
        {"postgresql://me:a@hush@h/d", "the host holds an @"},
        {"postgresql://me:12/hush@h/d", "follows the first /"},
        {"dbname=postgresql://me:hush@h/d", "dbname holds a URI"},
        {"me:hush@h/d", "a URI begins with postgresql://"},
        {"postgresql:me:hush", "a URI begins with postgresql://"},
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char reason[160];

        ck_assert_msg(!pg_conninfo_valid(cases[i].conninfo), "%s", cases[i].conninfo);
        pg_conninfo_reason(cases[i].conninfo, reason, sizeof reason);
        ck_assert_msg(strstr(reason, cases[i].says) != NULL, "%s: %s", cases[i].conninfo, reason);
        ck_assert_msg(strstr(reason, "hush") == NULL, "%s: %s", cases[i].conninfo, reason);
    }
}
END_TEST

Suite *pg_value_suite(void)
{
    Suite *suite = suite_create("pg/value");
    TCase *params = tcase_create("parameters");
    TCase *results = tcase_create("results");

    tcase_add_test(params, parameters_in_their_order);
    tcase_add_test(params, text_is_not_cut_at_nul);
    tcase_add_test(params, too_many_parameters);
    tcase_add_test(params, array_literals);
    tcase_add_test(params, number_arrays);
    tcase_add_test(params, array_not_given);
    tcase_add_test(params, conninfos);
    tcase_add_test(params, passwords_in_conninfos);
    tcase_add_test(params, conninfo_without_password);
    tcase_add_test(params, conninfo_reasons);
    tcase_add_test(results, numbers);
    tcase_add_test(results, flags_and_nulls);
    tcase_add_test(results, text_and_bytes);
    tcase_add_test(results, times);
    tcase_add_test(results, infinite_times);
    tcase_add_test(results, times_as_parameters);
    tcase_add_test(results, copies_outlive_the_result);
    tcase_add_test(results, arrays);
    tcase_add_test(results, arrays_that_are_none);
    suite_add_tcase(suite, params);
    suite_add_tcase(suite, results);
    return suite;
}
