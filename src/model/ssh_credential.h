/* SPDX-License-Identifier: MIT */
/* The SSH credential: its fields, and JSON in and out. */
#ifndef ADIT_MODEL_SSH_CREDENTIAL_H
#define ADIT_MODEL_SSH_CREDENTIAL_H

#include <stdint.h>

#include "base/buf.h"
#include "base/must_check.h"

#include "model/member.h"
#include "model/public_key.h"

/* A credential: what a body gives, or a row.  What is not given is absent. */
/* clang-format off */
struct ssh_credential {
    SSH_CREDENTIAL_MEMBERS(MEMBER_DECLARED, _)
};
/* clang-format on */

/* All members, and those of the bodies of POST and PATCH. */
extern const struct field ssh_credential_members[];
extern const size_t ssh_credential_n_members;
extern const struct field ssh_credential_create_fields[];
extern const size_t ssh_credential_n_create_fields;
extern const struct field ssh_credential_update_fields[];
extern const size_t ssh_credential_n_update_fields;

/* Reads the body of a POST into *input, which the caller has zeroed.  Text belongs to the tree,
 * arrays to the arena.  Returns false with the error of the first wrong member. */
MUST_CHECK bool ssh_credential_read_create(const struct json_node *body, struct arena *arena,
                                           struct ssh_credential *input, struct error *err);

/* Reads the body of a PATCH in the same way.  path_id is the identifier in the path. */
MUST_CHECK bool ssh_credential_read_update(const struct json_node *body, struct text path_id,
                                           struct arena *arena, struct ssh_credential *input,
                                           struct error *err);

/* Refuses a list without a rule, for services that require rules ([service] require_acl).  Returns
 * false with ERR_ACL_REQUIRED. */
MUST_CHECK bool ssh_credential_check_rules(const struct text_list *acl, struct error *err);

/* Reads the member public_key of a body.  Returns false with ERR_PUBLIC_KEY_MISSING if it is
 * absent, ERR_PUBLIC_KEY_INVALID or ERR_OUT_OF_MEMORY. */
MUST_CHECK bool ssh_credential_read_key(struct text public_key, struct public_key *key,
                                        struct error *err);

/* Makes of a credential's public key what is made of it, in the arena.  Returns false as above. */
MUST_CHECK bool ssh_credential_parse_key(struct ssh_credential *credential, struct arena *arena,
                                         struct error *err);

/* Appends the credential as JSON.  base_url has no trailing slash.  A lack of memory sets
 * out->failed. */
void ssh_credential_write(struct buf *out, const struct ssh_credential *credential,
                          struct text base_url);

/* Appends the member "uri" of a credential. */
void ssh_credential_write_uri(struct buf *out, struct text base_url, struct text id);

#endif
