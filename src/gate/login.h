/* SPDX-License-Identifier: MIT */
/* Signing in at the provider, and out. */
#ifndef ADIT_GATE_LOGIN_H
#define ADIT_GATE_LOGIN_H

#include "base/must_check.h"
#include "gate/gate_call.h"

/* Sends the visitor to the provider, to come back to the page that was asked for. */
void login_begin(struct gate_call *call);

/* Answers the visitor who comes back from the provider. */
void login_finish(struct gate_call *call);

/* Signs the visitor out. */
void login_end(struct gate_call *call);

/* Returns whether a new sign-in may let a visitor in whom the session does not: the module's lists
 * need what was not asked for or not given, or it asks for a scope that was not asked for, or the
 * lists let a stranger in now. */
MUST_CHECK bool login_may_let_in(struct gate_call *call, const struct visitor_session *session);

#endif
