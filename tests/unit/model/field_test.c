/* SPDX-License-Identifier: MIT */
/* Tests of reading by a table, on a table of every kind of field. */
#include "model/field.h"

#include <check.h>
#include <stdint.h>

#include "json/write.h"
#include "model/field_cases.h"
#include "suites.h"

struct thing {
    struct text plain;
    struct text id;
    struct text_list list;
    struct text_list set;
    bool flag;
    uint32_t number;
    int64_t moment;
    bool flag_given;
    bool number_given;
    bool moment_given;
};

static bool is_lower(struct text value, const char **why)
{
    *why = "it has to be of small letters.";
    for (size_t i = 0; i < value.len; i++) {
        if (value.s[i] >= 'A' && value.s[i] <= 'Z')
            return false;
    }
    return true;
}

#define AT(member) .offset = offsetof(struct thing, member)

/* Any different codes will do. */
static const struct field fields[] = {
    {.name = "plain", .kind = FIELD_TEXT, AT(plain)},
    {.name = "name",
     .kind = FIELD_TEXT,
     AT(id),
     .is_secret = true,
     .max = 10,
     .too_long = ERR_DESCRIPTION_TOO_LONG,
     .empty = ERR_PUBLIC_KEY_MISSING,
     .valid = is_lower,
     .invalid = ERR_PUBLIC_KEY_INVALID},
    {.name = "list", .kind = FIELD_TEXTS, AT(list), .too_many = ERR_ACL_TOO_MANY},
    {.name = "set",
     .kind = FIELD_TEXTS,
     AT(set),
     .max = 7,
     .too_long = ERR_SCOPE_TOO_LONG,
     .too_many = ERR_SCOPES_TOO_MANY,
     .empty = ERR_SCOPE_EMPTY,
     .repeated = ERR_SCOPE_REPEATED,
     .valid = is_lower,
     .invalid = ERR_ACL_RULE},
    {.name = "flag", .kind = FIELD_BOOL, AT(flag), .given = offsetof(struct thing, flag_given)},
    {.name = "number",
     .kind = FIELD_UINT32,
     AT(number),
     .given = offsetof(struct thing, number_given)},
    {.name = "moment",
     .kind = FIELD_TIME_OR_NULL,
     AT(moment),
     .given = offsetof(struct thing, moment_given),
     .invalid = ERR_OWNER_UNKNOWN},
    {.name = "fixed", .kind = FIELD_REFUSED, .invalid = ERR_OWNER_FIXED},
};

#define N_FIELDS (sizeof fields / sizeof fields[0])

static struct thing thing;

static const void *read_thing(const struct json_node *body, struct arena *arena, struct error *err)
{
    thing = (struct thing){.flag = false};
    return fields_known(body, fields, N_FIELDS, err) &&
                   fields_read(body, fields, N_FIELDS, &thing,
                               &(struct field_reader){.arena = arena}, err)
               ? &thing
               : NULL;
}

START_TEST(every_kind)
{
    static const struct field_table table = {
        .name = "every kind",
        .fields = fields,
        .n_fields = N_FIELDS,
        .open = "{",
        .close = "}",
        .path = "",
        .read = read_thing,
    };

    field_table_check(&table);
}
END_TEST

static bool read_text(const char *text, struct arena *arena, struct json_node *top,
                      struct error *err)
{
    ck_assert_msg(json_parse(text, strlen(text), top, err), "%s", text);
    return read_thing(top, arena, err) != NULL;
}

static void expect_error(const char *text, enum error_code code, const char *field, const char *msg)
{
    struct arena arena = {0};
    struct json_node top;
    struct error err = {.code = ERR_NONE};

    ck_assert_msg(!read_text(text, &arena, &top, &err), "%s", text);
    ck_assert_int_eq(err.code, code);
    ck_assert_str_eq(err.field, field);
    ck_assert_msg(strstr(err.msg, msg) != NULL, "%s", err.msg);
    json_free(&top);
    arena_free(&arena);
}

START_TEST(messages)
{
    expect_error("{\"flat\":1}", ERR_UNKNOWN_MEMBER, "flat",
                 "The member flat is unknown. This object takes: plain, name, list, set, flag, "
                 "number, moment.");
    expect_error("{\"set\":[\"a\",\"b\",\"a\"]}", ERR_SCOPE_REPEATED, "set[2]",
                 "set[2] is 'a', which is in the list already.");
    expect_error("{\"set\":[\"12345678\"]}", ERR_SCOPE_TOO_LONG, "set[0]",
                 "set[0] is 8 bytes long; at most 7 are accepted.");
    expect_error("{\"set\":[\"\"]}", ERR_SCOPE_EMPTY, "set[0]", "set[0] is empty.");
    expect_error("{\"set\":[\"aB\"]}", ERR_ACL_RULE, "set[0]",
                 "set[0] is 'aB', which is not valid: it has to be of small letters.");
    expect_error("{\"name\":\"aB\"}", ERR_PUBLIC_KEY_INVALID, "name",
                 "name is not valid: it has to be of small letters.");
    expect_error("{\"fixed\":1}", ERR_OWNER_FIXED, "fixed", "owner_id cannot be changed.");
}
END_TEST

/* The error names the first entry that equals an earlier one. */
START_TEST(first_repeated_entry)
{
    expect_error("{\"set\":[\"z\",\"a\",\"a\",\"z\"]}", ERR_SCOPE_REPEATED, "set[2]", "'a'");
    expect_error("{\"set\":[\"a\",\"z\",\"z\",\"a\"]}", ERR_SCOPE_REPEATED, "set[2]", "'z'");
    expect_error("{\"set\":[\"a\",\"a\",\"a\"]}", ERR_SCOPE_REPEATED, "set[1]", "'a'");
    expect_error("{\"set\":[\"\\u00e9\",\"\xC3\xA9\"]}", ERR_SCOPE_REPEATED, "set[1]",
                 "'\xC3\xA9'");
}
END_TEST

START_TEST(entries_that_only_resemble)
{
    struct arena arena = {0};
    struct json_node top;
    struct error err;

    ck_assert(read_text("{\"set\":[\"a\",\"ab\",\"b\",\"a \",\"e\\u0301\",\"\\u00e9\"]}", &arena,
                        &top, &err));
    ck_assert_uint_eq(thing.set.n, 6);
    json_free(&top);
    arena_free(&arena);
}
END_TEST

/* A refused list leaves the output unchanged. */
START_TEST(refused_list_is_not_kept)
{
    struct arena arena = {0};
    struct json_node top;
    struct error err;

    ck_assert(!read_text("{\"set\":[\"a\",\"a\"]}", &arena, &top, &err));
    ck_assert(!thing.set.given && thing.set.n == 0);
    json_free(&top);
    arena_free(&arena);
}
END_TEST

/* A very long name is cut at a whole character in the message. */
START_TEST(long_unknown_name)
{
    struct buf body = {0};
    struct arena arena = {0};
    struct json_node top;
    struct error err;

    buf_puts(&body, "{\"");
    for (int i = 0; i < 5000; i++)
        buf_puts(&body, "\xE2\x82\xAC");
    buf_puts(&body, "\":1}");
    ck_assert(!read_text(body.data, &arena, &top, &err));
    ck_assert_int_eq(err.code, ERR_UNKNOWN_MEMBER);
    ck_assert_uint_lt(strlen(err.field), 100);
    ck_assert_str_eq(err.field + strlen(err.field) - 3, "\xE2\x80\xA6");
    json_free(&top);
    arena_free(&arena);
    buf_free(&body);
}
END_TEST

START_TEST(writing)
{
    struct text items[] = {{.s = "a", .len = 1}, {.s = "\"", .len = 1}};
    struct thing shown = {
        .plain = text_of("p"),
        .list = {.items = items, .n = 2, .given = true},
        .flag = true,
        .number = UINT32_MAX,
    };
    struct buf out = {0};

    json_open(&out, '{');
    for (size_t i = 0; i < N_FIELDS - 1; i++)
        field_write(&out, &fields[i], (const char *)&shown + fields[i].offset);
    json_close(&out, '}');
    ck_assert_str_eq(out.data, "{\"plain\":\"p\",\"name\":null,\"list\":[\"a\",\"\\\"\"],"
                               "\"set\":[],\"flag\":true,\"number\":4294967295,\"moment\":null}");
    buf_free(&out);
}
END_TEST

Suite *field_suite(void)
{
    Suite *suite = suite_create("model/field");
    TCase *tcase = tcase_create("field");

    tcase_set_timeout(tcase, 60);
    tcase_add_test(tcase, every_kind);
    tcase_add_test(tcase, messages);
    tcase_add_test(tcase, first_repeated_entry);
    tcase_add_test(tcase, entries_that_only_resemble);
    tcase_add_test(tcase, refused_list_is_not_kept);
    tcase_add_test(tcase, long_unknown_name);
    tcase_add_test(tcase, writing);
    suite_add_tcase(suite, tcase);
    return suite;
}
