/* SPDX-License-Identifier: MIT */
/* Values of settings that several have the form of. */
#ifndef ADIT_CONF_VALUE_H
#define ADIT_CONF_VALUE_H

#include <stdbool.h>
#include <stdint.h>

/* Reads a number of milliseconds or seconds: "100ms", "2s".  Returns false if it is none, or more
 * than the most. */
bool conf_value_time(const char *value, uint64_t most_ms, int *out_ms);

/* The same, and not 0. */
bool conf_value_interval(const char *value, uint64_t most_ms, int *out_ms);

/* Reads yes or no.  Returns what is wrong with it, or NULL. */
const char *conf_value_yes_or_no(const char *value, bool *is_yes);

#define CONF_MOST 1000000

/* Reads how many there may be; 0: any number.  Returns what is wrong with it, or NULL. */
const char *conf_value_most(const char *value, int *out);

#endif
