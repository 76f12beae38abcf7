/* SPDX-License-Identifier: MIT */
/* Audit events.  A row of a table comes as JSON and leaves as JSON: most values are copied as they
 * are. */
#include "model/audit_event.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/ident.h"
#include "base/number.h"
#include "base/time.h"
#include "json/check.h"
#include "json/pieces.h"
#include "json/write.h"
#include "model/resource.h"
#include "model/ssh_credential.h"
#include "model/uri.h"

/* ---- identifiers ---- */

void audit_event_write_id(char id[AUDIT_EVENT_ID_SIZE], int64_t number)
{
    snprintf(id, AUDIT_EVENT_ID_SIZE, AUDIT_EVENT_PREFIX "%019" PRId64, number);
}

bool audit_event_read_id(struct text id, int64_t *number)
{
    size_t prefix = sizeof AUDIT_EVENT_PREFIX - 1;
    uint64_t value;

    if (!text_begins(id, AUDIT_EVENT_PREFIX) || id.len >= AUDIT_EVENT_ID_SIZE ||
        !number_read(text_part(id, prefix, id.len), 10, INT64_MAX, &value))
        return false;
    *number = (int64_t)value;
    return true;
}

/* ---- rows ---- */

/* More columns than any table has. */
#define MAX_COLUMNS 32

/* The values of a row, as pieces of its JSON. */
struct row {
    struct {
        struct text name;
        struct text value;
    } columns[MAX_COLUMNS];
    size_t n;
};

static bool read_columns(struct text json, struct row *row)
{
    struct json_pieces pieces;
    struct error ignored;

    row->n = 0;
    if (!json_pieces_begin(&pieces, json, json, false, &ignored))
        return false;
    while (row->n < MAX_COLUMNS) {
        struct text name;
        struct text value;

        if (!json_pieces_next(&pieces, &name, &value, &ignored))
            return false;
        if (!value.s)
            return true;
        row->columns[row->n].name = name;
        row->columns[row->n].value = value;
        row->n++;
    }
    return true;
}

/* Returns the JSON of a column; "null" if the row has none, because an earlier version wrote it. */
static struct text column_of(const struct row *row, const char *name)
{
    for (size_t i = 0; i < row->n; i++) {
        if (text_eq(row->columns[i].name, text_of(name)))
            return row->columns[i].value;
    }
    return text_of("null");
}

static bool column_is_null(const struct row *row, const char *name)
{
    return text_eq(column_of(row, name), text_of("null"));
}

/* Returns the text of a string that needs no escapes, such as an identifier. */
static struct text plain_column(const struct row *row, const char *name)
{
    struct text json = column_of(row, name);

    return json.len >= 2 && json.s[0] == '"' ? text_part(json, 1, json.len - 1) : text_of("");
}

static void put_column(struct buf *out, const struct row *row, const char *column,
                       const char *member)
{
    struct text json = column_of(row, column);

    json_put_name(out, member);
    json_add_raw(out, json);
}

/* PostgreSQL writes a time in the time zone of the session that made the change. */
static void put_time(struct buf *out, const struct row *row, const char *name)
{
    char shown[TIME_SIZE];
    int64_t us;

    json_put_name(out, name);
    if (time_read(plain_column(row, name), &us) &&
        time_write(shown, time_floor(us) / TIME_SECOND_US))
        json_put_text(out, text_of(shown));
    else
        json_put_null(out);
}

/* ---- resources ---- */

static bool is_time(const struct field *member)
{
    return member->kind == FIELD_TIME || member->kind == FIELD_TIME_OR_NULL;
}

static void put_audited_credential(struct buf *out, const struct row *row,
                                   const struct resource_context *context)
{
    put_column(out, row, "id", "id");
    ssh_credential_write_uri(out, context->base_url, plain_column(row, "id"));
    for (size_t i = 1; i < ssh_credential_n_members; i++) {
        const struct field *member = &ssh_credential_members[i];

        if (member->shown != FIELD_SHOWN)
            continue;
        if (is_time(member))
            put_time(out, row, member->name);
        else
            put_column(out, row, member->name, member->name);
    }
}

static void put_audited_provider(struct buf *out, const struct row *row, int provider)
{
    json_open(out, '{');
    for (size_t i = 0; i < oauth_provider_n_fields_of(provider); i++) {
        const struct field *field = &oauth_provider_fields[i];

        if (!field->is_sealed) {
            put_column(out, row, field->name, field->name);
            continue;
        }
        json_put_name(out, field->name);
        json_put_null(out);
    }
    json_close(out, '}');
}

/* Returns whether the column of the provider is this position. */
static bool selects(struct text column, int position)
{
    char digits[sizeof "-2147483648"];

    snprintf(digits, sizeof digits, "%d", position);
    return text_eq(column, text_of(digits));
}

static void put_providers(struct buf *out, const struct row *row, const struct oauth_names *names)
{
    struct text selected = column_of(row, "provider");

    json_put_name(out, "provider");
    json_open(out, '{');
    for (int i = 0; i < OAUTH_N_PROVIDERS; i++) {
        json_put_name(out, names->providers[i]);
        if (selects(selected, i + 1))
            put_audited_provider(out, row, i + 1);
        else
            json_put_null(out);
    }
    json_close(out, '}');
}

/* Writes a list of identifiers as answers have it. */
static void put_entries(struct buf *out, const struct field *field, struct text list,
                        struct text base_url)
{
    const char *end = list.s + list.len;
    struct buf id = {0};
    char *room = buf_room(&id, list.len);

    json_put_name(out, field_answered(field));
    json_open(out, '[');
    for (const char *at = list.s; room && (at = memchr(at, '"', (size_t)(end - at))) != NULL;) {
        at++;
        id.len = json_unescape(&at, room);
        field_answer_entry(out, field, buf_text(&id), base_url);
    }
    json_close(out, ']');
    out->failed = out->failed || !room;
    buf_free(&id);
}

static void put_audited_module(struct buf *out, const struct row *row, enum resource_kind kind,
                               const struct resource_context *context)
{
    const struct resource_row *of = resource_row(kind);

    for (size_t i = MODULE_N_WRAPPER_ROWS; i < *of->n_fields; i++) {
        const struct field *field = &of->fields[i];

        if (field->kind == FIELD_PROVIDER)
            put_providers(out, row, context->names);
        else if (of->has_provider && field->kind == FIELD_TEXT && column_is_null(row, field->name))
            json_put_member(out, field->name, text_of(context->names->cookie_prefix));
        else if (is_time(field))
            put_time(out, row, field->name);
        else if (field->path)
            put_entries(out, field, column_of(row, field->name), context->base_url);
        else
            put_column(out, row, field->name, field_answered(field));
    }
}

static void put_audited_account(struct buf *out, const struct row *row,
                                const struct resource_context *context)
{
    (void)context;
    put_column(out, row, "id", "id");
    put_time(out, row, "created_at");
}

static void put_audited_holder(struct buf *out, const struct row *row,
                               const struct resource_context *context)
{
    (void)context;
    put_column(out, row, "id", "id");
    put_time(out, row, "created_at");
    put_column(out, row, "kind", "kind");
    put_column(out, row, "is_admin", "is_admin");
    put_time(out, row, "disabled_at");
}

static void put_audited_key(struct buf *out, const struct row *row,
                            const struct resource_context *context)
{
    (void)context;
    put_column(out, row, "id", "id");
    put_time(out, row, "created_at");
    put_column(out, row, "principal_id", "principal_id");
    put_column(out, row, "description", "description");
    put_column(out, row, "read_only", "read_only");
    put_column(out, row, "scope", "scope");
    put_time(out, row, "expires_at");
    put_time(out, row, "revoked_at");
}

/* What is recorded of each table.  The names of accounts, Users and Bots are the operator's:
 * callers do not see them. */
static const struct kind {
    const char *prefix; /* of the event */
    void (*put)(struct buf *out, const struct row *row, const struct resource_context *context);
    const char *path;          /* of the resource's address; NULL: that of a holder */
    enum resource_kind module; /* if put is NULL */
} kinds[] = {
    {.prefix = "ssh_credential_", .put = put_audited_credential, .path = "/ssh_credentials/"},
    {.prefix = "account_", .put = put_audited_account, .path = "/accounts/"},
    {.prefix = "principal_", .put = put_audited_holder},
    {.prefix = "api_key_", .put = put_audited_key, .path = "/api_keys/"},
#define MODULE_KIND(with, NAME, name, ...) {.prefix = #name "_", .module = RESOURCE_##NAME},
    MODULES(MODULE_KIND, _)
#undef MODULE_KIND
};

static const struct kind *audited_kind(struct text event)
{
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        if (text_begins(event, kinds[i].prefix))
            return &kinds[i];
    }
    return NULL;
}

/* ---- events ---- */

static void put_audited(struct buf *out, const char *name, struct text json,
                        const struct kind *kind, const struct resource_context *context)
{
    struct row row;

    json_put_name(out, name);
    if (!json.s || !kind || !read_columns(json, &row)) {
        json_put_null(out);
        return;
    }
    json_open(out, '{');
    if (kind->put)
        kind->put(out, &row, context);
    else
        put_audited_module(out, &row, kind->module, context);
    json_close(out, '}');
}

static const char *holder_path(struct text id)
{
    return text_begins(id, IDENT_BOT "_") ? "/bot_users/" : "/users/";
}

static void put_reference(struct buf *out, const char *name, const char *path, struct text id,
                          struct text base_url)
{
    json_put_name(out, name);
    if (!id.s) {
        json_put_null(out);
        return;
    }
    json_open(out, '{');
    json_put_member(out, "id", id);
    uri_write(out, base_url, path, id);
    json_close(out, '}');
}

static void put_module_reference(struct buf *out, enum resource_kind kind, struct text id,
                                 struct text base_url)
{
    const struct module_place place = resource_place(id);

    json_put_name(out, "resource");
    json_open(out, '{');
    json_put_member(out, "id", id);
    json_put_name(out, "uri");
    buf_puts(out, "\"");
    resource_write_uri(out, kind, base_url, &place);
    buf_puts(out, "\"");
    json_close(out, '}');
}

static void put_resource(struct buf *out, const struct audit_event *event, const struct kind *kind,
                         struct text base_url)
{
    if (!kind)
        put_reference(out, "resource", "", (struct text){0}, base_url);
    else if (!kind->put)
        put_module_reference(out, kind->module, event->resource, base_url);
    else
        put_reference(out, "resource", kind->path ? kind->path : holder_path(event->resource),
                      event->resource, base_url);
}

/* NULL: changed leaves the column out. */
static const struct {
    const char *column, *member;
} renamed[] = {
#define RENAMED(column, member) {column, member},
#define LEFT_OUT(column) {column, NULL},
    AUDIT_EVENT_RENAMED(RENAMED) AUDIT_EVENT_LEFT_OUT(LEFT_OUT)
#undef RENAMED
#undef LEFT_OUT
};

static void put_changed(struct buf *out, const struct text_list *columns)
{
    json_put_name(out, "changed");
    json_open(out, '[');
    for (size_t i = 0; i < columns->n; i++) {
        struct text member = columns->items[i];

        for (size_t k = 0; k < sizeof renamed / sizeof renamed[0]; k++) {
            if (text_eq(columns->items[i], text_of(renamed[k].column)))
                member = text_of(renamed[k].member);
        }
        if (member.s)
            json_put_text(out, member);
    }
    json_close(out, ']');
}

void audit_event_write(struct buf *out, const struct audit_event *event,
                       const struct oauth_names *names, struct text base_url)
{
    const struct resource_context context = {.names = names, .base_url = base_url};
    const struct kind *kind = audited_kind(event->event);
    char created_at[TIME_SIZE] = "";
    char id[AUDIT_EVENT_ID_SIZE];

    audit_event_write_id(id, event->number);
    time_write(created_at, event->at);
    json_open(out, '{');
    json_put_member(out, "id", text_of(id));
    uri_write(out, base_url, "/audit_events/", text_of(id));
    json_put_member(out, "created_at", text_of(created_at));
    json_put_member(out, "event", event->event);
    put_resource(out, event, kind, base_url);
    put_reference(out, "principal", holder_path(event->principal_id), event->principal_id,
                  base_url);
#define PUT_TEXT(name) json_put_member(out, #name, event->name);
    AUDIT_EVENT_TEXTS(PUT_TEXT)
#undef PUT_TEXT
    put_changed(out, &event->changed);
    put_audited(out, "before", event->before, kind, &context);
    put_audited(out, "after", event->after, kind, &context);
    json_close(out, '}');
}
