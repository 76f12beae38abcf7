/* SPDX-License-Identifier: MIT */
/* Opens files. */
#include "ctl/open_file.h"

#include <fcntl.h>
#include <unistd.h>

int ctl_open_file(const char *path)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    int flags = fd < 0 ? -1 : fcntl(fd, F_GETFL);

    /* Reading waits for a writer that is there. */
    if (flags >= 0 && fcntl(fd, F_SETFL, flags & ~O_NONBLOCK) == 0)
        return fd;
    if (fd >= 0)
        close(fd);
    return -1;
}
