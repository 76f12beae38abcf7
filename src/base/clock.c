/* SPDX-License-Identifier: MIT */
/* Clocks. */
#include "base/clock.h"

#include <limits.h>
#include <string.h>
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

static void two_digits(char *out, int value)
{
    out[0] = (char)('0' + value / 10);
    out[1] = (char)('0' + value % 10);
}

/* Writes the digits by hand: a list has a time in each row, and snprintf() would take a quarter of
 * the time of the whole request. */
bool clock_rfc3339(char out[CLOCK_RFC3339_SIZE], int64_t seconds)
{
    time_t t = (time_t)seconds;
    struct tm tm;

    if (!gmtime_r(&t, &tm) || tm.tm_year < -1900 || tm.tm_year > 9999 - 1900)
        return false;
    memcpy(out, "0000-00-00T00:00:00Z", CLOCK_RFC3339_SIZE);
    two_digits(out, (tm.tm_year + 1900) / 100);
    two_digits(out + 2, (tm.tm_year + 1900) % 100);
    two_digits(out + 5, tm.tm_mon + 1);
    two_digits(out + 8, tm.tm_mday);
    two_digits(out + 11, tm.tm_hour);
    two_digits(out + 14, tm.tm_min);
    two_digits(out + 17, tm.tm_sec);
    return true;
}
