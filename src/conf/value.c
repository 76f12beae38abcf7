/* SPDX-License-Identifier: MIT */
/* Times, words and numbers. */
#include "conf/value.h"

#include <string.h>

#include "base/number.h"

bool conf_value_time(const char *value, uint64_t most_ms, int *out_ms)
{
    size_t n = strspn(value, "0123456789");
    uint64_t number;
    uint64_t unit_ms = strcmp(value + n, "ms") == 0 ? 1 : 1000;

    if ((unit_ms == 1000 && strcmp(value + n, "s") != 0) ||
        !number_read((struct text){.s = value, .len = n}, 10, most_ms / unit_ms, &number))
        return false;
    *out_ms = (int)(number * unit_ms);
    return true;
}

bool conf_value_interval(const char *value, uint64_t most_ms, int *out_ms)
{
    return conf_value_time(value, most_ms, out_ms) && *out_ms > 0;
}

const char *conf_value_yes_or_no(const char *value, bool *is_yes)
{
    *is_yes = strcmp(value, "yes") == 0;
    return *is_yes || strcmp(value, "no") == 0 ? NULL : "must be yes or no";
}

const char *conf_value_most(const char *value, int *out)
{
    uint64_t number;

    if (!number_read(text_of(value), 10, CONF_MOST, &number))
        return "must be a whole number up to 1000000; 0 is no limit";
    *out = (int)number;
    return NULL;
}
