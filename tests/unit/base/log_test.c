/* SPDX-License-Identifier: MIT */
/* Tests of the log.  They read its lines back from stderr. */
#include "base/log.h"

#include <check.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "json/check.h"
#include "suites.h"

static const struct log log_all = {.level = LOG_LEVEL_DEBUG, .target = LOG_TARGET_STDERR};

/* The last line of the log.  One read() of the pipe gives one write(), since nobody else writes. */
static char written[8192];
static size_t written_len;
static int pipe_ends[2];

static void open_pipe(void)
{
    ck_assert_int_eq(pipe2(pipe_ends, O_NONBLOCK), 0);
    ck_assert_int_ge(dup2(pipe_ends[1], STDERR_FILENO), 0);
}

static void read_written(void)
{
    ssize_t n = read(pipe_ends[0], written, sizeof written - 1);

    written_len = n > 0 ? (size_t)n : 0;
    written[written_len] = '\0';
}

/* Expects one line of printable ASCII with one JSON object, short enough for one write(). */
static void expect_one_line(void)
{
    struct error err;

    read_written();
    ck_assert_uint_gt(written_len, 2);
    ck_assert_uint_le(written_len, 4096);
    ck_assert_int_eq(written[written_len - 1], '\n');
    for (size_t i = 0; i < written_len - 1; i++) {
        if (written[i] < 0x20 || written[i] >= 0x7F)
            ck_abort_msg("byte %d at %zu", written[i], i);
    }
    ck_assert_msg(json_check(written, written_len, &err), "%s: %s", err.msg, written);
}

/* Logs n events at once.  Returns how many of them are written. */
static int write_often_of(const struct log *log, int n, const struct log_source *source)
{
    int n_lines = 0;

    for (int i = 0; i < n; i++) {
        log_often(log, LOG_LEVEL_ERROR, "event", source, NULL);
        read_written();
        n_lines += written_len > 0;
    }
    return n_lines;
}

static int write_often(const struct log *log, int n)
{
    return write_often_of(log, n, NULL);
}

static void write_value(const char *value)
{
    log_event(&log_all, LOG_LEVEL_INFO, "event",
              (struct log_pair[]){{"a", value}, {"b", "c"}, {0}});
}

START_TEST(members_of_a_line)
{
    open_pipe();
    log_event(&log_all, LOG_LEVEL_WARNING, "started",
              (struct log_pair[]){{"a", "1"}, {"empty", ""}, {"null", NULL}, {"b", "x y"}, {0}});
    expect_one_line();
    ck_assert_msg(strncmp(written, "{\"time\":\"2", 10) == 0, "%s", written);
    ck_assert_msg(strstr(written, "Z\",\"level\":\"warning\",\"event\":\"started\",\"a\":\"1\","
                                  "\"b\":\"x y\"}\n") != NULL,
                  "%s", written);
}
END_TEST

START_TEST(often)
{
    struct log_limit limit = {0};
    struct log log = {.level = LOG_LEVEL_INFO, .target = LOG_TARGET_STDERR, .limit = &limit};

    open_pipe();
    ck_assert_int_eq(write_often(&log, 1000), LOG_BURST);
    ck_assert_uint_eq(limit.kinds[0].n_left_out, 1000 - LOG_BURST);
    limit.kinds[0].shared.since_ms = clock_steady_ms() - 1000;
    log_often(&log, LOG_LEVEL_ERROR, "event", NULL, (struct log_pair[]){{"a", "b"}, {0}});
    expect_one_line();
    ck_assert_ptr_nonnull(strstr(written, ",\"left_out\":\"990\",\"a\":\"b\"}"));
    ck_assert_int_eq(write_often(&log, 100), 0);
    limit.kinds[0].shared.since_ms = clock_steady_ms() - 3000;
    ck_assert_int_eq(write_often(&log, 100), 3);
    limit.kinds[0].shared.since_ms = clock_steady_ms() - 3600 * 1000;
    ck_assert_int_eq(write_often(&log, 100), LOG_BURST);
    log.level = LOG_LEVEL_DEBUG;
    ck_assert_int_eq(write_often(&log, 100), 100);
    log.limit = NULL;
    log.level = LOG_LEVEL_INFO;
    ck_assert_int_eq(write_often(&log, 100), 100);
}
END_TEST

/* Many lines of one event suppress none of another, and none at another level. */
START_TEST(often_of_several_events)
{
    struct log_limit limit = {0};
    struct log log = {.level = LOG_LEVEL_INFO, .target = LOG_TARGET_STDERR, .limit = &limit};

    open_pipe();
    for (int i = 0; i < 100; i++) {
        log_often(&log, LOG_LEVEL_WARNING, "event", NULL, NULL);
        log_often(&log, LOG_LEVEL_ERROR, "other event", NULL, NULL);
    }
    read_written();
    ck_assert_int_eq(write_often(&log, 1), 1);
    ck_assert_uint_eq(limit.kinds[0].n_left_out, 100 - LOG_BURST);
    ck_assert_uint_eq(limit.kinds[1].n_left_out, 100 - LOG_BURST);
    ck_assert_uint_eq(limit.kinds[2].n_left_out, 0);
}
END_TEST

/* No process has so many.  What is beyond has a limit nevertheless. */
START_TEST(often_of_too_many_events)
{
    static char events[LOG_KINDS_MAX + 10][16];
    struct log_limit limit = {0};
    struct log log = {.level = LOG_LEVEL_INFO, .target = LOG_TARGET_STDERR, .limit = &limit};

    open_pipe();
    for (int i = 0; i < LOG_KINDS_MAX + 10; i++) {
        snprintf(events[i], sizeof events[i], "event %d", i);
        for (int again = 0; again < LOG_BURST; again++)
            log_often(&log, LOG_LEVEL_ERROR, events[i], NULL, NULL);
    }
    read_written();
    ck_assert_uint_eq(limit.kinds[LOG_KINDS_MAX - 1].n_left_out, 10 * LOG_BURST);
}
END_TEST

/* ---- sources ---- */

static struct log_limit source_limit;
static const struct log source_log = {
    .level = LOG_LEVEL_INFO, .target = LOG_TARGET_STDERR, .limit = &source_limit};

static struct log_source numbered(enum log_party party, int number)
{
    char name[16];

    snprintf(name, sizeof name, "%d", number);
    return log_source_of(party, text_of(name));
}

/* So many sources of a party write n lines each. */
static int write_from(enum log_party party, int n_sources, int n)
{
    int n_lines = 0;

    for (int i = 0; i < n_sources; i++) {
        const struct log_source source = numbered(party, i);

        n_lines += write_often_of(&source_log, n, &source);
    }
    return n_lines;
}

static int write_of_another(enum log_party party)
{
    const struct log_source another = numbered(party, 1000000);

    return write_often_of(&source_log, LOG_BURST, &another);
}

/* Whoever provokes many lines hides none of another source. */
START_TEST(often_of_several_sources)
{
    open_pipe();
    for (enum log_party party = LOG_PARTY_PLACE; party < LOG_N_PARTIES; party++) {
        source_limit = (struct log_limit){0};
        ck_assert_int_eq(write_from(party, 1, 1000), LOG_BURST);
        ck_assert_int_eq(write_of_another(party), LOG_BURST);
        ck_assert_int_eq(write_from(party, 1, 10), 0);
    }
}
END_TEST

/* However many a party has, it takes no room of another. */
START_TEST(sources_of_a_party_beyond_its_room)
{
    open_pipe();
    for (enum log_party party = LOG_PARTY_PLACE; party < LOG_N_PARTIES; party++) {
        int n = party == LOG_PARTY_STRANGER ? LOG_STRANGERS_MAX : LOG_SOURCES_MAX;

        source_limit = (struct log_limit){0};
        ck_assert_int_eq(write_from(party, n + 20, LOG_BURST) / LOG_BURST, n + 1);
        ck_assert_int_eq(write_of_another(party), 0);
        for (enum log_party other = LOG_PARTY_PLACE; other < LOG_N_PARTIES; other++)
            ck_assert_int_eq(write_of_another(other), other == party ? 0 : LOG_BURST);
        ck_assert_int_eq(write_often(&source_log, LOG_BURST), LOG_BURST);
    }
}
END_TEST

static void let_leak(int64_t ms)
{
    for (int i = 0; i < LOG_SOURCES_MAX; i++)
        source_limit.of[LOG_PARTY_KNOWN][i].since_ms -= ms;
}

/* A bucket that has leaked is another's.  Until then its source keeps it. */
START_TEST(room_of_sources_comes_back)
{
    open_pipe();
    source_limit = (struct log_limit){0};
    ck_assert_int_eq(write_from(LOG_PARTY_KNOWN, LOG_SOURCES_MAX, 10), LOG_SOURCES_MAX * 10);
    source_limit.kinds[0].shared =
        (struct log_bucket){.since_ms = clock_steady_ms() + 60000, .n_written = LOG_BURST};
    let_leak((LOG_BURST - 1) * 1000);
    ck_assert_int_eq(write_of_another(LOG_PARTY_KNOWN), 0);
    ck_assert_int_eq(write_from(LOG_PARTY_KNOWN, 1, 100), LOG_BURST - 1);
    let_leak(LOG_BURST * 1000);
    ck_assert_int_eq(write_of_another(LOG_PARTY_KNOWN), LOG_BURST);
}
END_TEST

/* No missing line is forgotten when its source's bucket becomes another's. */
START_TEST(lines_left_out_of_all_sources)
{
    const struct log_source next = numbered(LOG_PARTY_KNOWN, LOG_SOURCES_MAX);

    open_pipe();
    source_limit = (struct log_limit){0};
    write_from(LOG_PARTY_KNOWN, 2, LOG_BURST + 20);
    write_from(LOG_PARTY_STRANGER, 1, LOG_BURST + 3);
    log_often(&source_log, LOG_LEVEL_ERROR, "event", &next, NULL);
    expect_one_line();
    /* The second source's first line told of the first one's. */
    ck_assert_msg(strstr(written, ",\"left_out\":\"20\"") != NULL, "%s", written);
    ck_assert_int_eq(write_of_another(LOG_PARTY_STRANGER), LOG_BURST);
}
END_TEST

START_TEST(names_of_sources)
{
    struct log_source a = log_source_of(LOG_PARTY_PLACE, text_of("ab"));
    struct log_source b = log_source_of(LOG_PARTY_PLACE, text_of("a"));

    log_source_add(&a, text_of("c"));
    log_source_add(&b, text_of("bc"));
    ck_assert(a.id != b.id);
    log_source_add(&a, text_of(NULL));
    log_source_add(&b, text_of(""));
    ck_assert(a.id != b.id);
}
END_TEST

static bool is_one_stranger(const char *a, const char *b)
{
    return log_stranger(a).id == log_stranger(b).id;
}

START_TEST(addresses_of_strangers)
{
    ck_assert(log_stranger("192.0.2.1").party == LOG_PARTY_STRANGER);
    ck_assert(is_one_stranger("192.0.2.1", "::ffff:192.0.2.1"));
    ck_assert(!is_one_stranger("192.0.2.1", "192.0.2.2"));
    ck_assert(is_one_stranger("2001:db8:1:2::3", "2001:db8:1:fffe::1"));
    ck_assert(!is_one_stranger("2001:db8:1:2::3", "2001:db8:2:2::3"));
    ck_assert(is_one_stranger(NULL, "unknown"));
    ck_assert(!is_one_stranger(NULL, "0.0.0.0"));
}
END_TEST

START_TEST(line_without_pairs)
{
    open_pipe();
    log_event(&log_all, LOG_LEVEL_ERROR, "failed", NULL);
    expect_one_line();
    ck_assert_msg(strstr(written, "\"level\":\"error\",\"event\":\"failed\"}\n") != NULL, "%s",
                  written);
}
END_TEST

/* No value can begin a line or end its string. */
START_TEST(values_forge_nothing)
{
    static const char *const values[][2] = {
        {"a\nb", "a\\u000ab"},
        {"a\r\nb", "a\\u000d\\u000ab"},
        {"a\tb", "a\\u0009b"},
        {"\x1B[2J", "\\u001b[2J"},
        {"\x7F", "\\u007f"},
        {"\"}\n{\"x\":\"", "\\\"}\\u000a{\\\"x\\\":\\\""},
        {"a\\", "a\\\\"},
        {"\\\"", "\\\\\\\""},
        {"\xE2\x80\xA8", "\\u00e2\\u0080\\u00a8"},
        {"\xC2\x85", "\\u00c2\\u0085"},
        {"\xFF\x80", "\\u00ff\\u0080"},
        {"%s%n", "%s%n"},
    };

    open_pipe();
    for (size_t i = 0; i < sizeof values / sizeof values[0]; i++) {
        char wanted[200];

        snprintf(wanted, sizeof wanted, ",\"a\":\"%s\",\"b\":\"c\"}\n", values[i][1]);
        write_value(values[i][0]);
        expect_one_line();
        ck_assert_msg(strstr(written, wanted) != NULL, "%s has not %s", written, wanted);
    }
}
END_TEST

START_TEST(event_is_escaped_too)
{
    open_pipe();
    log_event(&log_all, LOG_LEVEL_INFO, "a\n\"b", NULL);
    expect_one_line();
    ck_assert(strstr(written, "\"event\":\"a\\u000a\\\"b\"}\n") != NULL);
}
END_TEST

START_TEST(every_byte)
{
    open_pipe();
    for (int c = 1; c < 256; c++) {
        char value[] = {'x', (char)c, 'y', '\0'};

        write_value(value);
        expect_one_line();
    }
}
END_TEST

/* Values of all lengths around the room of a line, with more pairs after them. */
static void write_long_values(char byte, size_t escaped_len)
{
    static char value[4301];

    for (size_t len = 3900 / escaped_len; len <= 4300 / escaped_len; len++) {
        memset(value, byte, len);
        value[len] = '\0';
        log_event(&log_all, LOG_LEVEL_INFO, "event",
                  (struct log_pair[]){{"a", value}, {"b", value}, {"c", "d"}, {"e", "f"}, {0}});
        expect_one_line();
        ck_assert(strstr(written, "\"event\":\"event\",\"a\":\"") != NULL);
    }
}

START_TEST(values_that_are_too_long)
{
    open_pipe();
    write_long_values('x', 1);
    write_long_values('"', 2);
    write_long_values('\n', 6);
}
END_TEST

/* A cut value fills the line. */
START_TEST(cut_value_uses_the_line)
{
    static char value[9001];

    open_pipe();
    memset(value, 'x', sizeof value - 1);
    write_value(value);
    expect_one_line();
    ck_assert_uint_eq(written_len, 4096);
}
END_TEST

START_TEST(many_pairs)
{
    struct log_pair pairs[1001] = {{0}};

    open_pipe();
    for (int i = 0; i < 1000; i++)
        pairs[i] = (struct log_pair){"name", "value"};
    log_event(&log_all, LOG_LEVEL_INFO, "event", pairs);
    read_written();
    ck_assert_uint_le(written_len, 4096);
    ck_assert_uint_gt(written_len, 4000);
    ck_assert_str_eq(written + written_len - 3, "\"}\n");
}
END_TEST

START_TEST(levels_in_order)
{
    static const enum log_level levels[] = {LOG_LEVEL_ERROR, LOG_LEVEL_WARNING, LOG_LEVEL_INFO,
                                            LOG_LEVEL_DEBUG};

    open_pipe();
    for (size_t i = 0; i < 4; i++) {
        struct log log = {.level = levels[i], .target = LOG_TARGET_STDERR};

        for (size_t j = 0; j < 4; j++) {
            ck_assert(log_wants(&log, levels[j]) == (j <= i));
            log_event(&log, levels[j], "event", NULL);
            read_written();
            ck_assert((written_len > 0) == (j <= i));
        }
    }
}
END_TEST

/* stderr may be closed if the service runs in the foreground. */
START_TEST(nowhere_to_write)
{
    close(STDERR_FILENO);
    write_value("x");
}
END_TEST

Suite *log_suite(void)
{
    Suite *suite = suite_create("base/log");
    TCase *tests = tcase_create("log");

    tcase_set_timeout(tests, 30);
    tcase_add_test(tests, members_of_a_line);
    tcase_add_test(tests, often);
    tcase_add_test(tests, often_of_several_events);
    tcase_add_test(tests, often_of_too_many_events);
    tcase_add_test(tests, often_of_several_sources);
    tcase_add_test(tests, sources_of_a_party_beyond_its_room);
    tcase_add_test(tests, room_of_sources_comes_back);
    tcase_add_test(tests, lines_left_out_of_all_sources);
    tcase_add_test(tests, names_of_sources);
    tcase_add_test(tests, addresses_of_strangers);
    tcase_add_test(tests, line_without_pairs);
    tcase_add_test(tests, values_forge_nothing);
    tcase_add_test(tests, event_is_escaped_too);
    tcase_add_test(tests, every_byte);
    tcase_add_test(tests, values_that_are_too_long);
    tcase_add_test(tests, cut_value_uses_the_line);
    tcase_add_test(tests, many_pairs);
    tcase_add_test(tests, levels_in_order);
    tcase_add_test(tests, nowhere_to_write);
    suite_add_tcase(suite, tests);
    return suite;
}
