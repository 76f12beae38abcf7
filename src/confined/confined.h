/* SPDX-License-Identifier: MIT */
/* The confinement of a worker: sets it up, and tests it. */
#ifndef ADIT_CONFINED_CONFINED_H
#define ADIT_CONFINED_CONFINED_H

#include <stdbool.h>

#include "base/must_check.h"
#include "conf/conf.h"

/* What a program needs. */
struct confined_needs {
    const struct conf *conf;
    const char *conninfo; /* of its database */
    const char *ca_file;  /* of its connections by TLS, beside the database's; NULL or "": none */
};

/* Confines the process as far as the kernel supports.  It may then read only the files that it
 * needs for the database, TLS, name services and the key, even after a file has been replaced.
 * Logs the active confinement at level debug. */
void confined_enter(const struct confined_needs *needs);

/* Confines the process, makes calls that must fail or must still work, and prints the results.
 * Returns whether all results are right. */
MUST_CHECK bool confined_check(const struct confined_needs *needs);

#endif
