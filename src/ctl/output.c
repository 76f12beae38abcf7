/* SPDX-License-Identifier: MIT */
/* Writes out what was printed. */
#include "ctl/output.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

bool ctl_flush_output(const char *change)
{
    errno = 0;
    if (fflush(stdout) == 0 && !ferror(stdout))
        return true;
    /* The reason of an earlier write is lost.  Another one has it, and may only add to what is cut.
     */
    if (errno == 0 && write(STDOUT_FILENO, "\n", 1) == 1)
        errno = 0;
    ctl_fail("cannot write to standard output%s%s%s", errno ? ": " : "",
             errno ? strerror(errno) : "", change);
    return false;
}

int ctl_flush(struct ctl *ctl)
{
    ctl->lost_output = !ctl_flush_output("; nothing was changed");
    return ctl->lost_output ? CTL_FAILED : CTL_OK;
}

int ctl_commit(struct ctl *ctl)
{
    struct error err;
    int status = ctl_flush(ctl);

    if (status != CTL_OK)
        pg_rollback(ctl->pg);
    else if (!pg_commit(ctl->pg, &err))
        status = ctl_fail_error(&err);
    return status;
}
