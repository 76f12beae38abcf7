/* SPDX-License-Identifier: MIT */
/* The handlers of SSH credentials.  As in a row of the route table: read() checks the input, the
 * others do the work and write the answer.  Each returns false with *err. */
#ifndef ADIT_API_SSH_CREDENTIAL_H
#define ADIT_API_SSH_CREDENTIAL_H

#include "api/call.h"

/* Query parameters of the list. */
extern const struct query_param api_ssh_credential_query[];

bool api_ssh_credential_read_create(struct call *call, struct error *err);
bool api_ssh_credential_create(struct call *call, struct error *err);
bool api_ssh_credential_read_list(struct call *call, struct error *err);
bool api_ssh_credential_list(struct call *call, struct error *err);
bool api_ssh_credential_get(struct call *call, struct error *err);
bool api_ssh_credential_read_update(struct call *call, struct error *err);
bool api_ssh_credential_update(struct call *call, struct error *err);
bool api_ssh_credential_delete(struct call *call, struct error *err);

#endif
