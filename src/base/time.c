/* SPDX-License-Identifier: MIT */
/* Times and durations as text. */
#include "base/time.h"

#include <string.h>

#include "base/ascii.h"
#include "base/number.h"

#define DAY_S 86400

/* Days of 10,000 years, CEL's longest duration. */
#define MOST_S (INT64_C(3652500) * DAY_S)

/* Takes n digits off the text. */
static bool take_digits(struct text *rest, size_t n, int most, int *out)
{
    uint64_t value;

    if (rest->len < n || !number_read(text_part(*rest, 0, n), 10, (uint64_t)most, &value))
        return false;
    *out = (int)value;
    *rest = text_part(*rest, n, rest->len);
    return true;
}

/* Takes one of two bytes off the text. */
static bool take_byte(struct text *rest, char one, char other)
{
    if (rest->len == 0 || (rest->s[0] != one && rest->s[0] != other))
        return false;
    *rest = text_part(*rest, 1, rest->len);
    return true;
}

static bool is_leap(int year)
{
    return (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
}

/* Takes "2026-01-31" off the text.  Returns days since 1970. */
static bool take_date(struct text *rest, int64_t *days)
{
    static const int before[] = {0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334, 365};
    int year;
    int month;
    int day;
    int leap;

    if (!take_digits(rest, 4, 9999, &year) || !take_byte(rest, '-', '-') ||
        !take_digits(rest, 2, 12, &month) || !take_byte(rest, '-', '-') ||
        !take_digits(rest, 2, 31, &day) || year == 0 || month == 0 || day == 0)
        return false;
    leap = is_leap(year);
    if (day > before[month] - before[month - 1] + (month == 2 && leap))
        return false;
    *days = (int64_t)(year - 1) * 365 + (year - 1) / 4 - (year - 1) / 100 + (year - 1) / 400 +
            before[month - 1] + (month > 2 && leap) + day - 1 - 719162;
    return true;
}

/* Takes ".123" off the text, if it is there. */
static bool take_fraction(struct text *rest, int64_t *us)
{
    int64_t unit = TIME_SECOND_US / 10;
    bool has_rest = false;
    size_t n = 0;

    *us = 0;
    if (!take_byte(rest, '.', '.'))
        return true;
    for (; n < rest->len && ascii_is_digit(rest->s[n]); n++, unit /= 10) {
        *us += unit * (rest->s[n] - '0');
        has_rest = has_rest || (unit == 0 && rest->s[n] != '0');
    }
    *us += has_rest && *us == 0;
    *rest = text_part(*rest, n, rest->len);
    return n > 0;
}

/* Takes "Z" or "+01:30" off the text.  Returns seconds east of UTC. */
static bool take_zone(struct text *rest, int *seconds)
{
    bool is_west = rest->len > 0 && rest->s[0] == '-';
    int hours;
    int minutes;

    *seconds = 0;
    if (take_byte(rest, 'Z', 'z'))
        return true;
    if (!take_byte(rest, '+', '-') || !take_digits(rest, 2, 23, &hours) ||
        !take_byte(rest, ':', ':') || !take_digits(rest, 2, 59, &minutes))
        return false;
    *seconds = (hours * 60 + minutes) * (is_west ? -60 : 60);
    return true;
}

bool time_read(struct text text, int64_t *us)
{
    int64_t days;
    int64_t fraction;
    int hours;
    int minutes;
    int seconds;
    int zone;

    if (!take_date(&text, &days) || !take_byte(&text, 'T', 't') ||
        !take_digits(&text, 2, 23, &hours) || !take_byte(&text, ':', ':') ||
        !take_digits(&text, 2, 59, &minutes) || !take_byte(&text, ':', ':') ||
        !take_digits(&text, 2, 59, &seconds) || !take_fraction(&text, &fraction) ||
        !take_zone(&text, &zone) || text.len > 0)
        return false;
    *us = days * DAY_S + (hours * 60 + minutes) * INT64_C(60) + seconds - zone;
    *us = *us * TIME_SECOND_US + fraction;
    return *us >= TIME_MIN && *us <= TIME_MAX;
}

static int64_t unit_seconds(char unit)
{
    switch (unit) {
    case 'd':
        return DAY_S;
    case 'h':
        return 3600;
    case 'm':
        return 60;
    case 's':
        return 1;
    default:
        return 0;
    }
}

bool time_read_duration(struct text text, int64_t *us)
{
    int64_t sum = 0;

    if (text.len == 0)
        return false;
    while (text.len > 0) {
        int64_t unit;
        uint64_t number;
        size_t n = 0;

        while (n < text.len && ascii_is_digit(text.s[n]))
            n++;
        unit = n < text.len ? unit_seconds(text.s[n]) : 0;
        if (unit == 0 ||
            !number_read(text_part(text, 0, n), 10, (uint64_t)((MOST_S - sum) / unit), &number))
            return false;
        sum += (int64_t)number * unit;
        text = text_part(text, n + 1, text.len);
    }
    *us = sum * TIME_SECOND_US;
    return true;
}

int64_t time_floor(int64_t us)
{
    int64_t rest = us % TIME_SECOND_US;

    return us - rest - (rest < 0 ? TIME_SECOND_US : 0);
}

int64_t time_ceiling(int64_t us)
{
    int64_t floor = time_floor(us);

    return floor == us ? us : floor + TIME_SECOND_US;
}

/* Years 0000 to 9999. */
#define FIRST_S INT64_C(-62167219200)
#define LAST_S INT64_C(253402300799)

/* Days of the Gregorian calendar, whose leap years repeat after 400 years. */
#define ERA_DAYS 146097
#define ERA_YEARS 400
#define CENTURY_DAYS 36524
#define FOUR_YEARS_DAYS 1461
#define YEAR_DAYS 365

/* From 0000-03-01 to 1970-01-01, in days. */
#define DAYS_BEFORE_1970 INT64_C(719468)

static void two_digits(char *out, unsigned value)
{
    out[0] = (char)('0' + value / 10);
    out[1] = (char)('0' + value % 10);
}

/* Writes a date.  A year begins in March here, so that the leap day is its last, and months of 153
 * days in five repeat.  The day counts from 400 years before 0000-03-01. */
static void write_date(char *out, unsigned day)
{
    unsigned day_of_era = day % ERA_DAYS;
    unsigned year_of_era = (day_of_era - day_of_era / (FOUR_YEARS_DAYS - 1) +
                            day_of_era / CENTURY_DAYS - day_of_era / (ERA_DAYS - 1)) /
                           YEAR_DAYS;
    unsigned day_of_year =
        day_of_era - (YEAR_DAYS * year_of_era + year_of_era / 4 - year_of_era / 100);
    unsigned month = (5 * day_of_year + 2) / 153; /* 0: March */
    bool is_after_december = month >= 10;
    unsigned year =
        day / ERA_DAYS * ERA_YEARS + year_of_era + (is_after_december ? 1 : 0) - ERA_YEARS;

    two_digits(out, year / 100);
    two_digits(out + 2, year % 100);
    two_digits(out + 5, is_after_december ? month - 9 : month + 3);
    two_digits(out + 8, day_of_year - (153 * month + 2) / 5 + 1);
}

/* By hand: a list has a time in each row, and gmtime_r() and snprintf() take longer than the rest
 * of the row. */
bool time_write(char out[TIME_SIZE], int64_t seconds)
{
    uint64_t since;
    unsigned second;

    if (seconds < FIRST_S || seconds > LAST_S)
        return false;
    since = (uint64_t)(seconds + (DAYS_BEFORE_1970 + ERA_DAYS) * DAY_S);
    second = (unsigned)(since % DAY_S);
    memcpy(out, "0000-00-00T00:00:00Z", TIME_SIZE);
    write_date(out, (unsigned)(since / DAY_S));
    two_digits(out + 11, second / 3600);
    two_digits(out + 14, second / 60 % 60);
    two_digits(out + 17, second % 60);
    return true;
}
