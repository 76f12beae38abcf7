/* SPDX-License-Identifier: MIT */
/* The confinement of a worker: sets it up, and tries it out. */
#ifndef ADIT_MAIN_CONFINED_H
#define ADIT_MAIN_CONFINED_H

#include <stdbool.h>

#include "base/must_check.h"
#include "conf/conf.h"

/* Confines the process as far as the kernel supports.  It may then read only the files that it
 * needs for the database, TLS, name services and the key, even after a file has been replaced.
 * Logs, at level debug, what is in force. */
void confined_enter(const struct conf *conf);

/* Confines the process, tries what must fail and what must still work, and prints the results.
 * Returns whether all of them are as they must be. */
MUST_CHECK bool confined_check(const struct conf *conf);

#endif
