/* SPDX-License-Identifier: MIT */
/* Writing the entries of a document. */
#include "json/write.h"
#include "model/document.h"

/* clang-format off */

static const struct {
    const char *table;
    const char *list;
} names_of[DOCUMENT_N_KINDS] = {
    [DOCUMENT_ACCOUNT] = {"account", "accounts"},
    [DOCUMENT_PRINCIPAL] = {"principal", "principals"},
    [DOCUMENT_CREDENTIAL] = {"ssh_credential", "ssh_credentials"},
#define NAMES_OF(with, NAME, name, ...) [DOCUMENT_##NAME] = {#name, #name "s"},
    MODULES(NAMES_OF, _)
};

/* clang-format on */

const char *document_list_name(enum document_kind kind)
{
    return names_of[kind].list;
}

const char *document_table_name(enum document_kind kind)
{
    return names_of[kind].table;
}

bool document_is_module(enum document_kind kind)
{
    return kind > DOCUMENT_CREDENTIAL;
}

enum resource_kind document_module_kind(enum document_kind kind)
{
    return (enum resource_kind)(kind - DOCUMENT_CREDENTIAL - 1);
}

bool document_of_route(enum document_kind kind)
{
    return document_is_module(kind) && resource_row(document_module_kind(kind))->of_route;
}

bool document_has_provider(enum document_kind kind)
{
    return document_is_module(kind) && resource_row(document_module_kind(kind))->has_provider;
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
    if (!text_eq(credential->standing, text_of(STANDING_GIVEN)))
        json_put_member(out, "standing", credential->standing);
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

static void put_document_provider(struct buf *out, const struct document_module *entry,
                                  const struct oauth_names *names)
{
    const struct oauth_module *module = &entry->value.oauth_module;

    json_open(out, '{');
    if (module->provider) {
        json_put_name(out, names->providers[module->provider - 1]);
        json_open(out, '{');
        for (size_t i = 0; i < oauth_provider_n_fields_of(module->provider); i++) {
            const struct field *field = &oauth_provider_fields[i];

            if (field->is_sealed)
                put_secret(out, entry->secret.digest);
            else
                field_write(out, field, (const char *)&module->config + field->offset);
        }
        json_close(out, '}');
    }
    json_close(out, '}');
}

void document_write_module(struct buf *out, enum resource_kind kind,
                           const struct document_module *module, const struct oauth_names *names)
{
    const struct resource_row *row = resource_row(kind);

    json_open(out, '{');
    if (row->of_route)
        json_put_member(out, "edge_id", module->place.edge_id);
    json_put_member(out, "id", row->of_route ? module->place.route_id : module->place.edge_id);
    for (size_t i = MODULE_N_WRAPPER_ROWS; i < *row->n_fields; i++) {
        const struct field *field = &row->fields[i];

        if (field->kind == FIELD_PROVIDER) {
            json_put_name(out, field->name);
            put_document_provider(out, module, names);
        } else {
            field_write(out, field, (const char *)&module->value + field->offset);
        }
    }
    json_close(out, '}');
}
