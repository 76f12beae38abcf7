/* SPDX-License-Identifier: MIT */
/* The standard descriptors. */
#include "base/standard_fds.h"

#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

/* A pipe, because /dev/null may be missing below a web server's chroot, and would take output that
 * then is lost without an error.  pipe() gives the reading end the lowest free number: this one. */
static bool fill_lowest(void)
{
    int ends[2];

    return pipe(ends) == 0 && close(ends[1]) == 0;
}

bool standard_fds_fill(void)
{
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++) {
        if (fcntl(fd, F_GETFD) < 0 && !fill_lowest()) {
            perror("cannot open the standard descriptors");
            return false;
        }
    }
    return true;
}
