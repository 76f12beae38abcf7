/* SPDX-License-Identifier: MIT */
/* Fuzz target: the check of JSON and the parser must agree on every text, and the getters must keep
 * their contracts. */
#include <ctype.h>
#include <json-c/json.h>

#include "base/utf8.h"
#include "fuzz.h"
#include "json/check.h"
#include "json/plain.h"
#include "json/tree.h"
#include "json/write.h"

#define MAX_SIZE 65536

static bool check(const char *text, size_t len)
{
    struct error err = {.code = ERR_NONE};
    bool ok = json_check(text, len, &err);

    if (ok)
        return true;
    MUST(err.code == ERR_BODY_NOT_JSON);
    MUST(err.has_offset && err.offset <= len);
    MUST(err.msg[0] && strlen(err.msg) < sizeof err.msg && is_plain(text_of(err.msg)));
    return false;
}

/* White space around a text changes nothing, and no proper prefix passes. */
static void look_at_ends(const char *text, size_t len, bool ok)
{
    char *wide = malloc(len + 2);

    MUST(wide);
    wide[0] = '\n';
    wide[len + 1] = ' ';
    memcpy(wide + 1, text, len);
    MUST(check(wide, len + 2) == ok);
    free(wide);
    while (len > 0 && isspace((unsigned char)text[len - 1]))
        len--;
    if (ok) {
        MUST(!check(text, len - 1));
        MUST(!check(text, len / 2));
    }
}

/* No valid text has a raw control character. */
static void look_at_bytes(const char *text, size_t len)
{
    for (size_t i = 0; i < len; i++)
        MUST((unsigned char)text[i] >= 0x20 || (text[i] && strchr("\t\n\r", text[i])));
}

/* ---- getters ---- */

static void look_at_text(const struct json_node *node)
{
    struct text text = {0};
    struct error err;

    MUST(json_get_text(node, &text, &err));
    MUST(text.s && text.s[text.len] == '\0' && utf8_valid(text.s, text.len));
}

static void look_at_number(const struct json_node *node)
{
    const char *written = json_object_to_json_string(node->value);
    uint32_t value = 0;
    struct error err;

    if (json_get_uint32(node, &value, &err))
        MUST(strtod(written, NULL) == value);
    else
        MUST(err.code == ERR_WRONG_VALUE && value == 0);
    /* Up to nine digits fit into a uint32. */
    if (strlen(written) <= 9 && strspn(written, "0123456789") == strlen(written))
        MUST(value == strtoul(written, NULL, 10));
}

static void look_at_list(const struct json_node *node, size_t max)
{
    struct arena arena = {0};
    struct text_list list = {0};
    struct error err;

    if (json_get_texts(node, max, ERR_ACL_TOO_MANY, &arena, &list, &err)) {
        MUST(list.given && list.n == json_object_array_length(node->value) && list.n <= max);
        for (size_t i = 0; i < list.n; i++)
            MUST(utf8_valid(list.items[i].s, list.items[i].len));
    } else {
        MUST(err.code == ERR_WRONG_VALUE || err.code == ERR_ACL_TOO_MANY);
        MUST(!list.given);
    }
    arena_free(&arena);
}

/* A getter of the wrong type fails with the path, and leaves the output unchanged. */
static void look_at_refusals(const struct json_node *node)
{
    enum json_type type = json_object_get_type(node->value);
    struct text text = {0};
    bool flag = false;
    struct error err;

    if (type != json_type_string)
        MUST(!json_get_text(node, &text, &err) && !text.s && err.code == ERR_WRONG_VALUE);
    if (type != json_type_boolean)
        MUST(!json_get_bool(node, &flag, &err) && !flag && err.code == ERR_WRONG_VALUE);
    if (type != json_type_object)
        MUST(!json_is_object(node, &err) && err.code == ERR_WRONG_VALUE);
}

static void look_at_value(const struct json_node *node)
{
    char path[JSON_PATH_SIZE];

    MUST(strlen(json_path(path, node, 3)) < sizeof path);
    look_at_refusals(node);
    switch (json_object_get_type(node->value)) {
    case json_type_string:
        look_at_text(node);
        break;
    case json_type_int:
    case json_type_double:
        look_at_number(node);
        break;
    case json_type_array:
        look_at_list(node, 3);
        look_at_list(node, JSON_MAX_VALUES);
        break;
    default:
        break;
    }
}

static void look_at_object(const struct json_node *object, int depth);

/* Called by json_find_unknown() for each member. */
struct visit {
    const struct json_node *object;
    int depth;
};

static bool look_at_member(const void *context, struct text name)
{
    const struct visit *visit = context;
    struct json_node node = json_member(visit->object, name.s);

    MUST(utf8_valid(name.s, name.len));
    if (json_given(&node))
        look_at_value(&node);
    if (json_object_is_type(node.value, json_type_object))
        look_at_object(&node, visit->depth + 1);
    return true;
}

static void look_at_object(const struct json_node *object, int depth)
{
    struct visit visit = {.object = object, .depth = depth};

    MUST(depth <= JSON_MAX_DEPTH);
    MUST(!json_find_unknown(object, look_at_member, &visit).s);
}

/* ---- writing ---- */

static const char *write_tree(const struct json_node *top, size_t *len)
{
    return json_object_to_json_string_length(
        top->value, JSON_C_TO_STRING_PLAIN | JSON_C_TO_STRING_NOSLASHESCAPE, len);
}

/* The output passes the check.  Writing it again gives the same text. */
static void write_and_read(const struct json_node *top)
{
    struct json_node again = {0};
    struct error err;
    size_t len;
    size_t again_len;
    const char *text = write_tree(top, &len);
    const char *again_text;

    MUST(text && check(text, len));
    MUST(json_parse(text, len, &again, &err));
    again_text = write_tree(&again, &again_len);
    MUST(again_text && again_len == len && memcmp(text, again_text, len) == 0);
    json_free(&again);
}

/* The copies with vectors and without stop at the same bytes. */
static void copy_plain(const char *text, size_t len)
{
    char *to = malloc(len + 1);
    char *other = malloc(len + 1);

    MUST(to && other);
    for (size_t at = 0; at <= len;) {
        size_t n = json_copy_plain(to, text + at, len - at);

        MUST(json_copy_plain_words(other, text + at, len - at) == n);
        MUST(memcmp(to, text + at, n) == 0 && memcmp(other, text + at, n) == 0);
        at += n + 1;
    }
    free(to);
    free(other);
}

/* Any text is written so that the parser reads the same text. */
static void write_text(const char *text, size_t len)
{
    struct buf out = {0};
    struct json_node top = {0};
    struct json_node member;
    struct text again;
    struct error err;

    if (!utf8_valid(text, len))
        return;
    json_open(&out, '{');
    json_put_member(&out, "a", (struct text){text, len});
    json_close(&out, '}');
    MUST(!out.failed && json_parse(out.data, out.len, &top, &err));
    member = json_member(&top, "a");
    MUST(json_get_text(&member, &again, &err) && text_eq(again, (struct text){text, len}));
    json_free(&top);
    buf_free(&out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *text = (const char *)data;
    struct json_node top = {0};
    struct error err = {.code = ERR_NONE};
    bool ok;

    if (size > MAX_SIZE)
        return 0;
    ok = check(text, size);
    MUST(json_parse(text, size, &top, &err) == ok);
    look_at_ends(text, size, ok);
    copy_plain(text, size);
    write_text(text, size);
    if (ok) {
        MUST(json_is_object(&top, &err));
        look_at_bytes(text, size);
        look_at_object(&top, 1);
        write_and_read(&top);
        accepted();
    } else {
        MUST(!top.value && err.code == ERR_BODY_NOT_JSON);
    }
    json_free(&top);
    MUST(!top.value);
    return 0;
}
