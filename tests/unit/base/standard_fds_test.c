/* SPDX-License-Identifier: MIT */
/* Tests of the standard descriptors. */
#include "base/standard_fds.h"

#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "suites.h"

/* Returns whether the descriptor, which was closed, is at its end and takes no output. */
static bool is_filled(int fd)
{
    char byte = 'x';

    return read(fd, &byte, 1) == 0 && write(fd, &byte, 1) < 0 && errno == EBADF;
}

/* Closes the descriptors of this set of bits, and makes the others /dev/zero.  Returns whether the
 * closed ones are filled then, the others as they were, and the next free number still free. */
static bool fills(int closed)
{
    int next = open("/dev/zero", O_RDWR);
    bool ok;

    ck_assert_int_gt(next, 2);
    for (int fd = 0; fd <= 2; fd++) {
        if (closed & 1 << fd)
            close(fd);
        else
            dup2(next, fd);
    }
    close(next);
    ok = standard_fds_fill() && fcntl(next, F_GETFD) < 0;
    for (int fd = 0; fd <= 2; fd++) {
        char byte = 'x';

        ok = ok && (closed & 1 << fd ? is_filled(fd) : read(fd, &byte, 1) == 1);
    }
    return ok;
}

START_TEST(closed_descriptors_are_filled)
{
    int status;
    pid_t child = fork();

    ck_assert_int_ge(child, 0);
    if (child == 0)
        _exit(fills(_i) ? EXIT_SUCCESS : EXIT_FAILURE);
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert_int_eq(status, 0);
}
END_TEST

Suite *standard_fds_suite(void)
{
    Suite *suite = suite_create("base/standard_fds");
    TCase *tests = tcase_create("standard_fds");

    tcase_add_loop_test(tests, closed_descriptors_are_filled, 0, 8);
    suite_add_tcase(suite, tests);
    return suite;
}
