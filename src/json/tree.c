/* SPDX-License-Identifier: MIT */
/* Making trees of json-c's objects, and reading them. */
#include "json/tree.h"

#include <json-c/json.h>
#include <json-c/json_visit.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "json/check.h"

/* ---- making the tree ----
 *
 * When memory runs out, json-c's own parser (up to 0.16) drops members and cuts strings silently,
 * returns an inner list as the whole, or crashes.  The functions that make its objects do report
 * it.
 */

/* Reads a text that passed json_check(), so it does not check the grammar again. */
struct reader {
    const char *at;
    char *scratch; /* room for any string or number of the text, and a NUL */
};

static bool read_value(struct reader *r, struct json_object **value);

static void skip_to_token(struct reader *r)
{
    r->at += strspn(r->at, " \t\r\n");
}

/* Skips a comma or the closing bracket.  Returns whether another item follows. */
static bool has_next_item(struct reader *r, char closing)
{
    skip_to_token(r);
    if (*r->at == ',') {
        r->at++;
        skip_to_token(r);
    }
    if (*r->at != closing)
        return true;
    r->at++;
    return false;
}

/* Reads the next string into the scratch.  Returns its length in bytes. */
static size_t read_string(struct reader *r)
{
    size_t len;

    r->at++;
    len = json_unescape(&r->at, r->scratch);
    r->scratch[len] = '\0';
    return len;
}

static bool read_number(struct reader *r, struct json_object **value)
{
    size_t len = strspn(r->at, "+-.0123456789Ee");

    memcpy(r->scratch, r->at, len);
    r->scratch[len] = '\0';
    r->at += len;
    *value = json_object_new_double_s(strtod(r->scratch, NULL), r->scratch);
    return *value != NULL;
}

static bool read_literal(struct reader *r, struct json_object **value)
{
    bool is_null = *r->at == 'n';

    *value = is_null ? NULL : json_object_new_boolean(*r->at == 't');
    r->at += *r->at == 'f' ? 5 : 4;
    return is_null || *value;
}

/* Grows the table before a member is added: json-c loses the member's name if it cannot grow it
 * then. */
static bool make_room(struct json_object *object)
{
    struct lh_table *table = json_object_get_object(object);

    return table->count < table->size / 2 || lh_table_resize(table, table->size * 2) == 0;
}

static bool add_member(struct json_object *object, const char *name, struct json_object *value)
{
    if (make_room(object) &&
        json_object_object_add_ex(object, name, value, JSON_C_OBJECT_ADD_KEY_IS_NEW) == 0)
        return true;
    json_object_put(value);
    return false;
}

static bool read_member(struct reader *r, struct json_object *object)
{
    struct json_object *value;
    size_t len = read_string(r);
    char *name = strndup(r->scratch, len);
    bool ok;

    skip_to_token(r);
    r->at++;
    skip_to_token(r);
    ok = name && read_value(r, &value) && add_member(object, name, value);
    free(name);
    return ok;
}

static bool read_object(struct reader *r, struct json_object **value)
{
    struct json_object *object = json_object_new_object();
    bool ok = object != NULL;

    r->at++;
    while (ok && has_next_item(r, '}'))
        ok = read_member(r, object);
    if (ok)
        *value = object;
    else
        json_object_put(object);
    return ok;
}

static bool read_list(struct reader *r, struct json_object **value)
{
    struct json_object *list = json_object_new_array();
    bool ok = list != NULL;

    r->at++;
    while (ok && has_next_item(r, ']')) {
        struct json_object *item;

        ok = read_value(r, &item);
        if (ok && json_object_array_add(list, item) != 0) {
            json_object_put(item);
            ok = false;
        }
    }
    if (ok)
        *value = list;
    else
        json_object_put(list);
    return ok;
}

/* Returns false if memory runs out.  A null is read as NULL. */
static bool read_value(struct reader *r, struct json_object **value)
{
    size_t len;

    switch (*r->at) {
    case '{':
        return read_object(r, value);
    case '[':
        return read_list(r, value);
    case '"':
        len = read_string(r);
        *value = json_object_new_string_len(r->scratch, (int)len);
        return *value != NULL;
    case 't':
    case 'f':
    case 'n':
        return read_literal(r, value);
    default:
        return read_number(r, value);
    }
}

/* Makes the tree of a text that passed the check. */
static bool make_tree(const char *text, size_t len, struct json_node *top, struct error *err)
{
    struct reader r = {.at = text, .scratch = malloc(len)};
    bool ok = r.scratch;

    if (ok) {
        skip_to_token(&r);
        ok = read_value(&r, &top->value);
        explicit_bzero(r.scratch, len);
    }
    free(r.scratch);
    return ok || error_set(err, ERR_OUT_OF_MEMORY);
}

bool json_parse(const char *text, size_t len, struct json_node *top, struct error *err)
{
    *top = (struct json_node){0};
    return json_check(text, len, err) && make_tree(text, len, top, err);
}

bool json_parse_answer(const char *text, size_t len, struct json_node *top, struct error *err)
{
    *top = (struct json_node){0};
    return json_check_answer(text, len, err) && make_tree(text, len, top, err);
}

bool json_parse_large(const char *text, size_t len, size_t max_values, struct json_node *top,
                      struct error *err)
{
    *top = (struct json_node){0};
    return json_check_large(text, len, max_values, err) && make_tree(text, len, top, err);
}

/* Bodies carry secrets, and json-c frees its strings unwiped. */
static int wipe(struct json_object *value, int flags, struct json_object *parent, const char *key,
                size_t *index, void *context)
{
    (void)flags, (void)parent, (void)key, (void)index, (void)context;
    if (json_object_is_type(value, json_type_string)) {
        char *bytes = (char *)(uintptr_t)json_object_get_string(value);

        explicit_bzero(bytes, (size_t)json_object_get_string_len(value));
    }
    return JSON_C_VISIT_RETURN_CONTINUE;
}

void json_free(struct json_node *top)
{
    if (top->value) {
        json_c_visit(top->value, 0, wipe, NULL);
        json_object_put(top->value);
    }
    *top = (struct json_node){0};
}

struct json_node json_member(const struct json_node *object, const char *name)
{
    struct json_node node = {.parent = object, .name = name};

    json_object_object_get_ex(object->value, name, &node.value);
    return node;
}

bool json_is_list(const struct json_node *node)
{
    return json_object_is_type(node->value, json_type_array);
}

size_t json_count(const struct json_node *list)
{
    return json_is_list(list) ? json_object_array_length(list->value) : 0;
}

struct json_node json_element(const struct json_node *list, size_t index)
{
    return (struct json_node){.value = json_object_array_get_idx(list->value, index),
                              .parent = list};
}

bool json_set_text(const struct json_node *object, const char *name, const char *value)
{
    struct json_object *text = json_object_new_string(value);

    if (text && make_room(object->value) && json_object_object_add(object->value, name, text) == 0)
        return true;
    json_object_put(text);
    return false;
}

bool json_given(const struct json_node *node)
{
    return node->value != NULL;
}

bool json_is_null(const struct json_node *member)
{
    return !member->value && json_object_object_get_ex(member->parent->value, member->name, NULL);
}

const char *json_path(char out[JSON_PATH_SIZE], const struct json_node *node, int index)
{
    const struct json_node *chain[JSON_MAX_DEPTH];
    size_t depth = 0;
    size_t len = 0;

    for (; node && node->name && depth < JSON_MAX_DEPTH; node = node->parent)
        chain[depth++] = node;
    out[0] = '\0';
    while (depth-- > 0 && len < JSON_PATH_SIZE)
        len += (size_t)snprintf(out + len, JSON_PATH_SIZE - len, "%s%s", len ? "." : "",
                                /* cppcheck-suppress uninitvar ; the first "depth" are set */
                                chain[depth]->name);
    if (index >= 0 && len < JSON_PATH_SIZE)
        snprintf(out + len, JSON_PATH_SIZE - len, "[%d]", index);
    return out;
}

static bool wrong_type(const struct json_node *node, int index, const char *wanted,
                       struct error *err)
{
    char path[JSON_PATH_SIZE];

    json_path(path, node, index);
    if (!path[0])
        return error_say(err, ERR_WRONG_VALUE, "The body must be %s.", wanted);
    return error_field(err, ERR_WRONG_VALUE, path, "%s must be %s.", path, wanted);
}

bool json_is_object(const struct json_node *node, struct error *err)
{
    return json_object_is_type(node->value, json_type_object) ||
           wrong_type(node, -1, "an object", err);
}

struct text json_find_unknown(const struct json_node *object,
                              bool (*known)(const void *context, struct text name),
                              const void *context)
{
    json_object_object_foreach(object->value, name, value)
    {
        (void)value;
        if (!known(context, text_of(name)))
            return text_of(name);
    }
    return (struct text){0};
}

static struct text text_value(struct json_object *string)
{
    return (struct text){.s = json_object_get_string(string),
                         .len = (size_t)json_object_get_string_len(string)};
}

bool json_get_text(const struct json_node *node, struct text *out, struct error *err)
{
    if (!json_given(node))
        return true;
    if (!json_object_is_type(node->value, json_type_string))
        return wrong_type(node, -1, "a string", err);
    *out = text_value(node->value);
    return true;
}

bool json_get_bool(const struct json_node *node, bool *out, struct error *err)
{
    if (!json_given(node))
        return true;
    if (!json_object_is_type(node->value, json_type_boolean))
        return wrong_type(node, -1, "true or false", err);
    *out = json_object_get_boolean(node->value);
    return true;
}

/* Reads the exponent of a JSON number, from its 'e' or its end.  Stops counting at 100000: beyond
 * that only the sign matters. */
static long read_exponent(const char *s)
{
    long exponent = 0;
    bool minus;

    if (!*s)
        return 0;
    s++;
    minus = *s == '-';
    for (s += *s == '-' || *s == '+'; *s; s++)
        exponent = exponent > 100000 ? exponent : exponent * 10 + (*s - '0');
    return minus ? -exponent : exponent;
}

/* Reads a JSON number digit by digit: as a double, 4294967295.00000001 would look whole.  `whole`
 * is the number of digits before the decimal point once the exponent has moved it.  The number is
 * whole if all digits after the point are 0. */
static bool decimal_uint32(const char *s, uint32_t *out)
{
    bool negative = *s == '-';
    const char *digits = s + negative;
    size_t mantissa = strcspn(digits, "eE");
    long whole = (long)strcspn(digits, ".eE") + read_exponent(digits + mantissa);
    long n_digits = 0;
    uint64_t value = 0;

    for (size_t i = 0; i < mantissa; i++) {
        if (digits[i] == '.')
            continue;
        if (n_digits++ >= whole) {
            if (digits[i] != '0')
                return false;
        } else if ((value = value * 10 + (uint64_t)(digits[i] - '0')) > UINT32_MAX) {
            return false;
        }
    }
    for (; value != 0 && n_digits < whole; n_digits++) {
        if ((value *= 10) > UINT32_MAX)
            return false;
    }
    if (negative && value != 0)
        return false;
    *out = (uint32_t)value;
    return true;
}

bool json_get_uint32(const struct json_node *node, uint32_t *out, struct error *err)
{
    static const char wanted[] = "a whole number from 0 to 4294967295";

    if (!json_given(node))
        return true;
    /* json_object_new_double_s() has kept the number as it was written. */
    if (json_object_is_type(node->value, json_type_double) &&
        decimal_uint32(json_object_get_userdata(node->value), out))
        return true;
    return wrong_type(node, -1, wanted, err);
}

bool json_get_digits(const struct json_node *node, struct text *out, struct error *err)
{
    struct text number;

    if (!json_given(node))
        return true;
    if (!json_object_is_type(node->value, json_type_double))
        return wrong_type(node, -1, "a whole number", err);
    number = text_of(json_object_get_userdata(node->value));
    if (strspn(number.s, "0123456789") != number.len)
        return wrong_type(node, -1, "a whole number", err);
    *out = number;
    return true;
}

bool json_get_texts(const struct json_node *node, size_t max, enum error_code too_many,
                    struct arena *arena, struct text_list *out, struct error *err)
{
    char path[JSON_PATH_SIZE];
    struct text_list list = {.given = true};

    if (!json_given(node))
        return true;
    if (!json_object_is_type(node->value, json_type_array))
        return wrong_type(node, -1, "a list of strings", err);
    list.n = json_object_array_length(node->value);
    if (list.n > max) {
        json_path(path, node, -1);
        return error_field(err, too_many, path, "%s has %zu entries; at most %zu are accepted.",
                           path, list.n, max);
    }
    list.items = arena_array(arena, list.n, sizeof *list.items);
    if (!list.items)
        return error_set(err, ERR_OUT_OF_MEMORY);
    for (size_t i = 0; i < list.n; i++) {
        struct json_object *item = json_object_array_get_idx(node->value, i);

        if (!json_object_is_type(item, json_type_string))
            return wrong_type(node, (int)i, "a string", err);
        list.items[i] = text_value(item);
    }
    *out = list;
    return true;
}
