/* SPDX-License-Identifier: MIT */
/* Mutual TLS modules. */
#include "model/mutual_tls_module.h"

#include "json/write.h"
#include "model/member.h"
#include "model/module.h"
#include "model/uri.h"

/* clang-format off */
const struct field mutual_tls_module_members[] = {
    MUTUAL_TLS_MODULE_MEMBERS(MEMBER_READ, mutual_tls_module)
};

const struct field mutual_tls_module_fields[] = {
    MODULE_WRAPPER_ROWS,
    MUTUAL_TLS_MODULE_MEMBERS(MEMBER_IN_POST, mutual_tls_module)
};
/* clang-format on */

const size_t mutual_tls_module_n_members =
    sizeof mutual_tls_module_members / sizeof mutual_tls_module_members[0];
const size_t mutual_tls_module_n_fields =
    sizeof mutual_tls_module_fields / sizeof mutual_tls_module_fields[0];

bool mutual_tls_module_read(const struct json_node *body, struct text edge_id,
                            const struct field_reader *reader, struct mutual_tls_module *module,
                            struct error *err)
{
    struct module_ids ids = {.edge_id = edge_id, .id = edge_id};
    struct json_node inner;

    *module =
        (struct mutual_tls_module){.enabled = true, .certificate_authority_ids = {.given = true}};
    return module_read(body, &ids, mutual_tls_module_fields, mutual_tls_module_n_fields, module,
                       reader, &inner, err);
}

void mutual_tls_module_write_authority(struct buf *out, struct text base_url, struct text id)
{
    json_open(out, '{');
    json_put_member(out, "id", id);
    uri_write(out, base_url, "/certificate_authorities/", id);
    json_close(out, '}');
}

void mutual_tls_module_write_members(struct buf *out, const struct mutual_tls_module *module,
                                     struct text base_url)
{
    json_put_name(out, "enabled");
    json_put_bool(out, module->enabled);
    json_put_name(out, "certificate_authorities");
    json_open(out, '[');
    for (size_t i = 0; i < module->certificate_authority_ids.n; i++)
        mutual_tls_module_write_authority(out, base_url,
                                          module->certificate_authority_ids.items[i]);
    json_close(out, ']');
}

void mutual_tls_module_write(struct buf *out, const struct mutual_tls_module *module,
                             struct text base_url)
{
    json_open(out, '{');
    mutual_tls_module_write_members(out, module, base_url);
    json_close(out, '}');
}

void mutual_tls_module_write_uri(struct buf *out, struct text base_url, struct text edge_id)
{
    uri_add_base(out, base_url);
    buf_puts(out, "/edges/tls/");
    uri_add_id(out, edge_id);
    buf_puts(out, "/mutual_tls");
}
