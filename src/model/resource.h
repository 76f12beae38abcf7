/* SPDX-License-Identifier: MIT */
/* The modules of resource_table.h, one like the other: their structs, and JSON in and out. */
#ifndef ADIT_MODEL_RESOURCE_H
#define ADIT_MODEL_RESOURCE_H

#include "base/buf.h"
#include "base/must_check.h"
#include "model/member.h"
#include "model/oauth_module.h"
#include "model/resource_table.h"

/* clang-format off */

enum resource_kind {
#define RESOURCE_KIND(with, NAME, ...) RESOURCE_##NAME,
    MODULES(RESOURCE_KIND, _)
#undef RESOURCE_KIND
    RESOURCE_N_KINDS
};

/* The struct of a module, all its members in the order of their columns, and those of its body.
 * A module with a provider has a header of its own. */
#define RESOURCE_DECLARED(with, NAME, name, place, form, ...) RESOURCE_DECLARED_##form(NAME, name)
#define RESOURCE_DECLARED_PROVIDER(NAME, name)
#define RESOURCE_DECLARED_PLAIN(NAME, name)                                                        \
    struct name {                                                                                  \
        NAME##_MEMBERS(MEMBER_DECLARED, _)                                                         \
    };                                                                                             \
    extern const struct field name##_members[];                                                    \
    extern const size_t name##_n_members;                                                          \
    extern const struct field name##_fields[];                                                     \
    extern const size_t name##_n_fields;
MODULES(RESOURCE_DECLARED, _)
#undef RESOURCE_DECLARED
#undef RESOURCE_DECLARED_PROVIDER
#undef RESOURCE_DECLARED_PLAIN

/* A module of any kind. */
union resource_value {
#define RESOURCE_VALUE(with, NAME, name, ...) struct name name;
    MODULES(RESOURCE_VALUE, _)
#undef RESOURCE_VALUE
};

/* clang-format on */

/* A row of the table. */
struct resource_row {
    const char *name;
    const char *list;
    const char *path;
    const char *title;
    bool of_route;     /* or else of an edge */
    bool has_provider; /* the module is a struct oauth_module */
    enum error_code missing;
    size_t size;            /* of the struct */
    size_t revision_offset; /* of an int64_t in it */
    const struct field *members;
    const size_t *n_members;
    const struct field *fields; /* of the body, after MODULE_WRAPPER_ROWS */
    const size_t *n_fields;
};

/* Returns the row of a kind. */
const struct resource_row *resource_row(enum resource_kind kind);

/* What a deployment adds to what is stored. */
struct resource_context {
    const struct oauth_names *names;
    struct text base_url; /* without a trailing slash */
};

/* Who reads a module, and what it knows beside the body: the caller's. */
struct resource_reader {
    const struct field_reader *fields;
    const struct module_place *place; /* whose module it is to be */
    const struct oauth_names *names;  /* NULL for a kind without a provider */
};

/* Reads the body of a PUT into the struct at module, and fills in defaults.  Text belongs to the
 * tree, arrays to the reader's arena.  Returns false with an error of module_find() or
 * fields_read(), or as oauth_module_read(). */
MUST_CHECK bool resource_read(enum resource_kind kind, const struct json_node *body,
                              const struct resource_reader *reader, void *module,
                              struct error *err);

/* Append a module as JSON; its members without the braces; the URI of one, as the content of a
 * string.  A lack of memory sets out->failed. */
void resource_write(struct buf *out, enum resource_kind kind, const void *module,
                    const struct resource_context *context);
void resource_write_members(struct buf *out, enum resource_kind kind, const void *module,
                            const struct resource_context *context);
void resource_write_uri(struct buf *out, enum resource_kind kind, struct text base_url,
                        const struct module_place *place);

/* Returns the identifiers of a module as the record of changes and the document name it, in the
 * memory of the text: "<edge>" or "<edge>/<route>". */
struct module_place resource_place(struct text resource);

#endif
