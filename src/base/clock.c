/* SPDX-License-Identifier: MIT */
/* Clocks. */
#include "base/clock.h"

#include <limits.h>
#include <stdio.h>
#include <time.h>

static int64_t read_ms(clockid_t clock)
{
    struct timespec now = {0};

    clock_gettime(clock, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

int64_t clock_wall_ms(void)
{
    return read_ms(CLOCK_REALTIME);
}

int64_t clock_steady_ms(void)
{
    return read_ms(CLOCK_MONOTONIC);
}

int clock_left_ms(int64_t deadline_ms)
{
    int64_t left = deadline_ms - clock_steady_ms();

    if (left < 0)
        return 0;
    return left > INT_MAX ? INT_MAX : (int)left;
}

bool clock_rfc3339(char out[CLOCK_RFC3339_SIZE], int64_t seconds)
{
    time_t t = (time_t)seconds;
    struct tm tm;

    if (!gmtime_r(&t, &tm) || tm.tm_year < -1900 || tm.tm_year > 9999 - 1900)
        return false;
    return snprintf(out, CLOCK_RFC3339_SIZE, "%04d-%02d-%02dT%02d:%02d:%02dZ", tm.tm_year + 1900,
                    tm.tm_mon + 1, tm.tm_mday, tm.tm_hour, tm.tm_min,
                    tm.tm_sec) == CLOCK_RFC3339_SIZE - 1;
}
