/* SPDX-License-Identifier: MIT */
/* What a key is granted by its credentials. */
#ifndef ADIT_GATEWAY_GRANT_H
#define ADIT_GATEWAY_GRANT_H

#include "base/arena.h"
#include "base/must_check.h"
#include "model/ssh_options.h"
#include "store/gateway.h"

/* Why a key that is over the limits of model/ssh_decision.h may not log in, and loses what the part
 * of it that is read does not cover. */
#define GRANT_OVER "its key has more credentials or rules than are read; delete some"

/* Why a key with more rules than a session keeps may not log in. */
#define GRANT_TOO_MUCH "its key has more distinct rules than sshd takes; delete some"

struct judge_grant {
    struct text account_id;
    struct text_list credential_ids; /* in their order */
    struct text_list owner_ids;      /* of these, who came first first; absent but for logins */
    struct text digest;              /* of the whole key, as of a glance; "": none tells of it */
    struct text_list rules;          /* united, see acl_unite() */
    struct text_list granted; /* those of them that sshd is told: no labels, nothing malformed */
    struct text options; /* what sshd is told, see model/ssh_options.h; absent but for logins */
};

/* Unites the credentials of a key, of which there is one.  The texts stay those of the credentials,
 * and the lists are in the arena.  Returns false if memory runs out. */
MUST_CHECK bool grant_unite(const struct gateway_credentials *found, struct arena *arena,
                            struct judge_grant *grant);

/* Makes the grant of a login from the credentials of a key.  If they are more than sshd takes,
 * those of an owner are left out (model/ssh_share.h), beside those who are already, and taken out
 * of *found. Returns false with the reason in *why, static, if what is left is too much too, or
 * nothing is left; if memory runs out, it is ssh_options_no_memory. */
MUST_CHECK bool grant_make(struct gateway_credentials *found, const struct ssh_domain_ports *ports,
                           struct ssh_left_out *left_out, struct arena *arena,
                           struct judge_grant *grant, const char **why);

#endif
