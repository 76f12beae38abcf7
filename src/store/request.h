/* SPDX-License-Identifier: MIT */
/* What each operation of the store gets from the request that it is for. */
#ifndef ADIT_STORE_REQUEST_H
#define ADIT_STORE_REQUEST_H

#include <stdint.h>

#include "base/arena.h"
#include "base/text.h"
#include "crypt/crypt.h"
#include "http/precondition.h"
#include "store/caller.h"

/* The Idempotency-Key of a request, and what every request with it must have. */
struct once {
    struct text key; /* not given: the request has none */
    unsigned char request_digest[CRYPT_SHA256_LEN];
};

/* All zero but the caller and the arena: a request without conditions. */
struct store_request {
    struct caller caller;
    const char *operation_id;   /* for the audit; NULL only if the operation just reads */
    const char *client_address; /* for audit and log: an IP address; NULL: it is not known */
    struct precondition condition;
    struct once once;
    uint64_t scans_for;  /* whom a filter counts for, as in struct request */
    unsigned keys;       /* the kinds of key that may ask this, an enum key_set; 0: none */
    struct arena *arena; /* holds parameters and results; it must outlive both */
};

#endif
