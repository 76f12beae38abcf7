/* SPDX-License-Identifier: MIT */
/* Times and durations as text. */
#ifndef ADIT_BASE_TIME_H
#define ADIT_BASE_TIME_H

#include <stdbool.h>
#include <stdint.h>

#include "base/must_check.h"
#include "base/text.h"

#define TIME_SECOND_US INT64_C(1000000)

/* The first microsecond of the year 1, and the last one of the year 9999. */
#define TIME_MIN (-INT64_C(62135596800) * TIME_SECOND_US)
#define TIME_MAX (INT64_C(253402300800) * TIME_SECOND_US - 1)

/* Reads a time as RFC 3339 (5.6) defines it, in the years 1 to 9999.  Returns microseconds since
 * 1970.  A fraction of a second that is not 0 does not become 0: it is at least 1 microsecond.
 * Returns false for other texts. */
MUST_CHECK bool time_read(struct text text, int64_t *us);

/* Reads a duration: one or more whole numbers, each with d, h, m or s, up to 10,000 years in all.
 * Returns microseconds.  Returns false for other texts. */
MUST_CHECK bool time_read_duration(struct text text, int64_t *us);

/* Return the second that the time is in, and the first one that does not begin before it. */
int64_t time_floor(int64_t us);
int64_t time_ceiling(int64_t us);

/* Room for "2026-01-31T23:59:59Z" and its NUL. */
#define TIME_SIZE 21

/* Writes seconds since 1970 as RFC 3339 in UTC.  Returns false, and writes nothing, if the year is
 * not 0 to 9999: the format has four digits for it. */
bool time_write(char out[TIME_SIZE], int64_t seconds);

#endif
