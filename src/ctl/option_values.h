/* SPDX-License-Identifier: MIT */
/* Values of options: texts, durations and times. */
#ifndef ADIT_CTL_OPTION_VALUES_H
#define ADIT_CTL_OPTION_VALUES_H

#include <stdbool.h>
#include <stdint.h>

#include "base/must_check.h"

/* Bytes of the longest text that an option takes. */
#define CTL_TEXT_MAX 255

/* Returns whether the value of --OPTION is UTF-8 of at most 255 bytes, without control characters
 * and with one that shows.  Prints a message if not.  NULL is valid. */
MUST_CHECK bool ctl_text_valid(const char *option, const char *value);

/* Reads the value of --OPTION, a whole number and a unit such as 90d, into *seconds: 1 second to
 * 3660 days.  Returns false after a message if it is invalid. */
MUST_CHECK bool ctl_read_duration(const char *option, const char *value, int64_t *seconds);

/* Reads the value of --OPTION, a time in the past, into *us, in microseconds since 1970: RFC 3339,
 * a day or a day and a time in UTC, or how long ago, such as 2h.  Returns false after a message if
 * it is invalid. */
MUST_CHECK bool ctl_read_time(const char *option, const char *value, int64_t *us);

#endif
