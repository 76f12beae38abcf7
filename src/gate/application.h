/* SPDX-License-Identifier: MIT */
/* The OAuth application with which a route's visitors sign in. */
#ifndef ADIT_GATE_APPLICATION_H
#define ADIT_GATE_APPLICATION_H

#include "base/must_check.h"
#include "gate/gate_call.h"
#include "gate/provider.h"

/* Fills in the OAuth application of the route: the module's or the managed one, without its secret.
 * Returns false if there is neither. */
MUST_CHECK bool application_fill(const struct gate_call *call, struct provider_client *client);

/* Opens the secret of that application into *client.  Returns false with *err. */
MUST_CHECK bool application_open_secret(struct gate_call *call, struct provider_client *client,
                                        struct error *err);

#endif
