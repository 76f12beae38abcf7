/* SPDX-License-Identifier: MIT */
/* Requests, and the right answer to each. */
#ifndef ADIT_TESTS_ALLOC_SCENARIOS_H
#define ADIT_TESTS_ALLOC_SCENARIOS_H

#include <stdbool.h>

#include "serve/request.h"

/* Whose API key the request carries. */
enum who {
    WHO_ADMIN,
    WHO_MEMBER,
    WHO_READER,  /* the admin's key that may only read */
    WHO_GATEWAY, /* the admin's key that may only ask for decisions */
    WHO_REVOKED, /* this and the next: keys of the admin that are no longer valid */
    WHO_EXPIRED,
    WHO_HOARDER, /* of another account, which has 101 credentials */
    WHO_N,
    WHO_UNKNOWN = WHO_N, /* a key that was never issued */
    WHO_NOBODY           /* the row's authorization instead */
};

/* In path, query and body, "{credential}" stands for the identifier of the fixture's first
 * credential, "{member}" for the member's. */
struct scenario {
    const char *name;
    const char *method;
    const char *path;
    const char *query; /* NULL: none */
    const char *body;  /* NULL: none */
    const char *key; /* makes the body {"public_key": …} of this "class/name" of tests/cases/keys */
    enum who who;
    const char *authorization; /* of WHO_NOBODY; NULL: none */
    const char *version;       /* NULL: "2" */
    const char *content_type;  /* NULL: application/json where there is a body */
    const char *if_match;      /* NULL: none, also for the next one */
    const char *idempotency_key;
    enum body_state body_state;
    bool no_base_url; /* links take their host from the request */
    bool cold;        /* nothing is connected yet */
    int status;
    int number; /* of the error, or 0 */
};

/* All scenarios, ended by a row whose name is NULL. */
extern const struct scenario scenarios[];

#endif
