# SPDX-License-Identifier: MIT
"""The clocks of a program, which a test sets while the program runs, and its lack of memory."""
import mmap
import os
import struct
import subprocess

from adit import programs, stack

# The time of time(2) stays right.
LIBRARY = r"""
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* The clock, which allocations fail, how far the monotonic clock is ahead, and how many times slower
 * it goes. */
static const volatile int64_t *set_to;

__attribute__((constructor)) static void start(void)
{
    const char *path = getenv("CLOCK_FILE");
    int fd = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    size_t size = 4 * sizeof *set_to;
    void *mapped = fd < 0 ? MAP_FAILED : mmap(NULL, size, PROT_READ, MAP_SHARED, fd, 0);
    if (mapped != MAP_FAILED)
        set_to = mapped;
    if (fd >= 0)
        close(fd);
}

int clock_gettime(clockid_t clock, struct timespec *now)
{
    int status = (int)syscall(SYS_clock_gettime, clock, now);
    if (clock == CLOCK_REALTIME && set_to && *set_to > 0) {
        now->tv_sec = *set_to;
        now->tv_nsec = 0;
    }
    if (clock == CLOCK_MONOTONIC && set_to && set_to[3] > 1) {
        int64_t ns = (now->tv_sec * INT64_C(1000000000) + now->tv_nsec) / set_to[3];
        now->tv_sec = ns / 1000000000;
        now->tv_nsec = ns % 1000000000;
    }
    if (clock == CLOCK_MONOTONIC && set_to)
        now->tv_sec += set_to[2];
    return status;
}

#ifndef SANITIZED
void *__libc_malloc(size_t size);
void *__libc_calloc(size_t n, size_t size);
void *__libc_realloc(void *old, size_t size);

static int is_short(void)
{
    static int64_t n;

    if (!set_to || set_to[1] == 0 || ++n % set_to[1] != 0)
        return 0;
    errno = ENOMEM;
    return 1;
}

void *malloc(size_t size)
{
    return is_short() ? NULL : __libc_malloc(size);
}

void *calloc(size_t n, size_t size)
{
    return is_short() ? NULL : __libc_calloc(n, size);
}

void *realloc(void *old, size_t size)
{
    return is_short() ? NULL : __libc_realloc(old, size);
}
#endif
"""


class Clock:
    """While it is set, it stands still.  Its files are in the folder."""

    def __init__(self, folder):
        self.library = os.path.join(folder, "clock.so")
        self.path = os.path.join(folder, "clock")
        # AddressSanitizer has a malloc() of its own: such a program never lacks memory.
        subprocess.run(["cc", "-shared", "-fPIC", "-o", self.library,
                        *["-DSANITIZED"] * stack.is_sanitized(), "-xc", "-"],
                       input=LIBRARY.encode(), check=True)
        os.chmod(self.library, 0o755)
        with open(self.path, "w+b") as file:
            file.write(bytes(32))
            file.flush()
            self.memory = mmap.mmap(file.fileno(), 32)
        os.chmod(self.path, 0o644)

    def set(self, seconds):
        """Sets it to seconds since 1970.  0: it goes on as the machine's."""
        self.memory[:8] = struct.pack("=q", seconds)

    def fail_allocations(self, every):
        """Lets each process get no memory every so many times.  0: it gets all."""
        self.memory[8:16] = struct.pack("=q", every)

    def go_ahead(self, seconds):
        """Sets the monotonic clock to as much after the machine's.  It must not go back while the
        program runs."""
        self.memory[16:24] = struct.pack("=q", seconds)

    def slow_down(self, times):
        """Has the monotonic clock go so many times slower, from before the program starts: what it
        waits for has as much more time."""
        self.memory[24:] = struct.pack("=q", times)

    def env(self):
        """The environment of the program that has this clock."""
        # AddressSanitizer's library demands to be loaded first, but works without that.
        options = ":".join(filter(None, (programs.ENV.get("ASAN_OPTIONS"),
                                         "verify_asan_link_order=0")))
        return dict(programs.ENV, LD_PRELOAD=self.library, CLOCK_FILE=self.path,
                    ASAN_OPTIONS=options)
