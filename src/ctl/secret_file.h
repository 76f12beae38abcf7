/* SPDX-License-Identifier: MIT */
/* Client secrets from outside: their limits, and files with one each. */
#ifndef ADIT_CTL_SECRET_FILE_H
#define ADIT_CTL_SECRET_FILE_H

#include <stdbool.h>

#include "base/arena.h"
#include "base/must_check.h"

/* Room for a reason, which follows "FILE, which ". */
#define SECRET_REASON_SIZE 160

/* Returns whether the text may be a client secret: 1 to 1024 bytes of UTF-8 without NUL, as in a
 * request, in one line, and all of its characters show; and neither a key of a key file nor an API
 * key.  If not, writes the reason, which quotes nothing of it. */
MUST_CHECK bool secret_valid(struct text secret, char reason[SECRET_REASON_SIZE]);

/* Reads the client secret of a file, without a line end after it.  The bytes belong to the arena.
 * Accepts only a regular file that others may neither read nor write, as the key file.  Returns
 * false with the reason. */
MUST_CHECK bool secret_file_read(const char *path, struct arena *arena, struct text *secret,
                                 char reason[SECRET_REASON_SIZE]);

/* Does so with a file that is open.  The descriptor stays the caller's. */
MUST_CHECK bool secret_file_read_open(int fd, struct arena *arena, struct text *secret,
                                      char reason[SECRET_REASON_SIZE]);

#endif
