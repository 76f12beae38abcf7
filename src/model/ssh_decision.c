/* SPDX-License-Identifier: MIT */
/* Decisions about SSH keys. */
#include "model/ssh_decision.h"

#include "json/write.h"
#include "model/acl.h"
#include "model/ssh_credential.h"
#include "model/ssh_options.h"
#include "model/ssh_share.h"

#define AT(member) .offset = offsetof(struct ssh_decision_input, member)

static bool fingerprint_valid(struct text value, const char **why)
{
    *why = "a fingerprint is '" PUBLIC_KEY_FINGERPRINT_PREFIX "' and 43 base64 characters without "
           "'=', as 'ssh-keygen -l' prints it";
    return public_key_fingerprint_valid(value);
}

const struct field ssh_decision_fields[] = {
    {.name = "fingerprint",
     .kind = FIELD_TEXT,
     AT(fingerprint),
     .is_secret = true, /* a client may put the key here, even a private one */
     .valid = fingerprint_valid,
     .invalid = ERR_FINGERPRINT_MALFORMED},
    {.name = "public_key",
     .kind = FIELD_TEXT,
     AT(public_key),
     .is_secret = true,
     .max = PUBLIC_KEY_MAX,
     .too_long = ERR_PUBLIC_KEY_TOO_LONG,
     .empty = ERR_PUBLIC_KEY_MISSING},
    {.name = "target", .kind = FIELD_TEXT, AT(target), .empty = ERR_TARGET_MALFORMED},
};

const size_t ssh_decision_n_fields = sizeof ssh_decision_fields / sizeof ssh_decision_fields[0];

static bool read_asked_key(struct ssh_decision_input *input, struct error *err)
{
    if (input->fingerprint.s && input->public_key.s)
        return error_field(err, ERR_DECISION_KEY_TWICE, "public_key", "%s",
                           error_row(ERR_DECISION_KEY_TWICE)->text);
    if (input->fingerprint.s)
        return true;
    if (!input->public_key.s)
        return error_field(err, ERR_DECISION_KEY_MISSING, "fingerprint", "%s",
                           error_row(ERR_DECISION_KEY_MISSING)->text);
    if (!ssh_credential_read_key(input->public_key, &input->parsed_key, err))
        return false;
    input->fingerprint = text_of(input->parsed_key.fingerprint);
    return true;
}

static bool must_be_target(struct text target, struct error *err)
{
    char quote[ERROR_QUOTE_SIZE];
    struct acl_target read;
    const char *why;

    if (!target.s || acl_target_read(target, &read, &why))
        return true;
    if (text_begins(target, "bind:"))
        why = "leave 'bind:' out";
    return error_field(err, ERR_TARGET_MALFORMED, "target",
                       "target is '%s', which is not valid: %s. A target is '<domain>', "
                       "'*.<domain>', '<host>:<port>' or '<key>=<value>'.",
                       error_quote(quote, target), why);
}

bool ssh_decision_read(const struct json_node *body, struct arena *arena,
                       struct ssh_decision_input *input, struct error *err)
{
    const struct field_reader reader = {.arena = arena};

    return fields_known(body, ssh_decision_fields, ssh_decision_n_fields, err) &&
           fields_read(body, ssh_decision_fields, ssh_decision_n_fields, input, &reader, err) &&
           read_asked_key(input, err) && must_be_target(input->target, err);
}

static bool unite_grants(const struct ssh_grant *grants, size_t n_grants, struct arena *arena,
                         struct text_list *out)
{
    struct text_list *lists = arena_array(arena, n_grants, sizeof *lists);

    if (!lists)
        return false;
    for (size_t i = 0; i < n_grants; i++)
        lists[i] = grants[i].acl;
    return acl_unite(lists, n_grants, arena, out);
}

static bool measure_united(void *context, struct arena *arena, struct ssh_grant *grants, size_t n,
                           double *share)
{
    struct text_list united;

    (void)context;
    if (!unite_grants(grants, n, arena, &united))
        return false;
    *share = ssh_options_share(united);
    return true;
}

/* Unites the rules of the grants of as many owners as fit. */
static bool unite_fitting(struct ssh_grant *grants, size_t *n_grants, struct ssh_left_out *left_out,
                          struct arena *arena, struct text_list *out, struct error *err)
{
    enum ssh_share_outcome outcome = SSH_SHARE_LEFT_OUT;

    while (outcome == SSH_SHARE_LEFT_OUT) {
        if (!unite_grants(grants, *n_grants, arena, out))
            return error_set(err, ERR_OUT_OF_MEMORY);
        if (ssh_options_fit(*out))
            return true;
        outcome = ssh_share_fit(grants, n_grants, measure_united, NULL, arena, left_out);
    }
    return error_set(err, outcome == SSH_SHARE_NOBODY ? ERR_GRANTS_TOO_MANY : ERR_OUT_OF_MEMORY);
}

bool ssh_decision_make(struct ssh_grant *grants, size_t n_grants, struct ssh_left_out *left_out,
                       struct text target, struct arena *arena, struct ssh_decision *decision,
                       struct error *err)
{
    *decision = (struct ssh_decision){.grants = grants};
    if (n_grants == 0)
        return true;
    if (!unite_fitting(grants, &n_grants, left_out, arena, &decision->acl, err))
        return false;
    decision->n_grants = n_grants;
    decision->permitted = !target.s || acl_permitting(decision->acl, target, &decision->rule);
    return true;
}

static void write_grant(struct buf *out, const struct ssh_grant *grant, struct text base_url)
{
    json_open(out, '{');
    json_put_member(out, "id", grant->id);
    ssh_credential_write_uri(out, base_url, grant->id);
    json_put_member(out, "owner_id", grant->owner_id);
    json_close(out, '}');
}

void ssh_decision_write(struct buf *out, const struct ssh_decision *decision, struct text base_url)
{
    json_open(out, '{');
    json_put_name(out, "permitted");
    json_put_bool(out, decision->permitted);
    json_put_name(out, "credentials");
    json_open(out, '[');
    for (size_t i = 0; i < decision->n_grants; i++)
        write_grant(out, &decision->grants[i], base_url);
    json_close(out, ']');
    json_put_name(out, "acl");
    json_put_texts(out, decision->acl);
    json_put_member(out, "rule", decision->rule);
    json_close(out, '}');
}
