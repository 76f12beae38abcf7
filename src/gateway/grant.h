/* SPDX-License-Identifier: MIT */
/* What a key is granted by its credentials. */
#ifndef ADIT_GATEWAY_GRANT_H
#define ADIT_GATEWAY_GRANT_H

#include "base/arena.h"
#include "base/must_check.h"
#include "store/gateway.h"

/* Why a key that is over the limits of model/ssh_decision.h may not log in, and loses what the part
 * of it that is read does not cover. */
#define GRANT_OVER "its key has more credentials or rules than are read; delete some"

/* Why a key with more rules than grant_fits() may not log in. */
#define GRANT_TOO_MUCH "its key has more distinct rules than sshd takes; delete some"

struct judge_grant {
    struct text account_id;
    struct text_list credential_ids; /* in their order */
    struct text digest;              /* as of a glance; absent if they are a part of the key's */
    struct text_list rules;          /* united, see acl_unite() */
    struct text_list granted; /* those of them that sshd is told: no labels, nothing malformed */
    struct text options; /* what sshd is told, see model/ssh_options.h; absent but for logins */
};

/* Unites the credentials of a key, of which there is one.  The texts stay those of the credentials,
 * and the lists are in the arena.  Returns false if memory runs out. */
MUST_CHECK bool grant_unite(const struct gateway_credentials *found, struct arena *arena,
                            struct judge_grant *grant);

/* Returns whether sshd takes so many rules.  A session keeps no more. */
MUST_CHECK bool grant_fits(const struct judge_grant *grant);

#endif
