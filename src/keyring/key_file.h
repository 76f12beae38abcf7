/* SPDX-License-Identifier: MIT */
/* Writing the key file, for keyring.c. */
#ifndef ADIT_KEYRING_KEY_FILE_H
#define ADIT_KEYRING_KEY_FILE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/must_check.h"
#include "crypt/crypt.h"

/* Bytes of the line of a key, with its line feed. */
#define KEY_LINE_SIZE (8 + 1 + 2 * CRYPT_KEY_LEN + 1)

/* Makes the line of a new key: 8 hexadecimal digits as its id, and the key.  The caller wipes it.
 * Returns false with a reason. */
MUST_CHECK bool key_file_make_line(char line[KEY_LINE_SIZE + 1], char *reason, size_t size);

/* Writes a new file with the line in front of the old content, and the old one's owner, group and
 * mode.  Then renames it.  Returns false with errno; the old file then stays. */
MUST_CHECK bool key_file_prepend(const char *path, const char *new_path, const char *line);

#endif
