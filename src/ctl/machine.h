/* SPDX-License-Identifier: MIT */
/* What aditctl learns of the machine: files, units, and what programs print. */
#ifndef ADIT_CTL_MACHINE_H
#define ADIT_CTL_MACHINE_H

#include <stdbool.h>

#include "base/buf.h"
#include "base/must_check.h"
#include "base/text.h"

/* Runs a program and appends all that it prints.  Returns whether it ended with status 0. */
MUST_CHECK bool machine_run(char *const *arguments, struct buf *out);

/* Returns the value of the first line "name value" with that name, or an absent text.  No NUL
 * follows it.  The case of names does not count: older sshds write all of theirs in lower case,
 * newer ones as in the manual. */
struct text machine_value(struct text lines, const char *name);

/* Returns whether there is a file.  One in a folder that this user may not enter may be there. */
bool machine_may_be_there(const char *path);

/* Returns whether systemd starts the unit at boot.  Without systemd, it does not. */
MUST_CHECK bool machine_starts_at_boot(const char *unit);

/* Of OpenSSH. */
#define MACHINE_SSHD "/usr/sbin/sshd"

/* Returns whether this machine's sshd penalises addresses, as OpenSSH does from 9.8 on. */
bool machine_sshd_has_penalties(void);

#endif
