/* SPDX-License-Identifier: MIT */
/* Tests of the watch on HAProxy's process, with a server in its place. */
#include "gateway/haproxy_watch.h"

#include <check.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "folder.h"
#include "suites.h"

static const char path_name[] = "haproxy.sock";
static int listener;

static void setup(void)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};

    folder_make();
    snprintf(address.sun_path, sizeof address.sun_path, "%s", folder_path(path_name));
    listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    ck_assert_int_ge(listener, 0);
    ck_assert_int_eq(bind(listener, (const struct sockaddr *)&address, sizeof address), 0);
    ck_assert_int_eq(listen(listener, 4), 0);
}

static void teardown(void)
{
    close(listener);
    folder_remove();
}

/* Returns a watch on the server, which has asked its first question at that time. */
static struct haproxy_watch make_watch(int64_t now_ms)
{
    static char path[128];
    struct haproxy_watch watch = {.path = path};

    snprintf(path, sizeof path, "%s", folder_path(path_name));
    haproxy_watch_init(&watch);
    ck_assert(!haproxy_watch_tick(&watch, now_ms));
    return watch;
}

/* Answers a question with the text.  Returns what the watch makes of it. */
static bool answer(struct haproxy_watch *watch, const char *text, int64_t now_ms)
{
    char question[64] = "";
    int fd = accept(listener, NULL, NULL);
    size_t half = strlen(text) / 2;

    ck_assert_int_ge(fd, 0);
    ck_assert_int_gt(read(fd, question, sizeof question - 1), 0);
    ck_assert_str_eq(question, "show info\n");
    ck_assert(!haproxy_watch_tick(watch, now_ms));
    ck_assert_int_eq(write(fd, text, half), (ssize_t)half);
    ck_assert(!haproxy_watch_tick(watch, now_ms));
    ck_assert_int_eq(write(fd, text + half, strlen(text) - half), (ssize_t)(strlen(text) - half));
    close(fd);
    return haproxy_watch_tick(watch, now_ms);
}

START_TEST(a_new_process_is_noticed)
{
    struct haproxy_watch watch = make_watch(1000000);

    ck_assert_int_lt(haproxy_watch_next(&watch, 1000000), 1000100);
    ck_assert(answer(&watch, "Name: HAProxy\nPid: 70\nUptime: 0d\nUptime_sec: 100\n\n", 1000010));
    ck_assert_int_eq((int)watch.pid, 70);
    /* 5 s earlier: it tells whole seconds. */
    ck_assert_int_eq(watch.begun_ms, 1000010 - 100000 - 5000);
    ck_assert_int_eq(haproxy_watch_next(&watch, 1000010), 1001010);
    ck_assert(!haproxy_watch_tick(&watch, 1001009));

    ck_assert(!haproxy_watch_tick(&watch, 1001010));
    ck_assert(!answer(&watch, "Name: HAProxy\nPid: 70\nUptime_sec: 101\n\n", 1001020));
    ck_assert(!haproxy_watch_tick(&watch, 1002020));
    ck_assert(answer(&watch, "Name: HAProxy\nPid: 71\nUptime_sec: 0\n\n", 1002030));
    ck_assert_int_eq(watch.begun_ms, 1002030 - 5000);
    haproxy_watch_free(&watch);
}
END_TEST

START_TEST(an_answer_without_a_process_says_nothing)
{
    static const char *const texts[] = {"",
                                        "\n",
                                        "Unknown command\n",
                                        "Name: x\nPid: \n",
                                        "Name: x\nPid: 99999999999999999999\n",
                                        "Old_Pid: 7\n"};
    int64_t now_ms = 1000000;
    struct haproxy_watch watch = make_watch(now_ms);

    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        ck_assert_msg(!answer(&watch, texts[i], now_ms), "%s", texts[i]);
        now_ms += 1000;
        ck_assert(!haproxy_watch_tick(&watch, now_ms));
    }
    ck_assert(answer(&watch, "Name: x\nPid: 7\n", now_ms));
    haproxy_watch_free(&watch);
}
END_TEST

/* The watch never waits, gives the question up, and asks again. */
START_TEST(a_silent_server)
{
    struct haproxy_watch watch = make_watch(1000000);

    ck_assert(!haproxy_watch_tick(&watch, 1001999));
    ck_assert_int_ge(watch.fd, 0);
    ck_assert(!haproxy_watch_tick(&watch, 1002000));
    ck_assert_int_lt(watch.fd, 0);
    close(accept(listener, NULL, NULL));
    ck_assert(!haproxy_watch_tick(&watch, haproxy_watch_next(&watch, 1002000)));
    ck_assert(answer(&watch, "Name: x\nPid: 7\n", 1003010));
    haproxy_watch_free(&watch);
}
END_TEST

START_TEST(no_server)
{
    struct haproxy_watch watch;

    ck_assert_int_eq(unlink(folder_path(path_name)), 0);
    watch = make_watch(1000000);
    ck_assert_int_lt(watch.fd, 0);
    ck_assert_int_eq(haproxy_watch_next(&watch, 1000000), 1001000);
    haproxy_watch_free(&watch);
}
END_TEST

Suite *gateway_haproxy_watch_suite(void)
{
    Suite *suite = suite_create("gateway/haproxy_watch");
    TCase *tcase = tcase_create("watch");

    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_add_test(tcase, a_new_process_is_noticed);
    tcase_add_test(tcase, an_answer_without_a_process_says_nothing);
    tcase_add_test(tcase, a_silent_server);
    tcase_add_test(tcase, no_server);
    suite_add_tcase(suite, tcase);
    return suite;
}
