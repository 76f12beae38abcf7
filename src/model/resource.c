/* SPDX-License-Identifier: MIT */
/* Modules of any kind. */
#include "model/resource.h"

#include <string.h>

#include "json/write.h"
#include "model/uri.h"

/* ---- the rows ---- */

/* clang-format off */

#define TABLES(with, NAME, name, place, form, ...) TABLES_##form(NAME, name)
#define TABLES_PROVIDER(NAME, name)
#define TABLES_PLAIN(NAME, name)                                                                   \
    const struct field name##_members[] = {NAME##_MEMBERS(MEMBER_READ, name)};                     \
    const struct field name##_fields[] = {                                                         \
        MODULE_WRAPPER_ROWS, NAME##_MEMBERS(MEMBER_IN_POST, name)};                                \
    const size_t name##_n_members = sizeof name##_members / sizeof name##_members[0];              \
    const size_t name##_n_fields = sizeof name##_fields / sizeof name##_fields[0];

MODULES(TABLES, _)

#define IS_OF_ROUTE true
#define IS_OF_EDGE false
#define HAS_PROVIDER true
#define HAS_PLAIN false

static const struct resource_row rows[] = {
#define ROW(with, NAME, name_, place, form, path_, missing_, brief, title_)                                 \
    [RESOURCE_##NAME] = {                                                                          \
        .name = #name_, .list = #name_ "s", .path = (path_), .title = (title_),                    \
        .of_route = IS_OF_##place,                                                                 \
        .has_provider = HAS_##form, .missing = (missing_), .size = sizeof(struct name_),           \
        .revision_offset = offsetof(struct name_, revision),                                       \
        .members = name_##_members, .n_members = &name_##_n_members,                               \
        .fields = name_##_fields, .n_fields = &name_##_n_fields},
    MODULES(ROW, _)
};

/* clang-format on */

const struct resource_row *resource_row(enum resource_kind kind)
{
    return &rows[kind];
}

struct module_place resource_place(struct text resource)
{
    const char *slash = memchr(resource.s, '/', resource.len);
    size_t at = slash ? (size_t)(slash - resource.s) : resource.len;

    return (struct module_place){.edge_id = text_part(resource, 0, at),
                                 .route_id = slash ? text_part(resource, at + 1, resource.len)
                                                   : (struct text){0}};
}

/* ---- JSON ---- */

bool resource_read(enum resource_kind kind, const struct json_node *body,
                   const struct resource_reader *reader, void *module, struct error *err)
{
    const struct resource_row *row = &rows[kind];
    struct json_node inner;

    if (row->has_provider)
        return oauth_module_read(body, reader->place, reader->names, reader->fields, module, err);
    memset(module, 0, row->size);
    fields_fill(row->fields, *row->n_fields, module);
    return module_find(body, reader->place, row->fields, *row->n_fields, &inner, err) &&
           fields_read(&inner, row->fields + MODULE_N_WRAPPER_ROWS,
                       *row->n_fields - MODULE_N_WRAPPER_ROWS, module, reader->fields, err);
}

void resource_write_members(struct buf *out, enum resource_kind kind, const void *module,
                            const struct resource_context *context)
{
    const struct resource_row *row = &rows[kind];

    if (row->has_provider) {
        oauth_module_write_members(out, module, context->names);
        return;
    }
    for (size_t i = MODULE_N_WRAPPER_ROWS; i < *row->n_fields; i++)
        field_answer(out, &row->fields[i], (const char *)module + row->fields[i].offset,
                     context->base_url);
}

void resource_write(struct buf *out, enum resource_kind kind, const void *module,
                    const struct resource_context *context)
{
    json_open(out, '{');
    resource_write_members(out, kind, module, context);
    json_close(out, '}');
}

void resource_write_uri(struct buf *out, enum resource_kind kind, struct text base_url,
                        const struct module_place *place)
{
    const struct text ids[] = {place->edge_id, place->route_id};
    const char *at = rows[kind].path;
    const char *open;

    uri_add_base(out, base_url);
    for (size_t i = 0; i < 2 && (open = strchr(at, '{')) != NULL; i++) {
        buf_add(out, at, (size_t)(open - at));
        uri_add_id(out, ids[i]);
        at = strchr(open, '}') + 1;
    }
    buf_puts(out, at);
}
