/* SPDX-License-Identifier: MIT */
/* One daemon at a time uses a folder. */
#ifndef ADIT_GATEWAY_FOLDER_LOCK_H
#define ADIT_GATEWAY_FOLDER_LOCK_H

#include "base/must_check.h"

/* Locks an open folder against other daemons: locks the file .lock in it, and makes that if there
 * is none.  Returns its descriptor, which holds the lock until it is closed, or -1 with errno set:
 * EWOULDBLOCK if another process has the lock, EPERM if the file is not a file of this user. */
MUST_CHECK int folder_lock(int folder_fd);

#endif
