/* SPDX-License-Identifier: MIT */
/* Reading JSON objects by a table of fields. */
#include "model/field.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/ident.h"
#include "base/invisible.h"
#include "base/time.h"
#include "json/write.h"
#include "model/uri.h"

/* A table, as the context of is_known(). */
struct table {
    const struct field *fields;
    size_t n_fields;
};

static bool is_known(const void *context, struct text name)
{
    const struct table *table = context;

    for (size_t i = 0; i < table->n_fields; i++) {
        if (text_eq(text_of(table->fields[i].name), name))
            return true;
    }
    return false;
}

/* Appends the name that the caller probably meant, if there is one, and the names of the table. */
static void suggest(struct buf *out, struct text name, const struct table *table)
{
    const int called = identity_provider_called(name);
    size_t n = 0;

    for (size_t i = 0; i < table->n_fields; i++) {
        const struct field *field = &table->fields[i];

        if (field->answered && text_eq(text_of(field->answered), name))
            buf_printf(out, "Give %s instead. ", field->name);
        if (field->provider > 0 && field->provider == called)
            buf_printf(out, "%s is %s. ", identity_provider_at(called)->title, field->name);
    }
    buf_puts(out, "This object takes: ");
    for (size_t i = 0; i < table->n_fields; i++) {
        const struct field *field = &table->fields[i];

        if (field->kind == FIELD_REFUSED)
            continue;
        buf_puts(out, n++ ? ", " : "");
        if (field->provider > 0)
            identity_provider_write(out, field->name, field->provider);
        else
            buf_puts(out, field->name);
    }
}

static bool unknown_member(const struct json_node *object, struct text name,
                           const struct table *table, struct error *err)
{
    char quote[ERROR_QUOTE_SIZE];
    char path[JSON_PATH_SIZE];
    char field[sizeof path + sizeof quote];
    struct buf advice = {0};
    struct invisible found;

    error_quote(quote, name);
    json_path(path, object, -1);
    snprintf(field, sizeof field, "%s%s%s", path, path[0] ? "." : "", quote);
    suggest(&advice, name, table);
    if (advice.failed)
        error_set(err, ERR_OUT_OF_MEMORY);
    else if (invisible_find(name, &found))
        error_field(err, ERR_UNKNOWN_MEMBER, field, "The member name %s " INVISIBLE_FORMAT ". %s.",
                    field, found.what, advice.data);
    else
        error_field(err, ERR_UNKNOWN_MEMBER, field, "The member %s is unknown. %s.", field,
                    advice.data);
    buf_free(&advice);
    return false;
}

bool fields_known(const struct json_node *object, const struct field *fields, size_t n_fields,
                  struct error *err)
{
    struct table table = {.fields = fields, .n_fields = n_fields};
    struct text unknown;

    if (!json_is_object(object, err))
        return false;
    unknown = json_find_unknown(object, is_known, &table);
    return !unknown.s || unknown_member(object, unknown, &table, err);
}

/* ---- one text or entry ---- */

static bool too_long(const struct field *field, const char *path, struct text value,
                     struct error *err)
{
    return error_field(err, field->too_long, path,
                       "%s is %zu bytes long; at most %zu are accepted.", path, value.len,
                       field->max);
}

static bool invalid(const struct field *field, const char *path, struct text value, const char *why,
                    struct error *err)
{
    char quote[ERROR_QUOTE_SIZE];
    const char *forms = field->forms ? field->forms : "";
    struct invisible found;

    /* The quote would not show it either. */
    if (invisible_find(value, &found))
        return error_field(err, field->invalid, path, "%s " INVISIBLE_FORMAT ".", path, found.what);
    if (field->is_secret)
        return error_field(err, field->invalid, path, "%s is not valid: %s.%s", path, why, forms);
    return error_field(err, field->invalid, path, "%s is '%s', which is not valid: %s.%s", path,
                       error_quote(quote, value), why, forms);
}

/* Checks the text of a field (index -1) or an entry of its list. */
static bool check_text(const struct field *field, const struct json_node *node, int index,
                       struct text value, struct error *err)
{
    char path[JSON_PATH_SIZE];
    const char *why = "";

    if (value.len == 0 && field->empty != ERR_NONE) {
        json_path(path, node, index);
        return error_field(err, field->empty, path, "%s is empty. Give a value.", path);
    }
    if (field->too_long != ERR_NONE && value.len > field->max)
        return too_long(field, json_path(path, node, index), value, err);
    if (field->valid && !field->valid(value, &why))
        return invalid(field, json_path(path, node, index), value, why, err);
    return true;
}

bool field_note_fault(const struct field_reader *reader, const char *name, struct error *err)
{
    const char *msg = err->msg[0] ? err->msg : error_row(err->code)->text;
    struct field_fault *fault;

    if (!reader->faults || err->code == ERR_OUT_OF_MEMORY)
        return false;
    fault = arena_alloc(reader->arena, sizeof *fault);
    msg = arena_copy(reader->arena, msg, strlen(msg));
    if (!fault || !msg)
        return error_set(err, ERR_OUT_OF_MEMORY);
    *fault =
        (struct field_fault){.name = name, .code = err->code, .msg = msg, .next = *reader->faults};
    *reader->faults = fault;
    return true;
}

/* ---- lists ---- */

/* An entry and its index, for sorting. */
struct entry {
    struct text value;
    size_t index;
};

static int entry_order(const void *a, const void *b)
{
    const struct entry *x = a;
    const struct entry *y = b;
    int order = text_cmp(x->value, y->value);

    return order ? order : (x->index > y->index) - (x->index < y->index);
}

/* Finds the first entry that equals an earlier one. */
static bool find_repeated(struct text_list list, struct entry *entries, size_t *index)
{
    size_t found = list.n;

    for (size_t i = 0; i < list.n; i++)
        entries[i] = (struct entry){.value = list.items[i], .index = i};
    qsort(entries, list.n, sizeof *entries, entry_order);
    for (size_t i = 1; i < list.n; i++) {
        if (text_eq(entries[i].value, entries[i - 1].value) && entries[i].index < found)
            found = entries[i].index;
    }
    *index = found;
    return found < list.n;
}

static bool check_repeated(const struct field *field, const struct json_node *node,
                           struct text_list list, struct arena *arena, struct error *err)
{
    struct entry *entries;
    size_t index;

    if (field->repeated == ERR_NONE || list.n < 2)
        return true;
    entries = arena_array(arena, list.n, sizeof *entries);
    if (!entries)
        return error_set(err, ERR_OUT_OF_MEMORY);
    if (find_repeated(list, entries, &index)) {
        char path[JSON_PATH_SIZE];
        char quote[ERROR_QUOTE_SIZE];

        json_path(path, node, (int)index);
        return error_field(err, field->repeated, path,
                           "%s is '%s', which is in the list already. Give it once.", path,
                           error_quote(quote, list.items[index]));
    }
    return true;
}

static bool check_texts(const struct field *field, const struct json_node *node,
                        struct text_list list, struct arena *arena, struct error *err)
{
    for (size_t i = 0; i < list.n; i++) {
        if (!check_text(field, node, (int)i, list.items[i], err))
            return false;
    }
    return check_repeated(field, node, list, arena, err);
}

static bool read_texts(const struct field *field, const struct json_node *node,
                       struct text_list *out, const struct field_reader *reader, struct error *err)
{
    struct text_list list = {0};

    if (!json_get_texts(node, FIELD_MAX_ENTRIES, field->too_many, reader->arena, &list, err))
        return false;
    if (!list.given)
        return true;
    if (!check_texts(field, node, list, reader->arena, err) &&
        !field_note_fault(reader, field->name, err))
        return false;
    *out = list;
    return true;
}

/* ---- objects ---- */

static bool read_text(const struct field *field, const struct json_node *node, struct text *out,
                      const struct field_reader *reader, struct error *err)
{
    struct text value = {0};

    if (!json_get_text(node, &value, err))
        return false;
    if (!value.s)
        return true;
    if (!check_text(field, node, -1, value, err) && !field_note_fault(reader, field->name, err))
        return false;
    *out = value;
    return true;
}

static bool refuse_given(const struct field *field, const struct json_node *node, struct error *err)
{
    char path[JSON_PATH_SIZE];

    if (!json_given(node))
        return true;
    json_path(path, node, -1);
    return error_field(err, field->invalid, path, "%s", error_row(field->invalid)->text);
}

/* A time of 1970 and before would stand for none. */
static bool read_moment(const struct field *field, const struct json_node *node, int64_t *out,
                        struct error *err)
{
    struct text value = {0};
    char path[JSON_PATH_SIZE];
    int64_t us;

    if (json_is_null(node))
        *out = 0;
    if (!json_get_text(node, &value, err))
        return false;
    if (!value.s)
        return true;
    if (!time_read(value, &us) || us < TIME_SECOND_US) {
        json_path(path, node, -1);
        return error_field(err, field->invalid != ERR_NONE ? field->invalid : ERR_WRONG_VALUE, path,
                           "%s is not a time after 1970, such as 2026-01-31T23:59:59Z.", path);
    }
    *out = us / TIME_SECOND_US;
    return true;
}

static bool read_field(const struct field *field, const struct json_node *node, void *value,
                       const struct field_reader *reader, struct error *err)
{
    switch (field->kind) {
    case FIELD_TEXT:
        return read_text(field, node, value, reader, err);
    case FIELD_TEXTS:
        return read_texts(field, node, value, reader, err);
    case FIELD_BOOL:
        return json_get_bool(node, value, err);
    case FIELD_UINT32:
        return json_get_uint32(node, value, err);
    case FIELD_TIME_OR_NULL:
        return read_moment(field, node, value, err);
    case FIELD_REFUSED:
        return refuse_given(field, node, err);
    case FIELD_PROVIDER:
    case FIELD_OBJECT:
        return true;
    case FIELD_NUMBER:
    case FIELD_TIME:
        break;
    }
    return error_set(err, ERR_INTERNAL);
}

bool fields_read(const struct json_node *object, const struct field *fields, size_t n_fields,
                 void *target, const struct field_reader *reader, struct error *err)
{
    for (size_t i = 0; i < n_fields; i++) {
        struct json_node node = json_member(object, fields[i].name);

        if (!read_field(&fields[i], &node, (char *)target + fields[i].offset, reader, err))
            return false;
        if (fields[i].given &&
            (json_given(&node) || (fields[i].kind == FIELD_TIME_OR_NULL && json_is_null(&node))))
            *(bool *)((char *)target + fields[i].given) = true;
    }
    return true;
}

bool field_ident_valid(struct text value, const char **why)
{
    *why =
        "an identifier has 1 to 255 characters out of A-Z a-z 0-9 . _ ~ -, and is not '.' or '..'";
    return ident_valid(value);
}

static void put_seconds(struct buf *out, int64_t seconds)
{
    char text[TIME_SIZE] = "";

    time_write(text, seconds);
    json_put_text(out, text_of(text));
}

void field_write_value(struct buf *out, enum field_kind kind, const void *value)
{
    switch (kind) {
    case FIELD_TEXT:
        json_put_text(out, *(const struct text *)value);
        break;
    case FIELD_TEXTS:
        json_put_texts(out, *(const struct text_list *)value);
        break;
    case FIELD_BOOL:
        json_put_bool(out, *(const bool *)value);
        break;
    case FIELD_UINT32:
        json_put_uint(out, *(const uint32_t *)value);
        break;
    case FIELD_NUMBER:
        json_put_uint(out, (uint64_t)*(const int64_t *)value);
        break;
    case FIELD_TIME:
        put_seconds(out, *(const int64_t *)value);
        break;
    case FIELD_TIME_OR_NULL:
        if (*(const int64_t *)value)
            put_seconds(out, *(const int64_t *)value);
        else
            json_put_null(out);
        break;
    case FIELD_PROVIDER:
    case FIELD_OBJECT:
    case FIELD_REFUSED:
        break;
    }
}

void field_write(struct buf *out, const struct field *field, const void *value)
{
    json_put_name(out, field->name);
    field_write_value(out, field->kind, value);
}

const char *field_answered(const struct field *field)
{
    return field->answered ? field->answered : field->name;
}

void field_answer_entry(struct buf *out, const struct field *field, struct text id,
                        struct text base_url)
{
    json_open(out, '{');
    json_put_member(out, "id", id);
    uri_write(out, base_url, field->path, id);
    json_close(out, '}');
}

void field_answer(struct buf *out, const struct field *field, const void *value,
                  struct text base_url)
{
    const struct text_list *list = value;

    json_put_name(out, field_answered(field));
    if (!field->path) {
        field_write_value(out, field->kind, value);
        return;
    }
    json_open(out, '[');
    for (size_t i = 0; i < list->n; i++)
        field_answer_entry(out, field, list->items[i], base_url);
    json_close(out, ']');
}

static bool is_read_by_model(const struct field *field)
{
    return field->is_sealed || field->kind == FIELD_PROVIDER || field->kind == FIELD_OBJECT;
}

void fields_write(struct buf *out, const struct field *fields, size_t n_fields, const void *target)
{
    for (size_t i = 0; i < n_fields; i++) {
        if (fields[i].shown == FIELD_SHOWN && !is_read_by_model(&fields[i]))
            field_write(out, &fields[i], (const char *)target + fields[i].offset);
    }
}

/* ---- values ---- */

void fields_fill(const struct field *fields, size_t n_fields, void *target)
{
    for (size_t i = 0; i < n_fields; i++) {
        void *value = (char *)target + fields[i].offset;

        if (fields[i].absent == FIELD_YES)
            *(bool *)value = true;
        else if (fields[i].absent == FIELD_ASIS)
            continue;
        else if (fields[i].kind == FIELD_TEXT && !((struct text *)value)->s)
            *(struct text *)value = text_of("");
        else if (fields[i].kind == FIELD_TEXTS)
            ((struct text_list *)value)->given = true;
    }
}

static bool copy_value_text(struct text *text, struct arena *arena)
{
    if (!text->s)
        return true;
    text->s = arena_copy(arena, text->s, text->len);
    return text->s != NULL;
}

static bool copy_value_list(struct text_list *list, struct arena *arena)
{
    struct text *items = arena_array(arena, list->n, sizeof *items);
    bool ok = items != NULL;

    for (size_t i = 0; ok && i < list->n; i++) {
        items[i] = list->items[i];
        ok = copy_value_text(&items[i], arena);
    }
    list->items = items;
    return ok;
}

static bool copy_secret(struct field_secret *secret, struct arena *arena)
{
    return copy_value_text(&secret->plain, arena) && copy_value_text(&secret->key_id, arena) &&
           copy_value_text(&secret->sealed, arena);
}

bool fields_copy(const struct field *fields, size_t n_fields, void *target, struct arena *arena)
{
    bool ok = true;

    for (size_t i = 0; ok && i < n_fields; i++) {
        void *value = (char *)target + fields[i].offset;

        if (fields[i].is_sealed)
            ok = copy_secret(value, arena);
        else if (fields[i].kind == FIELD_TEXT)
            ok = copy_value_text(value, arena);
        else if (fields[i].kind == FIELD_TEXTS)
            ok = copy_value_list(value, arena);
    }
    return ok;
}

bool fields_any(const struct field *fields, size_t n_fields, const void *target)
{
    bool any = false;

    for (size_t i = 0; i < n_fields && !any; i++) {
        const void *value = (const char *)target + fields[i].offset;

        if (fields[i].kind == FIELD_TEXT)
            any = ((const struct text *)value)->s != NULL;
        else if (fields[i].kind == FIELD_TEXTS)
            any = ((const struct text_list *)value)->n > 0;
    }
    return any;
}

static size_t texts_bytes(const struct text_list *list)
{
    size_t sum = 0;

    for (size_t i = 0; i < list->n; i++)
        sum += list->items[i].len;
    return sum;
}

size_t fields_bytes(const struct field *fields, size_t n_fields, const void *target)
{
    size_t sum = 0;

    for (size_t i = 0; i < n_fields; i++) {
        const void *value = (const char *)target + fields[i].offset;

        if (fields[i].kind == FIELD_TEXT)
            sum += ((const struct text *)value)->len;
        else if (fields[i].kind == FIELD_TEXTS)
            sum += texts_bytes(value);
    }
    return sum;
}
