/* SPDX-License-Identifier: MIT */
/* Files that are whole at every moment, whenever the process or the machine stops. */
#ifndef ADIT_GATEWAY_WHOLE_FILE_H
#define ADIT_GATEWAY_WHOLE_FILE_H

#include <stdbool.h>

#include "base/buf.h"
#include "base/must_check.h"
#include "base/text.h"

/* The name under which a file is written before it gets its own.  What another user left there is
 * removed. */
#define WHOLE_FILE_ASIDE ".new"

/* Replaces the file of that name: writes the content aside, forces it to the disk, renames it, and
 * forces the folder to the disk.  The file's mode is 0644, whatever the umask.  Creates the folder
 * with mode 0755, but not those above it.  Returns false, with errno set, if a step fails; then the
 * file is the old or the new one, and it is safe to try again. */
MUST_CHECK bool whole_file_put(const char *folder, const char *name, struct text content);

/* The same for a file that is written anew after a crash of the machine: forces nothing to the
 * disk, and so waits for no disk. */
MUST_CHECK bool whole_file_show(const char *folder, const char *name, struct text content);

/* Locks the folder as folder_lock() does.  Creates it as whole_file_put() does. */
MUST_CHECK int whole_file_lock(const char *folder);

/* Reads at most `most` bytes of a file into *out.  Returns false, with errno set, if it cannot be
 * read: EFBIG if it is longer, ENOENT if there is none. */
MUST_CHECK bool whole_file_read(const char *folder, const char *name, size_t most, struct buf *out);

/* Removes the file, and forces the folder to the disk.  No such file is no error.  Returns false,
 * with errno set, if a step fails. */
MUST_CHECK bool whole_file_remove(const char *folder, const char *name);

#endif
