/* SPDX-License-Identifier: MIT */
/* Where the settings file is. */
#ifndef ADIT_CONF_FILE_H
#define ADIT_CONF_FILE_H

#include <stdbool.h>
#include <stdio.h>

#include "base/must_check.h"
#include "conf/conf.h"

/* Opens the settings file: the one at path, or if that is NULL, the first of those that conf_read()
 * lists.  Returns true with *file, which the caller closes, and its path in *found, which the
 * caller frees; both are NULL if no place has a file.  Returns false with a reason if the file
 * cannot be opened; *found may be set then. */
MUST_CHECK bool conf_file_open(const char *path, char **found, FILE **file,
                               char reason[CONF_REASON_SIZE]);

/* Returns the path of a file in the folder of another path, which the caller frees.  A name that
 * begins with '/' is returned as it is.  Returns NULL if memory runs out. */
MUST_CHECK char *conf_path_beside(const char *path, const char *name);

#endif
