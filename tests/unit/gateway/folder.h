/* SPDX-License-Identifier: MIT */
/* A temporary folder of a test, and the files in it. */
#ifndef ADIT_TESTS_GATEWAY_FOLDER_H
#define ADIT_TESTS_GATEWAY_FOLDER_H

#include "base/buf.h"

/* The folder's path, or "". */
extern char folder[64];

/* Makes the folder, and removes it with all that it holds. */
void folder_make(void);
void folder_remove(void);

/* Returns the path of a file in the folder; static, until the fourth next call. */
const char *folder_path(const char *name);

/* Replaces a file. */
void folder_write(const char *name, struct text content);

/* Replaces a file by one of tests/cases/certificates. */
void folder_copy(const char *name, const char *certificate);

/* Reads a file into *out, which it clears first.  Returns false if there is none. */
bool folder_read(const char *name, struct buf *out);

/* Appends a file of tests/cases/certificates. */
void folder_add_certificate(struct buf *out, const char *certificate);

#endif
