/* SPDX-License-Identifier: MIT */
/* Locks a file, and not the folder: whoever may open a folder or a file for reading can lock it,
 * and others may read the folder of the edges. */
#include "gateway/folder_lock.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define NAME ".lock"

static bool is_own_file(int fd)
{
    struct stat status;

    if (fstat(fd, &status) != 0)
        return false;
    errno = EPERM;
    return S_ISREG(status.st_mode) && status.st_uid == geteuid();
}

int folder_lock(int folder_fd)
{
    int fd = openat(folder_fd, NAME, O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0600);
    int fault;

    if (fd < 0)
        return -1;
    /* The mode matters if the file is a copy, such as one of a backup. */
    if (is_own_file(fd) && fchmod(fd, 0600) == 0 && flock(fd, LOCK_EX | LOCK_NB) == 0)
        return fd;
    fault = errno;
    close(fd);
    errno = fault;
    return -1;
}
