/* SPDX-License-Identifier: MIT */
/* Writing the entries of a document. */
#include "json/write.h"
#include "model/document.h"

const char *document_list_name(enum document_kind kind)
{
    static const char *const names[DOCUMENT_N_KINDS] = {
        [DOCUMENT_ACCOUNT] = "accounts",
        [DOCUMENT_PRINCIPAL] = "principals",
        [DOCUMENT_CREDENTIAL] = "ssh_credentials",
        [DOCUMENT_OAUTH] = "oauth_modules",
        [DOCUMENT_MUTUAL_TLS] = "mutual_tls_modules",
    };

    return names[kind];
}

void document_write_account(struct buf *out, const struct document_account *account)
{
    json_open(out, '{');
    json_put_member(out, "id", account->id);
    json_put_member(out, "name", account->name);
    if (account->owners.given) {
        json_put_name(out, "owners");
        json_put_texts(out, account->owners);
    }
    json_close(out, '}');
}

void document_write_principal(struct buf *out, const struct document_principal *principal)
{
    json_open(out, '{');
    json_put_member(out, "id", principal->id);
    json_put_member(out, "name", principal->name);
    json_put_name(out, "is_admin");
    json_put_bool(out, principal->is_admin);
    /* Applying an old document must not enable who was disabled since. */
    if (principal->is_disabled) {
        json_put_name(out, "is_disabled");
        json_put_bool(out, true);
    }
    json_close(out, '}');
}

void document_put_credential(struct buf *out, const struct ssh_credential *input)
{
    fields_write(out, ssh_credential_create_fields, ssh_credential_n_create_fields, input);
}

void document_write_credential(struct buf *out, const struct document_credential *credential)
{
    json_open(out, '{');
    json_put_member(out, "id", credential->input.id);
    json_put_member(out, "created_at", credential->created_at);
    document_put_credential(out, &credential->input);
    json_close(out, '}');
}

static void put_secret(struct buf *out, struct text digest)
{
    json_put_name(out, "client_secret");
    if (digest.s) {
        json_open(out, '{');
        json_put_member(out, "digest", digest);
        json_close(out, '}');
    } else {
        json_put_null(out);
    }
}

static void put_document_provider(struct buf *out, const struct document_oauth *oauth,
                                  const struct oauth_names *names)
{
    const struct oauth_module *module = &oauth->module;

    json_open(out, '{');
    if (module->provider) {
        json_put_name(out, names->providers[module->provider - 1]);
        json_open(out, '{');
        for (size_t i = 0; i < oauth_provider_n_fields_of(module->provider); i++) {
            const struct field *field = &oauth_provider_fields[i];

            if (field->is_sealed)
                put_secret(out, oauth->secret.digest);
            else
                field_write(out, field, (const char *)&module->config + field->offset);
        }
        json_close(out, '}');
    }
    json_close(out, '}');
}

void document_write_oauth(struct buf *out, const struct document_oauth *oauth,
                          const struct oauth_names *names)
{
    json_open(out, '{');
    json_put_member(out, "edge_id", oauth->edge_id);
    json_put_member(out, "id", oauth->id);
    for (size_t i = MODULE_N_WRAPPER_ROWS; i < oauth_module_n_fields; i++) {
        const struct field *field = &oauth_module_fields[i];

        if (field->kind == FIELD_PROVIDER) {
            json_put_name(out, field->name);
            put_document_provider(out, oauth, names);
        } else {
            field_write(out, field, (const char *)&oauth->module + field->offset);
        }
    }
    json_close(out, '}');
}

void document_write_mutual_tls(struct buf *out, const struct document_mutual_tls *module)
{
    json_open(out, '{');
    json_put_member(out, "id", module->id);
    for (size_t i = MODULE_N_WRAPPER_ROWS; i < mutual_tls_module_n_fields; i++) {
        const struct field *field = &mutual_tls_module_fields[i];

        field_write(out, field, (const char *)&module->module + field->offset);
    }
    json_close(out, '}');
}
