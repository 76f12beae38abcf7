/* SPDX-License-Identifier: MIT */
/* Tests of FastCGI's records: limits and lengths.  The fuzz target tests their shapes. */
#include "serve/record.h"

#include <check.h>
#include <string.h>

#include "serve/request.h"
#include "suites.h"

static struct serve_intake intake;
static struct buf wire;

static void clear(void)
{
    serve_intake_clear(&intake);
    buf_free(&wire);
}

/* The begin of request 1, to a responder. */
static void add_begin(void)
{
    static const char begin[SERVE_RECORD_BEGIN_SIZE] = {1, SERVE_RECORD_BEGIN, 0, 1, 0, 8, 0, 0, 0,
                                                        1};

    buf_add(&wire, begin, sizeof begin);
}

static void add_stream(enum serve_record_type type, struct buf *content)
{
    struct buf records = {0};

    serve_record_begin(&records);
    buf_add(&records, content->data, content->len);
    serve_record_frame(&records, type, 1);
    buf_add(&wire, records.data, records.len);
    buf_free(&records);
    buf_free(content);
}

static void add_bytes(enum serve_record_type type, const char *bytes, size_t len)
{
    struct buf content = {0};

    buf_add(&content, bytes, len);
    add_stream(type, &content);
}

static void add_body(size_t len)
{
    struct buf content = {0};

    memset(buf_room(&content, len), 'x', len);
    content.len = len;
    add_stream(SERVE_RECORD_STDIN, &content);
}

static enum serve_progress take(void)
{
    size_t used;
    enum serve_progress progress = serve_intake_take(&intake, wire.data, wire.len, &used);

    ck_assert(progress == SERVE_BROKEN || intake.is_too_much || used == wire.len);
    return progress;
}

static enum serve_progress take_body(size_t len)
{
    clear();
    add_begin();
    add_bytes(SERVE_RECORD_PARAMS, "\1\1Aa", 4);
    add_body(len);
    return take();
}

START_TEST(bodies)
{
    ck_assert(take_body(0) == SERVE_WHOLE && intake.body.len == 0);
    ck_assert(take_body(1) == SERVE_WHOLE && intake.body.len == 1);
    ck_assert(take_body(REQUEST_BODY_MAX) == SERVE_WHOLE);
    ck_assert_uint_eq(intake.body.len, REQUEST_BODY_MAX);
    ck_assert(take_body(REQUEST_BODY_MAX + 1) == SERVE_WHOLE);
    ck_assert_uint_eq(intake.body.len, REQUEST_BODY_MAX + 1);
    /* The rest is dropped; past SERVE_RECORD_DRAIN_MAX, it is not read. */
    ck_assert(take_body(REQUEST_BODY_MAX + 1 + SERVE_RECORD_DRAIN_MAX) == SERVE_WHOLE);
    ck_assert_uint_eq(intake.body.len, REQUEST_BODY_MAX + 1);
    ck_assert(!intake.is_too_much);
    ck_assert(take_body(REQUEST_BODY_MAX + 1 + SERVE_RECORD_DRAIN_MAX + 1) == SERVE_WHOLE);
    ck_assert(intake.is_too_much);
    clear();
}
END_TEST

/* One variable of that many bytes, its lengths included. */
static enum serve_progress take_params(size_t len)
{
    struct buf content = {0};
    size_t value = len - 6;
    const char lengths[] = {1,
                            (char)(0x80 | value >> 24),
                            (char)(value >> 16 & 0xFF),
                            (char)(value >> 8 & 0xFF),
                            (char)(value & 0xFF),
                            'A'};

    clear();
    add_begin();
    buf_add(&content, lengths, sizeof lengths);
    memset(buf_room(&content, value), 'x', value);
    content.len += value;
    add_stream(SERVE_RECORD_PARAMS, &content);
    add_body(2);
    return take();
}

START_TEST(variables)
{
    static const size_t lens[] = {200, 65527, 65528, 65529, 131056, SERVE_PARAMS_MAX};

    for (size_t i = 0; i < sizeof lens / sizeof lens[0]; i++) {
        ck_assert(take_params(lens[i]) == SERVE_WHOLE);
        ck_assert_uint_eq(intake.params.len, lens[i]);
        ck_assert_uint_eq(intake.body.len, 2);
    }
    ck_assert(take_params(SERVE_PARAMS_MAX + 1) == SERVE_BROKEN);
    ck_assert_str_eq(intake.cause, "there are too many variables");
    clear();
}
END_TEST

static void expect_broken(const char *params, size_t len, const char *cause)
{
    clear();
    add_begin();
    add_bytes(SERVE_RECORD_PARAMS, params, len);
    add_body(0);
    ck_assert(take() == SERVE_BROKEN);
    ck_assert_str_eq(intake.cause, cause);
    clear();
}

START_TEST(wrong_variables)
{
    static const char wrong[] = "a variable's length is wrong";

    expect_broken("\1", 1, wrong);
    expect_broken("\1\1", 2, wrong);
    expect_broken("\1\1A", 3, wrong);
    expect_broken("\1\2Aa", 4, wrong);
    expect_broken("\x80", 1, wrong);
    expect_broken("\x80\0\0\5\1A", 6, wrong);
    expect_broken("\xff\xff\xff\xff\xff\xff\xff\xff"
                  "ab",
                  10, wrong);
    expect_broken("\1\1Aa\1", 5, wrong);
    expect_broken("\1\3Aa\0b", 6, "a variable holds a NUL");
    expect_broken("\1\1\0a", 4, "a variable holds a NUL");
}
END_TEST

#define BEGIN "\1\1\0\1\0\10\0\0\0\1\0\0\0\0\0\0"

START_TEST(wrong_records)
{
    static const struct {
        const char *bytes;
        size_t len;
        const char *cause;
    } cases[] = {
        {"\2\1\0\1\0\10\0\0", 8, "FastCGI"},
        {"\1\4\0\1\0\10\0\0", 8, "out of place"}, /* variables before the begin */
        {"\1\1\0\0\0\10\0\0", 8, "out of place"}, /* the number 0 is for management */
        {"\1\1\0\1\0\7\0\0", 8, "out of place"},  /* a begin has eight bytes */
        {"\1\1\0\1\0\10\0\0\0\3\0\0\0\0\0\0", 16, "role"},
        {BEGIN "\1\2\0\1\0\0\0\0", 24, "aborted"},
        {BEGIN "\1\4\0\2\0\0\0\0", 24, "second request"},
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        clear();
        buf_add(&wire, cases[i].bytes, cases[i].len);
        ck_assert_int_eq(take(), SERVE_BROKEN);
        ck_assert_msg(strstr(intake.cause, cases[i].cause), "%s: %s", cases[i].cause, intake.cause);
    }
    clear();
}
END_TEST

/* An authorizer's request is whole at the end of its variables, which are checked as others. */
START_TEST(authorizers)
{
    static const char begin[] = "\1\1\0\1\0\10\0\0\0\2\0\0\0\0\0\0";
    size_t used;
    size_t len;

    clear();
    buf_add(&wire, begin, sizeof begin - 1);
    add_bytes(SERVE_RECORD_PARAMS, "\1\1Aa", 4);
    len = wire.len;
    ck_assert_int_eq(serve_intake_take(&intake, wire.data, len - 1, &used), SERVE_PART);
    ck_assert(used == len - 1 && intake.is_authorizer);
    add_body(0);
    ck_assert_int_eq(serve_intake_take(&intake, wire.data + used, wire.len - used, &used),
                     SERVE_WHOLE);
    ck_assert_uint_eq(used, 1);
    ck_assert(intake.params.len == 4 && intake.body.len == 0 && !intake.keep);
    clear();
    ck_assert(!intake.is_authorizer);
    buf_add(&wire, begin, sizeof begin - 1);
    add_bytes(SERVE_RECORD_PARAMS, "\1\1A", 3);
    ck_assert_int_eq(take(), SERVE_BROKEN);
    ck_assert_ptr_nonnull(strstr(intake.cause, "length"));
    clear();
}
END_TEST

/* Padding is passed over. */
START_TEST(padded_records)
{
    static const char rest[] = "\1\4\0\1\0\4\3\0\1\1Aaxxx\1\4\0\1\0\0\2\0xx\1\5\0\1\0\0\0\0";

    clear();
    buf_add(&wire, BEGIN, sizeof BEGIN - 1);
    buf_add(&wire, rest, sizeof rest - 1);
    ck_assert_msg(take() == SERVE_WHOLE, "%s", intake.cause);
    ck_assert_uint_eq(intake.params.len, 4);
    clear();
}
END_TEST

START_TEST(frames)
{
    static const size_t lens[] = {0, 1, 65528, 65529, 3 * 65528, 3 * 65528 + 1};
    unsigned char end[SERVE_RECORD_END_SIZE];

    for (size_t i = 0; i < sizeof lens / sizeof lens[0]; i++) {
        size_t n = (lens[i] + 65527) / 65528;
        const unsigned char *last;

        serve_record_begin(&wire);
        for (size_t at = 0; at < lens[i]; at++)
            buf_add(&wire, at % 65528 == 0 ? "<" : "x", 1);
        serve_record_frame(&wire, SERVE_RECORD_STDOUT, 0x0102);
        for (size_t at = 0; at < n; at++)
            ck_assert_int_eq(wire.data[at * 65536 + SERVE_RECORD_HEADER_SIZE], '<');
        ck_assert_uint_eq(wire.len, lens[i] + (n + 1) * SERVE_RECORD_HEADER_SIZE);
        last = (const unsigned char *)wire.data + wire.len - SERVE_RECORD_HEADER_SIZE;
        ck_assert_mem_eq(last, "\1\6\1\2\0\0\0\0", SERVE_RECORD_HEADER_SIZE);
        buf_free(&wire);
    }
    serve_record_end(end, 0x0102);
    ck_assert_mem_eq(end, "\1\3\1\2\0\10\0\0\0\0\0\0\0\0\0\0", SERVE_RECORD_END_SIZE);
}
END_TEST

static void note_variable(void *context, struct text name, const char *value)
{
    const char **values = context;

    ck_assert_uint_eq(name.len, 1);
    ck_assert(name.s[0] >= 'A' && name.s[0] <= 'E');
    values[name.s[0] - 'A'] = value;
}

START_TEST(variables_are_seen)
{
    const char *values[5] = {NULL};
    char long_value[201] = {0};

    memset(long_value, 'x', sizeof long_value - 1);
    clear();
    add_begin();
    {
        struct buf content = {0};

        buf_add(&content, "\1\1Aa\1\0B\1\3Cccc", 13);
        buf_add(&content,
                "\1\x80\0\0\xC8"
                "D",
                6);
        buf_puts(&content, long_value);
        buf_add(&content, "\1\1Ee", 4);
        add_stream(SERVE_RECORD_PARAMS, &content);
    }
    add_body(0);
    ck_assert_int_eq(take(), SERVE_WHOLE);
    serve_intake_see(&intake, note_variable, values);
    ck_assert_str_eq(values[0], "a");
    ck_assert_str_eq(values[1], "");
    ck_assert_str_eq(values[2], "ccc");
    ck_assert_str_eq(values[3], long_value);
    ck_assert_str_eq(values[4], "e");
}
END_TEST

/* A request from another worker has the same variables, and is checked again. */
START_TEST(requests_are_refilled)
{
    static const char params[] = "\3\3ONEaaa\3\0TWO\3\2ONEbb";
    struct text given = {params, sizeof params - 1};
    struct text found;

    ck_assert_int_eq(serve_intake_refill(&intake, 7, true, given, text_of("body")), SERVE_WHOLE);
    ck_assert(intake.id == 7 && intake.keep && serve_intake_begun(&intake));
    ck_assert_str_eq(intake.body.data, "body");
    found = serve_intake_find(&intake, "ONE");
    ck_assert(found.len == 2 && memcmp(found.s, "bb", 2) == 0);
    found = serve_intake_find(&intake, "TWO");
    ck_assert(found.s && found.len == 0);
    ck_assert_ptr_null(serve_intake_find(&intake, "THREE").s);
    serve_intake_clear(&intake);
    given.len--;
    ck_assert_int_eq(serve_intake_refill(&intake, 7, true, given, text_of("")), SERVE_BROKEN);
    ck_assert_ptr_nonnull(intake.cause);
}
END_TEST

Suite *serve_record_suite(void)
{
    Suite *suite = suite_create("serve/record");
    TCase *tcase = tcase_create("records");

    tcase_set_timeout(tcase, 60);
    tcase_add_test(tcase, bodies);
    tcase_add_test(tcase, variables);
    tcase_add_test(tcase, wrong_variables);
    tcase_add_test(tcase, wrong_records);
    tcase_add_test(tcase, authorizers);
    tcase_add_test(tcase, padded_records);
    tcase_add_test(tcase, frames);
    tcase_add_test(tcase, variables_are_seen);
    tcase_add_test(tcase, requests_are_refilled);
    suite_add_tcase(suite, tcase);
    return suite;
}
