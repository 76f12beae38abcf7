/* SPDX-License-Identifier: MIT */
/* The caller: who sent a request, as the API key says. */
#ifndef ADIT_STORE_CALLER_H
#define ADIT_STORE_CALLER_H

#include "base/ident.h"
#include "crypt/crypt.h"

/* The API key that a request came with, and its account.  Both "" until a statement has found the
 * key, and if the key is unknown, revoked or expired. */
struct caller_identity {
    char key_id[IDENT_MAX + 1];
    char account_id[IDENT_MAX + 1];
};

struct caller {
    unsigned char digest[CRYPT_SHA256_LEN]; /* of the API key */
    char account_id[IDENT_SIZE];            /* that the key names, "": none; it grants no access */
    struct caller_identity *identity; /* a statement that finds the key fills it; may be NULL */
};

#endif
