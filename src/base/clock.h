/* SPDX-License-Identifier: MIT */
/* The wall clock and the steady clock. */
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

#endif
