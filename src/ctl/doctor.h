/* SPDX-License-Identifier: MIT */
/* Shared by the files of aditctl doctor. */
#ifndef ADIT_CTL_DOCTOR_H
#define ADIT_CTL_DOCTOR_H

#include "ctl/listing.h"

struct findings {
    struct listing_out out; /* for JSON */
    int n_troubles;
};

/* Prints a line, or a row in JSON: a verdict (ok, note, trouble), what was checked, and what was
 * found. */
void doctor_line(struct findings *findings, const char *level, const char *what, const char *format,
                 ...) __attribute__((format(printf, 4, 5)));

/* Prints such a line for a trouble, and counts it. */
void doctor_trouble(struct findings *findings, const char *what, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Returns the value of the first line "name value" with that name, or an absent text.  No NUL
 * follows it. */
struct text doctor_value(struct text lines, const char *name);

/* Returns whether this machine has a gateway: its socket, or its folder of sessions. */
bool gateway_doctor_is_due(const struct conf *conf);

/* Check the gateway and, as a part of that, sshd.  Print a line for each check. */
void gateway_doctor_check(struct findings *findings, const struct ctl *ctl);
void sshd_doctor_check(struct findings *findings);

/* Returns whether sshd runs the helper for a user of this machine.  If sshd does not tell, every
 * block "Match User" counts. */
bool sshd_doctor_has_users(void);

#endif
