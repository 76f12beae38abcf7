/* SPDX-License-Identifier: MIT */
/* Wrappers of the calls that read and write files. */
#include "faults.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int calls_left; /* 0: no fault is wanted */
static bool kills;
static bool has_come;
static bool hides_children;

void faults_kill_at(int n)
{
    calls_left = n;
    kills = true;
}

void faults_fail_at(int n)
{
    calls_left = n;
    kills = false;
    has_come = false;
}

bool faults_stop(void)
{
    calls_left = 0;
    return has_come;
}

/* Counts a call.  Returns whether it has to fail. */
static bool fault_is_here(void)
{
    if (calls_left == 0 || --calls_left > 0)
        return false;
    if (kills)
        kill(getpid(), SIGKILL);
    has_come = true;
    errno = ENOSPC;
    return true;
}

void faults_hide_children(bool hides)
{
    hides_children = hides;
}

static bool is_hidden(const char *path)
{
    const char *name = strrchr(path, '/');

    if (!hides_children || !name || strcmp(name, "/children") != 0)
        return false;
    errno = ENOENT;
    return true;
}

int __real_access(const char *path, int mode);
int __wrap_access(const char *path, int mode);
int __wrap_access(const char *path, int mode)
{
    return is_hidden(path) ? -1 : __real_access(path, mode);
}

static mode_t mode_of(int flags, va_list args)
{
    return flags & O_CREAT ? va_arg(args, mode_t) : 0;
}

int __real_open(const char *path, int flags, ...);
int __wrap_open(const char *path, int flags, ...);
int __wrap_open(const char *path, int flags, ...)
{
    va_list args;
    mode_t mode;

    va_start(args, flags);
    mode = mode_of(flags, args);
    va_end(args);
    return is_hidden(path) || fault_is_here() ? -1 : __real_open(path, flags, mode);
}

int __real_openat(int fd, const char *path, int flags, ...);
int __wrap_openat(int fd, const char *path, int flags, ...);
int __wrap_openat(int fd, const char *path, int flags, ...)
{
    va_list args;
    mode_t mode;

    va_start(args, flags);
    mode = mode_of(flags, args);
    va_end(args);
    return fault_is_here() ? -1 : __real_openat(fd, path, flags, mode);
}

/* While a fault is wanted, writes at most 100 bytes, as the kernel may. */
ssize_t __real_write(int fd, const void *data, size_t len);
ssize_t __wrap_write(int fd, const void *data, size_t len);
ssize_t __wrap_write(int fd, const void *data, size_t len)
{
    return fault_is_here() ? -1 : __real_write(fd, data, calls_left == 0 || len < 100 ? len : 100);
}

/* Does not wait for the disk. */
int __wrap_fsync(int fd);
int __wrap_fsync(int fd)
{
    return fault_is_here() ? -1 : fcntl(fd, F_GETFD) < 0 ? -1 : 0;
}

int __real_fchmod(int fd, mode_t mode);
int __wrap_fchmod(int fd, mode_t mode);
int __wrap_fchmod(int fd, mode_t mode)
{
    return fault_is_here() ? -1 : __real_fchmod(fd, mode);
}

int __real_mkdir(const char *path, mode_t mode);
int __wrap_mkdir(const char *path, mode_t mode);
int __wrap_mkdir(const char *path, mode_t mode)
{
    return fault_is_here() ? -1 : __real_mkdir(path, mode);
}

int __real_renameat(int from_fd, const char *from, int to_fd, const char *to);
int __wrap_renameat(int from_fd, const char *from, int to_fd, const char *to);
int __wrap_renameat(int from_fd, const char *from, int to_fd, const char *to)
{
    return fault_is_here() ? -1 : __real_renameat(from_fd, from, to_fd, to);
}

int __real_unlinkat(int fd, const char *path, int flags);
int __wrap_unlinkat(int fd, const char *path, int flags);
int __wrap_unlinkat(int fd, const char *path, int flags)
{
    return fault_is_here() ? -1 : __real_unlinkat(fd, path, flags);
}
