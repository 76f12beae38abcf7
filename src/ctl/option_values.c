/* SPDX-License-Identifier: MIT */
/* Reads texts, durations and times. */
#include "ctl/option_values.h"

#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/invisible.h"
#include "base/number.h"
#include "base/time.h"
#include "base/utf8.h"
#include "ctl/message.h"

/* Ten years. */
#define DURATION_MAX_S (INT64_C(3660) * 24 * 3600)

bool ctl_text_valid(const char *option, const char *value)
{
    static const char accepted[] = "UTF-8 without control characters";
    size_t len = value ? strlen(value) : 0;

    if (len > CTL_TEXT_MAX)
        ctl_misuse("--%s has %zu bytes; at most %d are accepted", option, len, CTL_TEXT_MAX);
    else if (value && !utf8_valid(value, len))
        ctl_misuse("--%s is not valid UTF-8; expected %s", option, accepted);
    else if (value && utf8_find_control(value, len))
        ctl_misuse("--%s contains the control character U+%04X; expected %s", option,
                   (unsigned)utf8_find_control(value, len), accepted);
    else if (value && !invisible_shows(text_of(value)))
        ctl_misuse("--%s has no character that shows; give it a value", option);
    else
        return true;
    return false;
}

static bool read_duration(const char *s, int64_t *seconds)
{
    static const char units[] = "smhdw";
    static const int64_t unit_seconds[] = {1, 60, 3600, 86400, 604800};
    const char *end = s + strspn(s, "0123456789");
    const char *unit = *end ? strchr(units, *end) : NULL;
    struct text digits = {.s = s, .len = (size_t)(end - s)};
    uint64_t number;

    if (!unit || end[1] || !number_read(digits, 10, DURATION_MAX_S, &number) || number < 1)
        return false;
    *seconds = (int64_t)number * unit_seconds[unit - units];
    return *seconds <= DURATION_MAX_S;
}

bool ctl_read_duration(const char *option, const char *value, int64_t *seconds)
{
    if (read_duration(value, seconds))
        return true;
    ctl_misuse(
        "--%s '%s' is not accepted; expected a number and s, m, h, d or w, such as 90d, of at "
        "most 3660d",
        option, value);
    return false;
}

/* Reads "2026-01-31", "2026-01-31 23:59" and the like in UTC, and RFC 3339. */
static bool read_point(const char *value, int64_t *us)
{
    static const char pattern[] = "0000-00-00T00:00:00Z";
    char whole[sizeof pattern];
    size_t len = strlen(value);

    if (time_read(text_of(value), us))
        return true;
    if (len != strlen("2026-01-31") && len != strlen("2026-01-31 23:59") &&
        len != strlen("2026-01-31 23:59:59"))
        return false;
    snprintf(whole, sizeof whole, "%s%s", value, pattern + len);
    if (whole[10] == ' ')
        whole[10] = 'T';
    return time_read(text_of(whole), us);
}

bool ctl_read_time(const char *option, const char *value, int64_t *us)
{
    int64_t now_us = clock_wall_us();
    int64_t seconds;

    if (read_duration(value, &seconds))
        *us = now_us - seconds * TIME_SECOND_US;
    else if (!read_point(value, us)) {
        ctl_misuse("--%s '%s' is not accepted; expected a time such as 2026-01-31T23:59:59Z, a day "
                   "such as 2026-01-31 or '2026-01-31 23:59' (both UTC), or how long ago, such as "
                   "2h, of at most 3660d",
                   option, value);
        return false;
    }
    if (*us <= now_us)
        return true;
    ctl_misuse("--%s '%s' is in the future", option, value);
    return false;
}
