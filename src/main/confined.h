/* SPDX-License-Identifier: MIT */
/* The confinement of a worker: what it may read, and whether that holds. */
#ifndef ADIT_MAIN_CONFINED_H
#define ADIT_MAIN_CONFINED_H

#include <stdbool.h>

#include "conf/conf.h"

/* Confines the process as far as the kernel lets it, to reading what connections to the database,
 * TLS, name services and the key file need, now and after any of them was replaced.  One line of
 * the log, at level debug, says what is in force. */
void confined_enter(const struct conf *conf);

/* Does the same, then tries what is not to work any more, and what is, and prints what came of it.
 * Returns whether all is as it has to be. */
bool confined_check(const struct conf *conf);

#endif
