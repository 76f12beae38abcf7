/* SPDX-License-Identifier: MIT */
/* The three forms of a module's body.  Published clients send a module flat, flat with the
 * identifiers of the path, or wrapped as {"edge_id": …, "id": …, "module": {…}}. */
#ifndef ADIT_MODEL_MODULE_H
#define ADIT_MODEL_MODULE_H

#include "base/must_check.h"
#include "model/field.h"

/* The first rows of a module's table of fields.  The first two are compared with the path, and the
 * third is the wrapper. */
#define MODULE_WRAPPER_ROWS                                                                        \
    {.name = "edge_id", .kind = FIELD_OBJECT}, {.name = "id", .kind = FIELD_OBJECT},               \
    {                                                                                              \
        .name = "module", .kind = FIELD_OBJECT                                                     \
    }
#define MODULE_N_WRAPPER_ROWS 3

/* The edge of a module, and the route if it is of one.  A body may repeat them.  Absent: those of a
 * body say nothing. */
struct module_place {
    struct text edge_id;
    struct text route_id;
};

/* Finds the object with the module's fields in a body of any form, and sets *module to it; it
 * points to body.  The table begins with MODULE_WRAPPER_ROWS: those behind them are the object's.
 * Returns false with the errors of fields_known(), ERR_ID_MISMATCH or ERR_MODULE_TWICE. */
MUST_CHECK bool module_find(const struct json_node *body, const struct module_place *place,
                            const struct field *fields, size_t n_fields, struct json_node *module,
                            struct error *err);

#endif
