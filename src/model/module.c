/* SPDX-License-Identifier: MIT */
/* Reading the bodies of modules. */
#include "model/module.h"

static bool check_id(const struct json_node *body, const char *name, struct text wanted,
                     struct error *err)
{
    struct json_node node = json_member(body, name);
    struct text id = {0};

    if (!json_get_text(&node, &id, err))
        return false;
    if (id.s && wanted.s && !text_eq(id, wanted))
        return error_field(err, ERR_ID_MISMATCH, name,
                           "%s differs from the identifier in the path. Leave it out, or give the "
                           "same.",
                           name);
    return true;
}

/* Beside a wrapped module, fields would be ignored silently. */
static bool check_flat_absent(const struct json_node *body, const struct field *fields,
                              size_t n_fields, struct error *err)
{
    for (size_t i = MODULE_N_WRAPPER_ROWS; i < n_fields; i++) {
        struct json_node node = json_member(body, fields[i].name);

        if (json_given(&node))
            return error_field(err, ERR_MODULE_TWICE, fields[i].name,
                               "%s is given beside 'module'. Give the fields of the module in one "
                               "place.",
                               fields[i].name);
    }
    return true;
}

bool module_find(const struct json_node *body, const struct module_place *place,
                 const struct field *fields, size_t n_fields, struct json_node *module,
                 struct error *err)
{
    struct text id = place->route_id.s ? place->route_id : place->edge_id;

    if (!fields_known(body, fields, n_fields, err) ||
        !check_id(body, "edge_id", place->edge_id, err) || !check_id(body, "id", id, err))
        return false;
    *module = json_member(body, "module");
    if (!json_given(module)) {
        *module = *body;
        return true;
    }
    return check_flat_absent(body, fields, n_fields, err) &&
           fields_known(module, fields + MODULE_N_WRAPPER_ROWS, n_fields - MODULE_N_WRAPPER_ROWS,
                        err);
}
