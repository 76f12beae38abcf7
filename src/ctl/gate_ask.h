/* SPDX-License-Identifier: MIT */
/* Asks the adit-gate of this machine about a request, as a web server does. */
#ifndef ADIT_CTL_GATE_ASK_H
#define ADIT_CTL_GATE_ASK_H

#include "base/must_check.h"
#include "base/text.h"

/* Where Apache finds adit-gate: mod_authnz_fcgi knows no Unix sockets. */
#define GATE_ASK_PORT "918"
#define GATE_ASK_PLACE "127.0.0.1:" GATE_ASK_PORT

/* Asks whether a request without a session may pass a route, which need not have a module.  socket
 * is a path, or NULL: GATE_ASK_PORT of 127.0.0.1.  account_id may be "".  Waits at most some 10 s.
 * Returns the status of the answer, 100 to 599; or 0 with why, which is strerror()'s or static. */
MUST_CHECK int gate_ask(const char *socket, const char *account_id, const char **why);

#endif
