/* SPDX-License-Identifier: MIT */
/* The wall clock, the steady clock, and times as text. */
#ifndef ADIT_BASE_CLOCK_H
#define ADIT_BASE_CLOCK_H

#include <stdbool.h>
#include <stdint.h>

/* Return the wall clock in milliseconds and microseconds since 1970-01-01T00:00:00Z. */
int64_t clock_wall_ms(void);
int64_t clock_wall_us(void);

/* Return the steady clock in milliseconds and microseconds.  It never goes back: use it for
 * deadlines. */
int64_t clock_steady_ms(void);
int64_t clock_steady_us(void);

/* Returns the milliseconds left until a deadline on the steady clock, at least 0. */
int clock_left_ms(int64_t deadline_ms);

/* Returns the earlier of two times of one clock. */
int64_t clock_earlier(int64_t a, int64_t b);

/* Room for "2026-01-31T23:59:59Z" and its NUL. */
#define CLOCK_RFC3339_SIZE 21

/* Writes seconds since 1970 as RFC 3339 in UTC.  Returns false, and writes nothing, if the year is
 * not 0 to 9999: the format has four digits for it. */
bool clock_rfc3339(char out[CLOCK_RFC3339_SIZE], int64_t seconds);

#endif
