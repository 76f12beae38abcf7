/* SPDX-License-Identifier: MIT */
/* System calls that fail on demand. */
#include "serve/faults.h"

#include <errno.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

struct faults faults;
char logged[8192];

int __real_accept4(int fd, struct sockaddr *address, socklen_t *len, int flags);
int __wrap_accept4(int fd, struct sockaddr *address, socklen_t *len, int flags);
int __real_epoll_ctl(int epoll_fd, int how, int fd, struct epoll_event *event);
int __wrap_epoll_ctl(int epoll_fd, int how, int fd, struct epoll_event *event);
void *__real_malloc(size_t size);
void *__wrap_malloc(size_t size);
void *__real_mmap(void *at, size_t len, int protection, int flags, int fd, off_t offset);
void *__wrap_mmap(void *at, size_t len, int protection, int flags, int fd, off_t offset);
ssize_t __real_write(int fd, const void *data, size_t len);
ssize_t __wrap_write(int fd, const void *data, size_t len);
int __real_clock_gettime(clockid_t clock, struct timespec *now);
int __wrap_clock_gettime(clockid_t clock, struct timespec *now);

static bool is_stopped;
static int64_t stopped_us;
static int64_t behind_us; /* what the clock stood still so far */

void faults_clear(void)
{
    faults = (struct faults){.n_accept = 0};
    logged[0] = '\0';
}

int logged_times(const char *text)
{
    int n = 0;

    for (const char *at = strstr(logged, text); at; at = strstr(at + 1, text))
        n++;
    return n;
}

int __wrap_accept4(int fd, struct sockaddr *address, socklen_t *len, int flags)
{
    if (faults.n_accept == 0)
        return __real_accept4(fd, address, len, flags);
    faults.n_accept--;
    errno = faults.accept_errno;
    return -1;
}

int __wrap_epoll_ctl(int epoll_fd, int how, int fd, struct epoll_event *event)
{
    if (faults.n_epoll_ctl == 0 || how == EPOLL_CTL_DEL)
        return __real_epoll_ctl(epoll_fd, how, fd, event);
    faults.n_epoll_ctl--;
    errno = ENOMEM;
    return -1;
}

void *__wrap_malloc(size_t size)
{
    if (faults.n_malloc == 0 || size < faults.least)
        return __real_malloc(size);
    faults.n_malloc--;
    errno = ENOMEM;
    return NULL;
}

void *__wrap_mmap(void *at, size_t len, int protection, int flags, int fd, off_t offset)
{
    if (!faults.no_mmap)
        return __real_mmap(at, len, protection, flags, fd, offset);
    errno = ENOMEM;
    return MAP_FAILED;
}

ssize_t __wrap_write(int fd, const void *data, size_t len)
{
    size_t used = strlen(logged);

    if (fd == STDERR_FILENO) {
        if (len < sizeof logged - used) {
            memcpy(logged + used, data, len);
            logged[used + len] = '\0';
        }
        return (ssize_t)len;
    }
    if (fd == STDOUT_FILENO && faults.interrupt_write) {
        faults.interrupt_write = false;
        errno = EINTR;
        return -1;
    }
    return __real_write(fd, data, len);
}

/* ---- the steady clock ---- */

static int64_t real_us(void)
{
    struct timespec now = {0};

    __real_clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

void clock_stop(void)
{
    if (!is_stopped)
        stopped_us = real_us() - behind_us;
    is_stopped = true;
}

void clock_run(void)
{
    if (is_stopped)
        behind_us = real_us() - stopped_us;
    is_stopped = false;
}

void clock_pass_ms(int64_t ms)
{
    stopped_us += ms * 1000;
}

int __wrap_clock_gettime(clockid_t clock, struct timespec *now)
{
    int64_t us;

    if (clock != CLOCK_MONOTONIC)
        return __real_clock_gettime(clock, now);
    us = is_stopped ? stopped_us : real_us() - behind_us;
    *now = (struct timespec){.tv_sec = us / 1000000, .tv_nsec = us % 1000000 * 1000};
    return 0;
}
