/* SPDX-License-Identifier: MIT */
/* Tests of parsing JSON bodies, and of their getters. */
#include "json/tree.h"

#include <check.h>
#include <json-c/json.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/buf.h"
#include "cases.h"
#include "json/check.h"
#include "suites.h"

#define N_OF(array) (sizeof(array) / sizeof(array)[0])

static struct json_node parse(const char *body)
{
    struct json_node top;
    struct error err = {.code = ERR_NONE};

    ck_assert_msg(json_parse(body, strlen(body), &top, &err), "%s: %s", body, err.msg);
    return top;
}

/* ---- parsing ---- */

/* The parser calls the strict check first, which has a test of its own. */
START_TEST(refusals_of_the_strict_check)
{
    static const char *const bodies[] = {
        "",
        "[]",
        "1",
        "{\"a\":NaN}",
        "{\"a\":1,\"a\":2}",
        "{\"a\":1.}",
        "{\"a\":\"\t\"}",
        "{\"a\":1}x",
        "{\"\\u0000\":1}",
        "{\"a\":\"\\ud800\"}",
    };

    for (size_t i = 0; i < N_OF(bodies); i++) {
        struct json_node top = {.name = "left over"};
        struct error err = {.code = ERR_NONE};

        ck_assert_msg(!json_parse(bodies[i], strlen(bodies[i]), &top, &err), "%s", bodies[i]);
        ck_assert_int_eq(err.code, ERR_BODY_NOT_JSON);
        ck_assert(err.has_offset);
        ck_assert(!json_given(&top));
        json_free(&top);
    }
}
END_TEST

/* The parser accepts the deepest nesting that the check accepts. */
START_TEST(deepest_body)
{
    struct buf body = {0};
    struct json_node top;
    struct error err;

    for (int i = 0; i < JSON_MAX_DEPTH; i++)
        buf_puts(&body, i == 0 ? "{\"a\":" : i == JSON_MAX_DEPTH - 1 ? "[" : "{\"a\":");
    for (int i = JSON_MAX_DEPTH; i > 0; i--)
        buf_puts(&body, i == JSON_MAX_DEPTH ? "]" : "}");
    ck_assert_msg(json_parse(body.data, body.len, &top, &err), "%s: %s", body.data, err.msg);
    json_free(&top);
    buf_free(&body);
}
END_TEST

static int n_accepted;

static void parse_case(const struct test_case *test)
{
    struct json_node top;
    struct error err = {.code = ERR_NONE};
    bool ok = json_parse(test->input, test->input_len, &top, &err);

    ck_assert_msg(ok == (strcmp(test->expected, "ok") == 0), "%s:%d: %s (%s)", test->file,
                  test->line, ok ? "accepted" : err.cause, test->why);
    n_accepted += ok;
    json_free(&top);
    /* An answer may have more values, and no other grammar. */
    ck_assert(json_parse_answer(test->input, test->input_len, &top, &err) == ok ||
              strncmp(test->why, "4001", 4) == 0);
    json_free(&top);
}

/* json-c accepts all texts that the check accepts: its refusals would look like a lack of memory.
 */
START_TEST(parser_agrees_with_the_check)
{
    cases_run("json.cases", parse_case);
    ck_assert_int_gt(n_accepted, 0);
}
END_TEST

/* ---- members ---- */

START_TEST(members_given_and_not)
{
    struct json_node top = parse("{\"a\":1,\"n\":null,\"o\":{\"a\":\"inner\"}}");
    struct json_node a = json_member(&top, "a");
    struct json_node n = json_member(&top, "n");
    struct json_node absent = json_member(&top, "b");
    struct json_node o = json_member(&top, "o");
    struct json_node inner = json_member(&o, "a");
    struct text text = {0};
    struct error err;

    ck_assert(json_given(&top) && json_given(&a) && json_given(&o) && json_given(&inner));
    ck_assert(!json_given(&n) && !json_given(&absent));
    ck_assert(json_get_text(&inner, &text, &err));
    ck_assert(text_eq(text, text_of("inner")));
    json_free(&top);
}
END_TEST

START_TEST(names_are_compared_as_unescaped)
{
    struct json_node top = parse("{\"\\u0061\\/\":true}");
    struct json_node node = json_member(&top, "a/");

    ck_assert(json_given(&node));
    json_free(&top);
}
END_TEST

static bool is_in_list(const void *context, struct text name)
{
    const char *known = context;

    return name.len == 1 && strchr(known, name.s[0]) != NULL;
}

START_TEST(first_unknown_member)
{
    struct json_node top = parse("{\"c\":1,\"b\":null,\"a\":{\"z\":1},\"x\":2}");

    ck_assert(text_eq(json_find_unknown(&top, is_in_list, "c"), text_of("b")));
    ck_assert(text_eq(json_find_unknown(&top, is_in_list, "cb"), text_of("a")));
    ck_assert(text_eq(json_find_unknown(&top, is_in_list, "abc"), text_of("x")));
    ck_assert_ptr_null(json_find_unknown(&top, is_in_list, "abcx").s);
    json_free(&top);
}
END_TEST

/* ---- paths ---- */

START_TEST(paths_of_members)
{
    struct json_node top = parse("{\"provider\":{\"provider_a\":{\"teams\":[]}}}");
    struct json_node provider = json_member(&top, "provider");
    struct json_node a = json_member(&provider, "provider_a");
    struct json_node teams = json_member(&a, "teams");
    struct json_node absent = json_member(&a, "scopes");
    char path[JSON_PATH_SIZE];

    ck_assert_str_eq(json_path(path, &top, -1), "");
    ck_assert_str_eq(json_path(path, &provider, -1), "provider");
    ck_assert_str_eq(json_path(path, &teams, -1), "provider.provider_a.teams");
    ck_assert_str_eq(json_path(path, &teams, 0), "provider.provider_a.teams[0]");
    ck_assert_str_eq(json_path(path, &teams, 2147483647), "provider.provider_a.teams[2147483647]");
    ck_assert_str_eq(json_path(path, &absent, -1), "provider.provider_a.scopes");
    json_free(&top);
}
END_TEST

/* Names come from tables, and are short.  A longer path is cut at the end of its room. */
START_TEST(paths_that_are_too_long)
{
    char name[100];
    struct json_node nodes[JSON_MAX_DEPTH + 4];
    char guarded[JSON_PATH_SIZE + 8];

    memset(name, 'n', sizeof name - 1);
    name[sizeof name - 1] = '\0';
    for (size_t i = 0; i < N_OF(nodes); i++)
        nodes[i] = (struct json_node){.parent = i ? &nodes[i - 1] : NULL, .name = i ? name : NULL};
    for (size_t i = 0; i < N_OF(nodes); i++) {
        memset(guarded, 'g', sizeof guarded);
        json_path(guarded, &nodes[i], 7);
        ck_assert_uint_lt(strlen(guarded), JSON_PATH_SIZE);
        ck_assert(memcmp(guarded + JSON_PATH_SIZE, "gggggggg", 8) == 0);
    }
}
END_TEST

/* ---- types ---- */

enum type { TYPE_TEXT, TYPE_BOOL, TYPE_UINT32, TYPE_TEXTS, TYPE_OBJECT, N_TYPES, TYPE_NONE };

/* A value, and the getter that accepts it. */
static const struct {
    const char *json;
    enum type type;
} values[] = {
    {"\"\"", TYPE_TEXT},
    {"\"a\"", TYPE_TEXT},
    {"\"1\"", TYPE_TEXT},
    {"\"true\"", TYPE_TEXT},
    {"\"null\"", TYPE_TEXT},
    {"\"\\u00e9\"", TYPE_TEXT},
    {"true", TYPE_BOOL},
    {"false", TYPE_BOOL},
    {"0", TYPE_UINT32},
    {"1", TYPE_UINT32},
    {"4294967295", TYPE_UINT32},
    {"1.0", TYPE_UINT32},
    {"1e2", TYPE_UINT32},
    {"-1", TYPE_NONE},
    {"1.5", TYPE_NONE},
    {"4294967296", TYPE_NONE},
    {"1e400", TYPE_NONE},
    {"[]", TYPE_TEXTS},
    {"[\"a\"]", TYPE_TEXTS},
    {"[\"a\",\"a\"]", TYPE_TEXTS},
    {"[1]", TYPE_NONE},
    {"[null]", TYPE_NONE},
    {"[[\"a\"]]", TYPE_NONE},
    {"[\"a\",true]", TYPE_NONE},
    {"[{}]", TYPE_NONE},
    {"{}", TYPE_OBJECT},
    {"{\"a\":\"b\"}", TYPE_OBJECT},
};

/* Each output has a value before, so that a getter that refuses and still writes is found. */
static bool get(enum type type, const struct json_node *node, struct arena *arena,
                struct error *err)
{
    struct text text = {.s = "before", .len = 6};
    uint32_t number = 77;
    struct text_list list = {.n = 77};
    bool flag = false;
    bool ok = false;

    switch (type) {
    case TYPE_TEXT:
        ok = json_get_text(node, &text, err);
        ck_assert(ok || strcmp(text.s, "before") == 0);
        break;
    case TYPE_BOOL:
        ok = json_get_bool(node, &flag, err);
        ck_assert(ok || !flag);
        break;
    case TYPE_UINT32:
        ok = json_get_uint32(node, &number, err);
        ck_assert(ok || number == 77);
        break;
    case TYPE_TEXTS:
        ok = json_get_texts(node, 10, ERR_ACL_TOO_MANY, arena, &list, err);
        ck_assert(ok || list.n == 77);
        break;
    case TYPE_OBJECT:
        ok = json_is_object(node, err);
        break;
    case N_TYPES:
    case TYPE_NONE:
        break;
    }
    return ok;
}

START_TEST(every_getter_on_every_value)
{
    struct arena arena = {0};
    int n_cases = 0;

    for (size_t i = 0; i < N_OF(values); i++) {
        char body[64];
        struct json_node top;
        struct json_node node;

        snprintf(body, sizeof body, "{\"m\":%s}", values[i].json);
        top = parse(body);
        node = json_member(&top, "m");
        for (enum type type = 0; type < N_TYPES; type++) {
            struct error err = {.code = ERR_NONE};
            bool ok = get(type, &node, &arena, &err);

            ck_assert_msg(ok == (type == values[i].type), "%s with getter %d", body, (int)type);
            if (!ok) {
                ck_assert_int_eq(err.code, ERR_WRONG_VALUE);
                ck_assert_msg(strncmp(err.field, "m", 1) == 0, "%s: %s", body, err.field);
                ck_assert_msg(strstr(err.msg, " must be ") != NULL, "%s: %s", body, err.msg);
            }
            n_cases++;
        }
        json_free(&top);
    }
    arena_free(&arena);
    printf("types: %d cases\n", n_cases);
    ck_assert_int_gt(n_cases, 0);
}
END_TEST

/* An absent or null member leaves the caller's default unchanged. */
START_TEST(values_not_given)
{
    struct json_node top = parse("{\"n\":null}");
    const char *const names[] = {"n", "absent"};

    for (size_t i = 0; i < N_OF(names); i++) {
        struct json_node node = json_member(&top, names[i]);
        struct text text = text_of("default");
        struct text_list list = {.n = 3};
        uint32_t number = 5;
        bool flag = true;
        struct error err;

        ck_assert(json_get_text(&node, &text, &err) && json_get_bool(&node, &flag, &err) &&
                  json_get_uint32(&node, &number, &err) &&
                  json_get_texts(&node, 1, ERR_ACL_TOO_MANY, NULL, &list, &err));
        ck_assert(strcmp(text.s, "default") == 0 && flag && number == 5 && list.n == 3);
        ck_assert(!json_is_object(&node, &err));
    }
    json_free(&top);
}
END_TEST

START_TEST(top_that_is_no_member)
{
    struct json_node top = {0};
    struct error err;

    ck_assert(!json_is_object(&top, &err));
    ck_assert_int_eq(err.code, ERR_WRONG_VALUE);
    ck_assert_str_eq(err.field, "");
    ck_assert_str_eq(err.msg, "The body must be an object.");
}
END_TEST

static void check_uint32(const struct test_case *test)
{
    struct buf body = {0};
    struct json_node top;
    struct json_node node;
    struct error err = {.code = ERR_NONE};
    uint32_t value = 0;
    bool bad = strcmp(test->expected, "bad") == 0;

    buf_printf(&body, "{\"m\":%s}", test->input);
    top = parse(body.data);
    node = json_member(&top, "m");
    ck_assert_msg(json_get_uint32(&node, &value, &err) != bad, "%s:%d: %s (%s)", test->file,
                  test->line, bad ? "accepted" : err.msg, test->why);
    if (bad)
        ck_assert_int_eq(err.code, ERR_WRONG_VALUE);
    else
        ck_assert_msg(value == strtoul(test->expected, NULL, 10), "%s:%d: %u", test->file,
                      test->line, value);
    json_free(&top);
    buf_free(&body);
}

START_TEST(numbers_of_case_file)
{
    cases_run("uint32.cases", check_uint32);
}
END_TEST

/* ---- lists ---- */

START_TEST(lists_and_their_limit)
{
    struct json_node top = parse("{\"l\":[\"a\",\"\",\"c\\n\"],\"e\":[]}");
    struct json_node list = json_member(&top, "l");
    struct json_node empty = json_member(&top, "e");
    struct arena arena = {0};
    struct text_list out = {0};
    struct error err;

    ck_assert(json_get_texts(&list, 3, ERR_ACL_TOO_MANY, &arena, &out, &err));
    ck_assert(out.given && out.n == 3);
    ck_assert(text_eq(out.items[0], text_of("a")) && text_eq(out.items[1], text_of("")) &&
              text_eq(out.items[2], text_of("c\n")));
    ck_assert(!json_get_texts(&list, 2, ERR_ACL_TOO_MANY, &arena, &out, &err));
    ck_assert_int_eq(err.code, ERR_ACL_TOO_MANY);
    ck_assert_str_eq(err.field, "l");
    ck_assert_str_eq(err.msg, "l has 3 entries; at most 2 are accepted.");
    ck_assert(json_get_texts(&empty, 0, ERR_ACL_TOO_MANY, &arena, &out, &err));
    ck_assert(out.given && out.n == 0);
    json_free(&top);
    arena_free(&arena);
}
END_TEST

START_TEST(entry_of_wrong_type_is_named)
{
    struct json_node top = parse("{\"o\":{\"l\":[\"a\",\"b\",null]}}");
    struct json_node object = json_member(&top, "o");
    struct json_node list = json_member(&object, "l");
    struct arena arena = {0};
    struct text_list out = {0};
    struct error err;

    ck_assert(!json_get_texts(&list, 3, ERR_ACL_TOO_MANY, &arena, &out, &err));
    ck_assert_int_eq(err.code, ERR_WRONG_VALUE);
    ck_assert_str_eq(err.field, "o.l[2]");
    ck_assert_str_eq(err.msg, "o.l[2] must be a string.");
    json_free(&top);
    arena_free(&arena);
}
END_TEST

/* ---- wiping ---- */

/* A reference of the test keeps the memory of a string after its tree is freed. */
static void expect_wiped(const char *body, const char *member, int index)
{
    struct json_node top = parse(body);
    struct json_node node = json_member(&top, member);
    struct json_object *string =
        index < 0 ? node.value : json_object_array_get_idx(node.value, (size_t)index);
    size_t len = (size_t)json_object_get_string_len(string);
    const char *bytes;

    json_object_get(string);
    json_free(&top);
    ck_assert(!json_given(&top));
    bytes = json_object_get_string(string);
    for (size_t i = 0; i < len; i++)
        ck_assert_msg(bytes[i] == '\0', "%s: byte %zu is left", body, i);
    ck_assert_uint_gt(len, 0);
    json_object_put(string);
}

START_TEST(strings_are_wiped)
{
    expect_wiped("{\"secret\":\"short\"}", "secret", -1);
    expect_wiped(
        "{\"secret\":\"a string that is too long to stand inside of its object, for sure\"}",
        "secret", -1);
    expect_wiped("{\"list\":[\"one\",\"a second that is longer than what an object holds\"]}",
                 "list", 0);
    expect_wiped("{\"list\":[\"one\",\"a second that is longer than what an object holds\"]}",
                 "list", 1);
}
END_TEST

START_TEST(large_texts)
{
    struct buf body = {0};
    struct json_node top, element, member;
    struct error err = {.code = ERR_NONE};
    struct text name = {0};

    buf_puts(&body, " [");
    for (int i = 0; i < 6000; i++)
        buf_printf(&body, "%s{\"name\":\"n%d\"}", i ? "," : "", i);
    buf_puts(&body, "] ");
    ck_assert(!json_parse(body.data, body.len, &top, &err));
    ck_assert(!json_parse_large(body.data, body.len, 12000, &top, &err));
    ck_assert_msg(strstr(err.msg, "more than 12000 values"), "%s", err.msg);
    ck_assert_msg(json_parse_large(body.data, body.len, 12001, &top, &err), "%s", err.msg);
    ck_assert(json_is_list(&top));
    ck_assert_uint_eq(json_count(&top), 6000);
    element = json_element(&top, 5999);
    member = json_member(&element, "name");
    ck_assert(json_get_text(&member, &name, &err));
    ck_assert_str_eq(name.s, "n5999");
    ck_assert_uint_eq(json_count(&element), 0);
    ck_assert(!json_is_list(&element));
    json_free(&top);
    buf_free(&body);
}
END_TEST

/* The check is as strict as that of bodies. */
START_TEST(large_texts_that_are_refused)
{
    static const char *const texts[] = {
        "", "1", "\"a\"", "null", "[", "[1,]", "[1] x", "[{\"a\":1}", "[{\"a\":1,\"a\":2}]"};

    for (size_t i = 0; i < N_OF(texts); i++) {
        struct json_node top;
        struct error err = {.code = ERR_NONE};

        ck_assert_msg(!json_parse_large(texts[i], strlen(texts[i]), 100, &top, &err), "%s",
                      texts[i]);
        ck_assert_int_eq(err.code, ERR_BODY_NOT_JSON);
    }
}
END_TEST

START_TEST(digits)
{
    static const struct {
        const char *value;
        const char *digits; /* NULL: it is refused */
    } cases[] = {
        {"0", "0"},     {"18446744073709551616", "18446744073709551616"},
        {"-1", NULL},   {"1.0", NULL},
        {"1e3", NULL},  {"\"1\"", NULL},
        {"true", NULL}, {"[1]", NULL},
    };

    for (size_t i = 0; i < N_OF(cases); i++) {
        struct json_node top, member;
        struct error err = {.code = ERR_NONE};
        struct text found = {0};
        char body[64];

        snprintf(body, sizeof body, "{\"n\":%s}", cases[i].value);
        top = parse(body);
        member = json_member(&top, "n");
        ck_assert_msg(json_get_digits(&member, &found, &err) == (cases[i].digits != NULL), "%s",
                      body);
        ck_assert_msg(text_eq(found, text_of(cases[i].digits)), "%s", body);
        json_free(&top);
    }
}
END_TEST

Suite *json_suite(void)
{
    Suite *suite = suite_create("json/tree");
    TCase *parsing = tcase_create("parsing");
    TCase *members = tcase_create("members");
    TCase *types = tcase_create("types");

    tcase_add_test(parsing, refusals_of_the_strict_check);
    tcase_add_test(parsing, deepest_body);
    tcase_add_test(parsing, parser_agrees_with_the_check);
    tcase_add_test(parsing, strings_are_wiped);
    tcase_add_test(members, members_given_and_not);
    tcase_add_test(members, names_are_compared_as_unescaped);
    tcase_add_test(members, first_unknown_member);
    tcase_add_test(members, paths_of_members);
    tcase_add_test(members, paths_that_are_too_long);
    tcase_add_test(types, every_getter_on_every_value);
    tcase_add_test(types, values_not_given);
    tcase_add_test(types, top_that_is_no_member);
    tcase_add_test(types, numbers_of_case_file);
    tcase_add_test(types, lists_and_their_limit);
    tcase_add_test(types, entry_of_wrong_type_is_named);
    tcase_add_test(types, digits);
    tcase_add_test(parsing, large_texts);
    tcase_add_test(parsing, large_texts_that_are_refused);
    suite_add_tcase(suite, parsing);
    suite_add_tcase(suite, members);
    suite_add_tcase(suite, types);
    return suite;
}
