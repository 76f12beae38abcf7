/* SPDX-License-Identifier: MIT */
/* The operations of the API, as data. */
#ifndef ADIT_TESTS_API_OPERATIONS_H
#define ADIT_TESTS_API_OPERATIONS_H

#include "api/client.h"

/* A valid request, and the faults that it can have. */
struct operation {
    const char *method;
    const char *path;
    const char *body; /* "": takes none */
    int status;
    bool writes;
    int missing; /* error of an unknown identifier; 0: none */
    const char *missing_path;
    int malformed; /* error of a malformed identifier; 0: none */
    const char *malformed_path;
};

extern const struct operation operations[];
extern const size_t operations_n;

/* The paths of a credential that operations_open() creates, and of its last event. */
extern char operations_credential_path[64];
extern char operations_event_path[64];

/* Opens a client whose store has the resources of the operations. */
void operations_open(struct client *client);

/* Add a fault to a request: to its version or its key. */
void fault_no_version(struct request *request);
void fault_no_key(struct request *request);
void fault_other_scheme(struct request *request);
void fault_malformed_key(struct request *request);
void fault_unknown_key(struct request *request);
void fault_revoked_key(struct request *request);

#endif
