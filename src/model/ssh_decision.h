/* SPDX-License-Identifier: MIT */
/* The decision whether an SSH key may log in, or bind a target: its fields, its rules, and JSON in
 * and out. */
#ifndef ADIT_MODEL_SSH_DECISION_H
#define ADIT_MODEL_SSH_DECISION_H

#include "base/buf.h"
#include "base/must_check.h"

#include "model/field.h"
#include "model/public_key.h"

/* The most that is read of one key, by decisions and by adit-gateway.  More would keep whoever
 * decides from deciding about others.  sql/schema.sql keeps keys from having more
 * credentials. */
#define SSH_GRANTS_MAX 1000
#define SSH_GRANT_RULES_MAX 16384         /* in all of them */
#define SSH_GRANT_BYTES_MAX (1024 * 1024) /* of all rules */

/* So many owners are left out of what a key has, at most, so that the rest is within the limits
 * (model/ssh_share.h). */
#define SSH_LEFT_OUT_MAX 4

/* The owners whose credentials are left out.  All zero: none. */
struct ssh_left_out {
    struct text owner_ids[SSH_LEFT_OUT_MAX];
    size_t n;
};

/* The question.  The key is given in one of two ways. */
struct ssh_decision_input {
    struct text fingerprint;      /* of the key, also if public_key is given */
    struct text public_key;       /* absent if the body has the fingerprint */
    struct public_key parsed_key; /* made from public_key */
    struct text target;           /* absent: may the key log in? */
};

/* What one credential grants to its key. */
struct ssh_grant {
    struct text id;
    struct text owner_id;
    struct text_list acl; /* empty: everything */
};

/* The answer. */
struct ssh_decision {
    const struct ssh_grant *grants; /* in the order of their identifiers, without those left out */
    size_t n_grants;
    struct text_list acl; /* all grants united; empty only without a grant */
    bool permitted;
    struct text rule; /* the rule that permits the target; else absent */
};

/* The members of the body. */
extern const struct field ssh_decision_fields[];
extern const size_t ssh_decision_n_fields;

/* Reads the body into *input, which the caller has zeroed and does not move: the fingerprint may
 * point into it.  Other text belongs to the tree.  Returns false with the error of the first wrong
 * member. */
MUST_CHECK bool ssh_decision_read(const struct json_node *body, struct arena *arena,
                                  struct ssh_decision_input *input, struct error *err);

/* Decides about a target, or about the login if it is absent.  If the united rules are too many or
 * too long, the grants of an owner are left out (model/ssh_share.h), beside those who are already,
 * and taken out of the list.  The decision keeps the grants and their text, and its list is in the
 * arena.  Returns false with ERR_GRANTS_TOO_MANY if the rules that are left still are too many or
 * too long, or with ERR_OUT_OF_MEMORY. */
MUST_CHECK bool ssh_decision_make(struct ssh_grant *grants, size_t n_grants,
                                  struct ssh_left_out *left_out, struct text target,
                                  struct arena *arena, struct ssh_decision *decision,
                                  struct error *err);

/* Appends the decision as JSON.  base_url has no trailing slash.  A lack of memory sets
 * out->failed. */
void ssh_decision_write(struct buf *out, const struct ssh_decision *decision, struct text base_url);

#endif
