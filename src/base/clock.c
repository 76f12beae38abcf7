/* SPDX-License-Identifier: MIT */
/* Clocks. */
#include "base/clock.h"

#include <limits.h>
#include <time.h>

static int64_t read_us(clockid_t clock)
{
    struct timespec now = {0};

    clock_gettime(clock, &now);
    return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

int64_t clock_wall_us(void)
{
    return read_us(CLOCK_REALTIME);
}

int64_t clock_wall_ms(void)
{
    return clock_wall_us() / 1000;
}

int64_t clock_steady_us(void)
{
    return read_us(CLOCK_MONOTONIC);
}

int64_t clock_steady_ms(void)
{
    return clock_steady_us() / 1000;
}

int clock_left_ms(int64_t deadline_ms)
{
    int64_t left = deadline_ms - clock_steady_ms();

    if (left < 0)
        return 0;
    return left > INT_MAX ? INT_MAX : (int)left;
}

int64_t clock_earlier(int64_t a, int64_t b)
{
    return a < b ? a : b;
}
