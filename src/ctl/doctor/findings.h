/* SPDX-License-Identifier: MIT */
/* What aditctl doctor finds: a line each. */
#ifndef ADIT_CTL_DOCTOR_FINDINGS_H
#define ADIT_CTL_DOCTOR_FINDINGS_H

#include <stdio.h>

#include "ctl/listing.h"

struct findings {
    struct listing_out out; /* for JSON */
    int n_troubles;
    FILE *relay;                    /* in a child of root: to the parent, which prints */
    struct doctor_learned *learned; /* in a child of root */
};

/* Prints a line, or a row in JSON: a verdict (ok, note, trouble), what was checked, and what was
 * found. */
void doctor_line(struct findings *findings, const char *level, const char *what, const char *format,
                 ...) __attribute__((format(printf, 4, 5)));

/* Prints such a line for a trouble, and counts it. */
void doctor_trouble(struct findings *findings, const char *what, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Prints a line of a child. */
void doctor_relay(struct findings *findings, const char *level, const char *what,
                  const char *message);

/* Writes a duration as people say it: "120 ms", "5 s", "24 h". */
#define DOCTOR_TIME_SIZE 32
void doctor_say_time(char out[DOCTOR_TIME_SIZE], int64_t ms);

#endif
