/* SPDX-License-Identifier: MIT */
/* The clock of these tests, in place of base/clock: it moves only when a test moves it. */
#include "base/clock.h"

#include "pg/lane.h"

static int64_t now_us = 1000000000;

/* 2026-01-01T00:00:00Z */
#define WALL_AHEAD_US (INT64_C(1767225600000000))

int64_t clock_steady_us(void)
{
    return now_us;
}

int64_t clock_steady_ms(void)
{
    return now_us / 1000;
}

int64_t clock_wall_us(void)
{
    return now_us + WALL_AHEAD_US;
}

int64_t clock_wall_ms(void)
{
    return clock_wall_us() / 1000;
}

int clock_left_ms(int64_t deadline_ms)
{
    int64_t left_ms = deadline_ms - clock_steady_ms();

    return left_ms > 0 ? (int)left_ms : 0;
}

int64_t clock_earlier(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

void clock_pass_ms(int64_t ms)
{
    now_us += ms * 1000;
}
