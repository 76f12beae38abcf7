/* SPDX-License-Identifier: MIT */
/* Tests of the language of filters. */
#include "filter/filter.h"

#include <check.h>
#include <inttypes.h>
#include <stdlib.h>

#include "base/buf.h"
#include "cases.h"
#include "suites.h"

/* time.now: 2001-09-09T01:46:40.5Z */
#define NOW_US (INT64_C(1000000000) * 1000000 + 500000)

static const struct filter_member members[] = {
    {"id", FILTER_STRING, NULL},        {"text", FILTER_STRING, NULL},
    {"created_at", FILTER_TIME, NULL},  {"used_at", FILTER_TIME, NULL},
    {"enabled", FILTER_BOOL, NULL},     {"count", FILTER_INT, NULL},
    {"acl", FILTER_STRINGS, NULL},      {"teams", FILTER_STRINGS, NULL},
    {"resource", FILTER_OBJECT, NULL},  {"resource.id", FILTER_STRING, NULL},
    {"principal", FILTER_OBJECT, NULL}, {NULL, FILTER_NULL, NULL},
};

static const char *const ops[] = {
    [FILTER_NOT] = "!",
    [FILTER_AND] = "&&",
    [FILTER_OR] = "||",
    [FILTER_EQ] = "==",
    [FILTER_NE] = "!=",
    [FILTER_LT] = "<",
    [FILTER_LE] = "<=",
    [FILTER_GT] = ">",
    [FILTER_GE] = ">=",
    [FILTER_IN] = "in",
    [FILTER_SIZE] = "size",
    [FILTER_STARTS_WITH] = "startsWith",
    [FILTER_ENDS_WITH] = "endsWith",
    [FILTER_CONTAINS] = "contains",
};

/* Writes a text as it is; a NUL has to follow it. */
static void write_text(struct buf *out, struct text text)
{
    ck_assert_ptr_nonnull(text.s);
    ck_assert_uint_eq(text.len, strlen(text.s));
    buf_printf(out, "\"%s\"", text.s);
}

static void write_literal(struct buf *out, const struct filter_node *node)
{
    switch (node->type) {
    case FILTER_BOOL:
        ck_assert(node->number == 0 || node->number == 1);
        buf_puts(out, node->number ? "true" : "false");
        return;
    case FILTER_INT:
        buf_printf(out, "%" PRId64, node->number);
        return;
    case FILTER_STRING:
        write_text(out, node->text);
        return;
    case FILTER_TIME:
        ck_assert_int_eq(node->number % 1000000, 0);
        buf_printf(out, "@%" PRId64, node->number / 1000000);
        return;
    case FILTER_STRINGS:
        ck_assert(node->texts.given);
        buf_puts(out, "[");
        for (size_t i = 0; i < node->texts.n; i++) {
            buf_puts(out, i ? " " : "");
            write_text(out, node->texts.items[i]);
        }
        buf_puts(out, "]");
        return;
    case FILTER_NULL:
        buf_puts(out, "null");
        return;
    case FILTER_OBJECT:
        break;
    }
    ck_abort_msg("a literal of type %d", node->type);
}

/* Writes a tree as (operator left right). */
static void write_tree(struct buf *out, const struct filter_node *node)
{
    if (node->op == FILTER_LITERAL) {
        write_literal(out, node);
        return;
    }
    if (node->op == FILTER_MEMBER) {
        ck_assert_int_eq(node->type, node->member->type);
        ck_assert_int_eq(node->number, 0);
        buf_puts(out, node->member->name);
        return;
    }
    ck_assert_int_eq(node->type, node->op == FILTER_SIZE ? FILTER_INT : FILTER_BOOL);
    buf_printf(out, "(%s ", ops[node->op]);
    write_tree(out, node->left);
    if (node->right) {
        buf_puts(out, " ");
        write_tree(out, node->right);
    }
    buf_puts(out, ")");
}

/* "bad@OFFSET: a part of the message" */
static void expect_refused(const struct test_case *test, const char *expected,
                           const struct error *err)
{
    char *part;
    size_t offset = strtoul(expected + 4, &part, 10);

    ck_assert_msg(strncmp(part, ": ", 2) == 0, "%s:%d: the offset is malformed", test->file,
                  test->line);
    ck_assert_int_eq(err->code, ERR_FILTER);
    ck_assert_msg(err->has_offset && err->offset == offset && strstr(err->msg, part + 2),
                  "%s:%d: refused at %zu: %s", test->file, test->line, err->offset, err->msg);
    ck_assert_msg(err->msg[strlen(err->msg) - 1] == '.', "%s:%d: %s", test->file, test->line,
                  err->msg);
}

static void check_case(const struct test_case *test)
{
    struct text source = {.s = test->input, .len = test->input_len};
    struct arena arena = {0};
    struct error err = {0};
    struct buf expected = {0};
    struct buf tree = {0};
    const struct filter_node *root;
    bool ok = filter_parse(source, members, NOW_US, &arena, &root, &err);

    cases_unescape(&expected, test->expected);
    if (ok)
        write_tree(&tree, root);
    if (strncmp(expected.data, "bad@", 4) == 0) {
        ck_assert_msg(!ok, "%s:%d: accepted: %s", test->file, test->line, tree.data);
        expect_refused(test, expected.data, &err);
    } else {
        ck_assert_msg(ok, "%s:%d: %s", test->file, test->line, err.msg);
        ck_assert_msg(strcmp(tree.data, expected.data) == 0, "%s:%d: is %s", test->file, test->line,
                      tree.data);
    }
    buf_free(&expected);
    buf_free(&tree);
    arena_free(&arena);
}

START_TEST(cases_of_file)
{
    cases_run("filter.cases", check_case);
}
END_TEST

/* Bytes after the length are not read. */
START_TEST(length_decides)
{
    struct arena arena = {0};
    struct error err = {0};
    const struct filter_node *root;

    ck_assert(filter_parse((struct text){.s = "true && false", .len = 4}, members, 0, &arena, &root,
                           &err));
    ck_assert_int_eq(root->op, FILTER_LITERAL);
    ck_assert(!filter_parse((struct text){.s = "true&&false", .len = 5}, members, 0, &arena, &root,
                            &err));
    ck_assert_uint_eq(err.offset, 4);
    arena_free(&arena);
}
END_TEST

/* A resource may have no member of a kind, or none at all. */
START_TEST(no_members)
{
    static const struct filter_member none[] = {{NULL, FILTER_NULL, NULL}};
    struct arena arena = {0};
    struct error err = {0};
    const struct filter_node *root;

    ck_assert(!filter_parse(text_of("obj.id == ''"), none, 0, &arena, &root, &err));
    ck_assert_str_eq(err.msg, "filter, byte 4: the member obj.id is unknown; obj has: none.");
    arena_free(&arena);
}
END_TEST

Suite *filter_suite(void)
{
    Suite *suite = suite_create("filter");
    TCase *filter = tcase_create("filter");

    tcase_add_test(filter, cases_of_file);
    tcase_add_test(filter, length_decides);
    tcase_add_test(filter, no_members);
    suite_add_tcase(suite, filter);
    return suite;
}
