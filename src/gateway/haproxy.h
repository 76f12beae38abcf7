/* SPDX-License-Identifier: MIT */
/* HAProxy's runtime API: makes a running HAProxy obey an edge's files without a reload. */
#ifndef ADIT_GATEWAY_HAPROXY_H
#define ADIT_GATEWAY_HAPROXY_H

#include <stdbool.h>

#include "base/must_check.h"

/* Names in HAProxy's configuration, which "aditctl gateway-config haproxy" prints: the two backends
 * of an edge are its id with HAPROXY_ON or HAPROXY_OFF, and each has the server HAPROXY_SERVER.  A
 * '~' of the id, which names of HAProxy cannot have, is a ':' there. */
#define HAPROXY_ON ":on"
#define HAPROXY_OFF ":off"
#define HAPROXY_SERVER "tls"

/* Makes HAProxy take over the files of the edge in that folder, through its stats socket of level
 * admin.  If `ends` is true, ends the open connections of the edge.  An edge that HAProxy's
 * configuration does not name is passed over.  If HAProxy does not accept the authorities, it gets
 * "nobody", which refuses all.  Ends a transaction for another file of authorities that is open in
 * HAProxy, and says so on standard error.  Waits up to 2 s for each of up to 14 answers.  Returns
 * false, after a message on standard error, if a step fails; then it is safe to try again. */
MUST_CHECK bool haproxy_tell(const char *socket_path, const char *folder, const char *id,
                             bool ends);

#endif
