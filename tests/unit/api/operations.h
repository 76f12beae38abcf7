/* SPDX-License-Identifier: MIT */
/* The operations of the interface, as data. */
#ifndef ADIT_TESTS_API_OPERATIONS_H
#define ADIT_TESTS_API_OPERATIONS_H

#include "api/client.h"

/* A request that nothing is wrong with, and what there is to be wrong with it. */
struct operation {
    const char *method;
    const char *path;
    const char *body; /* "": takes none */
    int status;
    bool writes;
    int missing; /* what another identifier is; 0: nothing that does not exist */
    const char *missing_path;
    int malformed; /* what an identifier is that can be none; 0: there is none in the path */
    const char *malformed_path;
};

extern const struct operation operations[];
extern const size_t operations_n;

/* The path of a credential that is there after operations_open(). */
extern char operations_credential_path[64];

/* Opens a client whose store holds what the operations ask for. */
void operations_open(struct client *client);

/* Faults of any request: its version, its key. */
void fault_no_version(struct request *request);
void fault_no_key(struct request *request);
void fault_other_scheme(struct request *request);
void fault_malformed_key(struct request *request);
void fault_unknown_key(struct request *request);
void fault_revoked_key(struct request *request);

#endif
