/* SPDX-License-Identifier: MIT */
/* The folder of certificate authorities: one PEM file each, whose name is the authority's id. */
#ifndef ADIT_GATEWAY_AUTHORITY_H
#define ADIT_GATEWAY_AUTHORITY_H

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#include "base/buf.h"
#include "base/must_check.h"
#include "base/text.h"

/* Bytes of the largest file that is read. */
#define AUTHORITY_BYTES_MAX (1024 * 1024)

/* Which version of a file was seen.  All zero: there was none. */
struct authority_stamp {
    uint64_t device;
    uint64_t inode;
    int64_t size;
    struct timespec modified;
    struct timespec changed; /* its content, mode or owner */
};

/* Looks at the file of an authority.  Sets *stamp, which is all zero if there is no such file or
 * the id is no identifier (base/ident.h). */
void authority_look(const char *folder, struct text id, struct authority_stamp *stamp);

/* Returns whether both stamps are of the same version of a file. */
bool authority_stamps_equal(const struct authority_stamp *a, const struct authority_stamp *b);

/* Room for a reason. */
#define AUTHORITY_REASON_SIZE 400

/* The result of authority_read().  AUTHORITY_LEFT_OUT is 0. */
enum authority_result {
    AUTHORITY_LEFT_OUT, /* until the file changes */
    AUTHORITY_READ,
    AUTHORITY_FAILED /* to be read; another try may succeed, though the file is the same */
};

/* Reads the file of an authority and appends its certificates to *out as crypt_certificates_take()
 * does.  A symbolic link is followed: the folder is the operator's.  Unless it returns
 * AUTHORITY_READ, *out is unchanged and the reason is set.  If it does, the reason is what of the
 * file was left out; "": nothing.  An authority is left out if its id is
 * no identifier; if its file is missing, not a regular file, longer than AUTHORITY_BYTES_MAX or
 * damaged; or if it holds no certificate of an authority.  Never waits for another process,
 * whatever the file is. */
MUST_CHECK enum authority_result authority_read(const char *folder, struct text id, struct buf *out,
                                                char reason[AUTHORITY_REASON_SIZE]);

#endif
