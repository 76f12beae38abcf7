/* SPDX-License-Identifier: MIT */
/* SSH credentials. */
#include "model/ssh_credential.h"

#include <string.h>

#include "json/write.h"
#include "model/acl.h"
#include "model/uri.h"

#define ACL_RULE_FORMS                                                                             \
    " A rule is '*', 'bind:<domain>', 'bind:*.<domain>', 'bind:<host>:<port>' or "                 \
    "'bind:<key>=<value>'."

/* clang-format off */
const struct field ssh_credential_members[] = {
    SSH_CREDENTIAL_MEMBERS(MEMBER_READ, ssh_credential)
};

const struct field ssh_credential_create_fields[] = {
    SSH_CREDENTIAL_MEMBERS(MEMBER_IN_POST, ssh_credential)
};

const struct field ssh_credential_update_fields[] = {
    SSH_CREDENTIAL_MEMBERS(MEMBER_IN_PATCH, ssh_credential)
};
/* clang-format on */

#define N_ROWS(table) (sizeof(table) / sizeof(table)[0])

const size_t ssh_credential_n_members = N_ROWS(ssh_credential_members);
const size_t ssh_credential_n_create_fields = N_ROWS(ssh_credential_create_fields);
const size_t ssh_credential_n_update_fields = N_ROWS(ssh_credential_update_fields);

bool ssh_credential_read_key(struct text public_key, struct public_key *key, struct error *err)
{
    const char *reason = NULL;

    if (!public_key.s)
        return error_field(err, ERR_PUBLIC_KEY_MISSING, "public_key", "%s",
                           error_row(ERR_PUBLIC_KEY_MISSING)->text);
    if (public_key_read(public_key, key, &reason))
        return true;
    if (!reason)
        return error_set(err, ERR_OUT_OF_MEMORY);
    return error_field(err, ERR_PUBLIC_KEY_INVALID, "public_key", "public_key %s", reason);
}

bool ssh_credential_parse_key(struct ssh_credential *credential, struct arena *arena,
                              struct error *err)
{
    struct public_key key = {.fingerprint = ""};
    char *fingerprint;

    if (!ssh_credential_read_key(credential->public_key, &key, err))
        return false;
    fingerprint = arena_copy(arena, key.fingerprint, strlen(key.fingerprint));
    if (!fingerprint)
        return error_set(err, ERR_OUT_OF_MEMORY);
    credential->key_type = text_of(key.type);
    credential->fingerprint = text_of(fingerprint);
    return true;
}

bool ssh_credential_check_rules(const struct text_list *acl, struct error *err)
{
    return acl->n > 0 ||
           error_field(err, ERR_ACL_REQUIRED, "acl", "%s", error_row(ERR_ACL_REQUIRED)->text);
}

bool ssh_credential_read_create(const struct json_node *body, struct arena *arena,
                                struct ssh_credential *input, struct error *err)
{
    const struct field_reader reader = {.arena = arena};

    fields_fill(ssh_credential_create_fields, ssh_credential_n_create_fields, input);
    return fields_known(body, ssh_credential_create_fields, ssh_credential_n_create_fields, err) &&
           fields_read(body, ssh_credential_create_fields, ssh_credential_n_create_fields, input,
                       &reader, err) &&
           ssh_credential_parse_key(input, arena, err);
}

bool ssh_credential_read_update(const struct json_node *body, struct text path_id,
                                struct arena *arena, struct ssh_credential *input,
                                struct error *err)
{
    const struct field_reader reader = {.arena = arena};

    if (!fields_known(body, ssh_credential_update_fields, ssh_credential_n_update_fields, err) ||
        !fields_read(body, ssh_credential_update_fields, ssh_credential_n_update_fields, input,
                     &reader, err))
        return false;
    if (input->id.s && !text_eq(input->id, path_id))
        return error_field(err, ERR_ID_MISMATCH, "id",
                           "id differs from the identifier in the path. Leave it out, or give the "
                           "same.");
    return true;
}

void ssh_credential_write_uri(struct buf *out, struct text base_url, struct text id)
{
    uri_write(out, base_url, "/ssh_credentials/", id);
}

void ssh_credential_write(struct buf *out, const struct ssh_credential *credential,
                          struct text base_url)
{
    json_open(out, '{');
    json_put_member(out, "id", credential->id);
    ssh_credential_write_uri(out, base_url, credential->id);
    fields_write(out, ssh_credential_members + 1, ssh_credential_n_members - 1, credential);
    json_close(out, '}');
}
