/* SPDX-License-Identifier: MIT */
/* SSH credentials. */
#include "model/ssh_credential.h"

#include "base/time.h"
#include "json/write.h"
#include "model/acl.h"
#include "model/uri.h"

#define DESCRIPTION_MAX 255
#define METADATA_MAX 4096

#define AT(member) .offset = offsetof(struct ssh_credential_input, member)

#define RULE_FORMS                                                                                 \
    " A rule is '*', 'bind:<domain>', 'bind:*.<domain>', 'bind:<host>:<port>' or "                 \
    "'bind:<key>=<value>'."

#define SHARED_FIELDS                                                                              \
    {.name = "description",                                                                        \
     .kind = FIELD_TEXT,                                                                           \
     AT(description),                                                                              \
     .max = DESCRIPTION_MAX,                                                                       \
     .too_long = ERR_DESCRIPTION_TOO_LONG},                                                        \
        {.name = "metadata",                                                                       \
         .kind = FIELD_TEXT,                                                                       \
         AT(metadata),                                                                             \
         .max = METADATA_MAX,                                                                      \
         .too_long = ERR_METADATA_TOO_LONG},                                                       \
    {                                                                                              \
        .name = "acl", .kind = FIELD_TEXTS, AT(acl), .too_many = ERR_ACL_TOO_MANY,                 \
        .valid = acl_rule_valid, .forms = RULE_FORMS, .invalid = ERR_ACL_RULE                      \
    }

const struct field ssh_credential_create_fields[] = {
    SHARED_FIELDS,
    {.name = "public_key",
     .kind = FIELD_TEXT,
     AT(public_key),
     .is_secret = true,
     .max = PUBLIC_KEY_MAX,
     .too_long = ERR_PUBLIC_KEY_TOO_LONG,
     .empty = ERR_PUBLIC_KEY_MISSING},
    {.name = "owner_id",
     .kind = FIELD_TEXT,
     AT(owner_id),
     .valid = field_ident_valid,
     .invalid = ERR_OWNER_ID_MALFORMED},
};

const struct field ssh_credential_update_fields[] = {
    {.name = "id", .kind = FIELD_TEXT, AT(id)},
    SHARED_FIELDS,
    {.name = "public_key", .kind = FIELD_REFUSED, .invalid = ERR_PUBLIC_KEY_FIXED},
    {.name = "owner_id", .kind = FIELD_REFUSED, .invalid = ERR_OWNER_FIXED},
};

#define N_ROWS(table) (sizeof(table) / sizeof(table)[0])

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

bool ssh_credential_check_rules(const struct text_list *acl, struct error *err)
{
    return acl->n > 0 ||
           error_field(err, ERR_ACL_REQUIRED, "acl", "%s", error_row(ERR_ACL_REQUIRED)->text);
}

bool ssh_credential_read_create(const struct json_node *body, struct arena *arena,
                                struct ssh_credential_input *input, struct error *err)
{
    const struct field_reader reader = {.arena = arena};

    return fields_known(body, ssh_credential_create_fields, ssh_credential_n_create_fields, err) &&
           fields_read(body, ssh_credential_create_fields, ssh_credential_n_create_fields, input,
                       &reader, err) &&
           ssh_credential_read_key(input->public_key, &input->parsed_key, err);
}

bool ssh_credential_read_update(const struct json_node *body, struct text path_id,
                                struct arena *arena, struct ssh_credential_input *input,
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
    char created_at[TIME_SIZE] = "";

    time_write(created_at, credential->created_at);
    json_open(out, '{');
    json_put_member(out, "id", credential->id);
    ssh_credential_write_uri(out, base_url, credential->id);
    json_put_member(out, "created_at", text_of(created_at));
    json_put_member(out, "description", credential->description);
    json_put_member(out, "metadata", credential->metadata);
    json_put_member(out, "public_key", credential->public_key);
    json_put_name(out, "acl");
    json_put_texts(out, credential->acl);
    json_put_member(out, "owner_id", credential->owner_id);
    json_close(out, '}');
}
