/* SPDX-License-Identifier: MIT */
/* What aditctl says on standard error, and how it exits. */
#ifndef ADIT_CTL_MESSAGE_H
#define ADIT_CTL_MESSAGE_H

#include <stdint.h>

#include "base/error.h"

/* Exit statuses.  A verb that answers yes or no exits with CTL_NO for no.  Where it cannot tell, it
 * exits with CTL_CANNOT_TELL instead of CTL_FAILED. */
enum { CTL_OK = 0, CTL_FAILED = 1, CTL_NO = 1, CTL_USAGE = 2, CTL_CANNOT_TELL = 3 };

/* Print "aditctl: ..." and a newline on standard error, as terminal_put_message() shows it.  Return
 * nothing, CTL_FAILED and CTL_USAGE. */
void ctl_note(const char *format, ...) __attribute__((format(printf, 1, 2)));
int ctl_fail(const char *format, ...) __attribute__((format(printf, 1, 2)));
int ctl_misuse(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Prints the error and, if known, what to do about it.  Returns CTL_FAILED. */
int ctl_fail_error(const struct error *err);

/* Returns the cause of the error, or without a cause the text of its code, as one line: libpq's
 * messages have several.  The text is static and changes with the next call. */
const char *ctl_reason(const struct error *err);

/* Returns the ending of a noun after a number: "" for 1, else "s". */
const char *ctl_plural(int64_t n);

/* Returns the name of the system user that the process runs as, or its number; static. */
const char *ctl_user_name(void);

#endif
