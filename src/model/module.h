/* SPDX-License-Identifier: MIT */
/* What the bodies of the two modules have in common: published clients send a module flat, flat
 * with the identifiers of the path beside it, or wrapped as {"edge_id": …, "id": …, "module": {…}}.
 */
#ifndef ADIT_MODEL_MODULE_H
#define ADIT_MODEL_MODULE_H

#include "base/must_check.h"
#include "model/field.h"

/* The first rows of a module's table of fields: the members around it.  The first two are compared
 * with the path, the third is the wrapper. */
#define MODULE_WRAPPER_ROWS                                                                        \
    {.name = "edge_id", .kind = FIELD_OBJECT}, {.name = "id", .kind = FIELD_OBJECT},               \
    {                                                                                              \
        .name = "module", .kind = FIELD_OBJECT                                                     \
    }
#define MODULE_N_WRAPPER_ROWS 3

/* The identifiers of the path that a body may repeat. */
struct module_ids {
    struct text edge_id;
    struct text id;
};

/* Finds the object that holds the module's fields, whichever way the body was sent, and reads its
 * members by the table (MODULE_WRAPPER_ROWS first) into target.  Sets *module, which refers to
 * body, for members that the table does not read.  Errors are as in fields_read(); ERR_ID_MISMATCH
 * and ERR_MODULE_TWICE come on top. */
MUST_CHECK bool module_read(const struct json_node *body, const struct module_ids *ids,
                            const struct field *fields, size_t n_fields, void *target,
                            struct arena *arena, struct json_node *module, struct error *err);

#endif
