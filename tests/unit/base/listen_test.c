/* SPDX-License-Identifier: MIT */
/* Tests of the socket on 127.0.0.1. */
#include "base/listen.h"

#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "suites.h"

START_TEST(loopback_only)
{
    struct sockaddr_in address = {.sin_family = AF_UNSPEC};
    socklen_t len = sizeof address;
    const char *what = NULL;
    int reuses = 0;
    int client = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    int second;
    int fd;

    ck_assert(listen_loopback(0, &fd, &what));
    ck_assert_int_eq(getsockname(fd, (struct sockaddr *)&address, &len), 0);
    ck_assert_int_eq(address.sin_family, AF_INET);
    ck_assert_uint_eq(ntohl(address.sin_addr.s_addr), INADDR_LOOPBACK);
    ck_assert_int_eq(fcntl(fd, F_GETFD), FD_CLOEXEC);
    len = sizeof reuses;
    ck_assert_int_eq(getsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &reuses, &len), 0);
    ck_assert_int_ne(reuses, 0);
    ck_assert_int_eq(connect(client, (struct sockaddr *)&address, sizeof address), 0);
    ck_assert(!listen_loopback(ntohs(address.sin_port), &second, &what));
    ck_assert_int_eq(errno, EADDRINUSE);
    ck_assert_str_eq(what, "cannot listen");
    close(client);
    close(fd);
}
END_TEST

Suite *listen_suite(void)
{
    Suite *suite = suite_create("base/listen");
    TCase *tcase = tcase_create("listen");

    tcase_add_test(tcase, loopback_only);
    suite_add_tcase(suite, tcase);
    return suite;
}
