/* SPDX-License-Identifier: MIT */
/* Signing in at the provider, and out. */
#ifndef ADIT_GATE_LOGIN_H
#define ADIT_GATE_LOGIN_H

#include "base/must_check.h"
#include "gate/call.h"
#include "gate/provider.h"

/* Sends the visitor to the provider, to come back to the page that was asked for. */
void login_begin(struct call *call);

/* Answers the visitor who comes back from the provider. */
void login_finish(struct call *call);

/* Signs the visitor out. */
void login_end(struct call *call);

/* Fills in the OAuth application of the route: the module's or the managed one, without its secret.
 * Returns false if there is neither. */
MUST_CHECK bool login_client(const struct call *call, struct provider_client *client);

#endif
