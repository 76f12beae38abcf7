/* SPDX-License-Identifier: MIT */
/* The mutual TLS module of a TLS edge: its fields, and JSON in and out. */
#ifndef ADIT_MODEL_MUTUAL_TLS_MODULE_H
#define ADIT_MODEL_MUTUAL_TLS_MODULE_H

#include "base/buf.h"
#include "base/must_check.h"
#include "model/field.h"

struct mutual_tls_module {
    bool enabled;
    struct text_list certificate_authority_ids;
    int64_t revision; /* not a member: for the ETag */
};

/* All members, in the order of their columns, and those of the body. */
extern const struct field mutual_tls_module_members[];
extern const size_t mutual_tls_module_n_members;
extern const struct field mutual_tls_module_fields[];
extern const size_t mutual_tls_module_n_fields;

/* Reads the body of a PUT to the edge of the path into *module, and fills in defaults.  Text
 * belongs to the tree, arrays to the arena.  Returns false with an error as module_read() does. */
MUST_CHECK bool mutual_tls_module_read(const struct json_node *body, struct text edge_id,
                                       const struct field_reader *reader,
                                       struct mutual_tls_module *module, struct error *err);

/* Appends the module as JSON.  base_url has no trailing slash.  A lack of memory sets out->failed.
 */
void mutual_tls_module_write(struct buf *out, const struct mutual_tls_module *module,
                             struct text base_url);

/* Appends its members without the braces, for an object that has others too. */
void mutual_tls_module_write_members(struct buf *out, const struct mutual_tls_module *module,
                                     struct text base_url);

/* Appends an authority of the list, whatever its identifier. */
void mutual_tls_module_write_authority(struct buf *out, struct text base_url, struct text id);

/* Appends the URI of an edge's module.  base_url has no trailing slash. */
void mutual_tls_module_write_uri(struct buf *out, struct text base_url, struct text edge_id);

#endif
