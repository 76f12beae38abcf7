/* SPDX-License-Identifier: MIT */
/* From the first key that a client offers to its login, which proves that it owns the key.  sshd
 * asks the same before it has checked a signature as after that; but the process that serves the
 * client exits once it has logged in. */
#ifndef ADIT_GATEWAY_LOGIN_H
#define ADIT_GATEWAY_LOGIN_H

#include "base/must_check.h"
#include "gateway/gateway.h"

/* Has a new session log in, whose monitor is the parent of the process that asks.  Returns false
 * with errno set if descriptors run out. */
MUST_CHECK bool login_begin(struct gateway *gateway, struct ssh_session *session, pid_t asker);

/* Has the loop call login_end() for a session, unless it has logged in.  Returns false with errno
 * set. */
MUST_CHECK bool login_watch(const struct gateway *gateway, const struct ssh_session *session);

/* Keeps for whom the session may count, unless it has logged in.  Returns false if memory runs out.
 */
MUST_CHECK bool login_set_owners(struct ssh_session *session, struct text_list owner_ids);

/* Ends other sessions that have not logged in, if all these take too much memory or too many
 * descriptors. */
void login_make_room(struct gateway *gateway, const struct ssh_session *session);

/* The process of a login, with this descriptor, has exited.  The session takes room from now on,
 * and ends if there is none: others may have logged in since its key was offered. */
void login_end(struct gateway *gateway, int fd);

/* The same for the sessions of the run before that have logged in since it ended. */
void login_judge_former(struct gateway *gateway);

#endif
