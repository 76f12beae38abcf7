/* SPDX-License-Identifier: MIT */
/* Tests of connecting: how long hosts that are silent or missing may take, and what is said. */
#include "pg/connect.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/clock.h"
#include "pg/backend.h"
#include "pg/lane.h"
#include "suites.h"

#define N_SILENT 3

/* Folders with a socket that takes connections and sends nothing. */
static char folders[N_SILENT][32];
static int listeners[N_SILENT];

static void socket_address(struct sockaddr_un *address, const char *folder)
{
    *address = (struct sockaddr_un){.sun_family = AF_UNIX};
    snprintf(address->sun_path, sizeof address->sun_path, "%.31s/.s.PGSQL.5432", folder);
}

static void start_silent(void)
{
    for (int i = 0; i < N_SILENT; i++) {
        struct sockaddr_un address;

        snprintf(folders[i], sizeof folders[i], "/tmp/adit-pg-XXXXXX");
        ck_assert_ptr_nonnull(mkdtemp(folders[i]));
        socket_address(&address, folders[i]);
        listeners[i] = socket(AF_UNIX, SOCK_STREAM, 0);
        ck_assert_int_ge(listeners[i], 0);
        ck_assert_int_eq(bind(listeners[i], (struct sockaddr *)&address, sizeof address), 0);
        ck_assert_int_eq(listen(listeners[i], 8), 0);
    }
}

static void stop_silent(void)
{
    for (int i = 0; i < N_SILENT; i++) {
        struct sockaddr_un address;

        socket_address(&address, folders[i]);
        close(listeners[i]);
        unlink(address.sun_path);
        rmdir(folders[i]);
    }
}

static int count(const char *text, const char *what)
{
    int n = 0;

    while ((text = strstr(text, what))) {
        text += strlen(what);
        n++;
    }
    return n;
}

/* Tries to connect to hosts and ports within a second.  Returns the milliseconds that it took. */
static int64_t try_hosts(const char *hosts, const char *more, struct pg_refusal *refusal)
{
    char conninfo[512];
    struct lane lane = {0};
    struct wait wait = lane_wait(&lane);
    int64_t begin_ms = clock_steady_ms();

    snprintf(conninfo, sizeof conninfo, "host=%s port=5432 dbname=x user=x %s", hosts, more);
    ck_assert_ptr_null(pg_connect(conninfo, &wait, begin_ms + 1000, refusal));
    return clock_steady_ms() - begin_ms;
}

START_TEST(silent_hosts_share_the_time)
{
    char hosts[128];
    struct pg_refusal refusal;

    snprintf(hosts, sizeof hosts, "%s,%s,%s", folders[0], folders[1], folders[2]);
    ck_assert_int_eq(try_hosts(hosts, "", &refusal), 1000);
    ck_assert_int_eq(count(refusal.reason, "no answer in time"), 3);
    ck_assert(!refusal.is_read_only && !refusal.is_own_memory);
}
END_TEST

START_TEST(single_silent_host)
{
    struct pg_refusal refusal;

    ck_assert_int_eq(try_hosts(folders[0], "", &refusal), 1000);
    ck_assert_str_eq(refusal.reason, "no answer in time");
}
END_TEST

/* Each host has its own port; a list of one port applies to every host. */
START_TEST(hosts_that_are_not_there)
{
    struct pg_refusal refusal;

    ck_assert_int_eq(try_hosts("/tmp/adit-none,/tmp/adit-none", "port=1,2", &refusal), 0);
    ck_assert_int_eq(count(refusal.reason, ".s.PGSQL.1\""), 1);
    ck_assert_int_eq(count(refusal.reason, ".s.PGSQL.2\""), 1);
    try_hosts("/tmp/adit-none,/tmp/adit-none", "port=3", &refusal);
    ck_assert_int_eq(count(refusal.reason, ".s.PGSQL.3\""), 2);
}
END_TEST

START_TEST(host_that_is_not_there_leaves_its_time)
{
    char hosts[128];
    struct pg_refusal refusal;

    snprintf(hosts, sizeof hosts, "/tmp/adit-none,%s", folders[0]);
    ck_assert_int_eq(try_hosts(hosts, "", &refusal), 1000);
    ck_assert_int_eq(count(refusal.reason, "no answer in time"), 1);
}
END_TEST

/* A host's own limit, where its share of the time is longer. */
START_TEST(connect_timeout_limits_a_host)
{
    struct pg_refusal refusal;
    char hosts[128];
    char conninfo[256];
    struct lane lane = {0};
    struct wait wait = lane_wait(&lane);
    int64_t begin_ms = clock_steady_ms();

    snprintf(conninfo, sizeof conninfo, "host=%s port=5432 connect_timeout=3 user=x", folders[0]);
    ck_assert_ptr_null(pg_connect(conninfo, &wait, begin_ms + 10000, &refusal));
    ck_assert_int_eq(clock_steady_ms() - begin_ms, 3000);
    snprintf(hosts, sizeof hosts, "%s,%s", folders[0], folders[1]);
    ck_assert_int_eq(try_hosts(hosts, "connect_timeout=3", &refusal), 1000);
}
END_TEST

START_TEST(host_that_is_too_long)
{
    struct pg_refusal refusal;
    char hosts[400] = "/tmp/adit-none,";

    memset(hosts + strlen(hosts), 'a', 300);
    try_hosts(hosts, "", &refusal);
    ck_assert_int_eq(count(refusal.reason, "conninfo is too long"), 1);
}
END_TEST

/* libpq's texts, and what the driver makes of them. */
START_TEST(refusals)
{
    static const struct {
        enum backend_act act;
        const char *sqlstate, *detail;
        bool is_read_only, is_for_now, is_own_memory;
    } cases[] = {
        {STANDBY, NULL, NULL, true, true, false},
        {REFUSE, "57P03", "the database system is starting up", false, true, false},
        {REFUSE, "57P01", "terminating connection due to administrator command", false, true,
         false},
        {REFUSE, "53300", "it is not 57P03 at all", false, false, false},
        {REFUSE, "53200", "out of memory", false, false, false}, /* the server's */
        {CLOSE, NULL, NULL, false, false, false},
        {SILENCE, NULL, NULL, false, false, false},
    };
    struct pg_refusal refusal;
    struct lane lane = {0};
    struct wait wait = lane_wait(&lane);

    backend_start();
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        backend_expect(ON_STARTUP, cases[i].act, cases[i].sqlstate, cases[i].detail);
        ck_assert_ptr_null(
            pg_connect(backend_conninfo(), &wait, clock_steady_ms() + 1000, &refusal));
        ck_assert_str_ne(refusal.reason, "");
        ck_assert_int_eq(refusal.is_read_only, cases[i].is_read_only);
        ck_assert_int_eq(refusal.is_for_now, cases[i].is_for_now);
        ck_assert_int_eq(refusal.is_own_memory, cases[i].is_own_memory);
    }
    backend_stop();
}
END_TEST

Suite *pg_connect_suite(void)
{
    Suite *suite = suite_create("pg/connect");
    TCase *tcase = tcase_create("hosts");

    tcase_add_checked_fixture(tcase, start_silent, stop_silent);
    tcase_add_test(tcase, silent_hosts_share_the_time);
    tcase_add_test(tcase, single_silent_host);
    tcase_add_test(tcase, hosts_that_are_not_there);
    tcase_add_test(tcase, host_that_is_not_there_leaves_its_time);
    tcase_add_test(tcase, connect_timeout_limits_a_host);
    tcase_add_test(tcase, host_that_is_too_long);
    tcase_add_test(tcase, refusals);
    suite_add_tcase(suite, tcase);
    return suite;
}
