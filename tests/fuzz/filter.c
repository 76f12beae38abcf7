/* SPDX-License-Identifier: MIT */
/* Fuzz target: filters, and the SQL that is written for them.  The input is the filter. */
#include "filter/filter.h"

#include <inttypes.h>

#include "base/ascii.h"
#include "base/buf.h"
#include "base/utf8.h"
#include "fuzz.h"
#include "store/filter.h"

/* 2026-11-22T15:33:21.25Z */
#define NOW_US INT64_C(1795361601250000)

/* Another type would not fit here. */
static const struct filter_member members[] = {
    {"id", FILTER_STRING, "m.id"},
    {"text", FILTER_STRING, "m.text"},
    {"created_at", FILTER_TIME, "m.created_at"},
    {"used_at", FILTER_TIME, "m.used_at"},
    {"enabled", FILTER_BOOL, "m.enabled"},
    {"count", FILTER_INT, "m.count"},
    {"acl", FILTER_STRINGS, "m.acl"},
    {"teams", FILTER_STRINGS, "m.teams"},
    {"owner", FILTER_OBJECT, "m.owner"},
    {"owner.id", FILTER_STRING, "m.owner_id"},
    {NULL, FILTER_NULL, NULL},
};

static const char *const signs[] = {
    [FILTER_AND] = "&&",
    [FILTER_OR] = "||",
    [FILTER_EQ] = "==",
    [FILTER_NE] = "!=",
    [FILTER_LT] = "<",
    [FILTER_LE] = "<=",
    [FILTER_GT] = ">",
    [FILTER_GE] = ">=",
    [FILTER_IN] = " in ",
    [FILTER_STARTS_WITH] = ".startsWith",
    [FILTER_ENDS_WITH] = ".endsWith",
    [FILTER_CONTAINS] = ".contains",
};

/* ---- the tree ---- */

static void look_at_text(struct text text)
{
    MUST(text.s && utf8_valid(text.s, text.len) && text.s[text.len] == '\0');
}

static void look_at_leaf(const struct filter_node *node)
{
    MUST(!node->left && !node->right);
    if (node->op == FILTER_MEMBER) {
        MUST(node->member >= members && node->member->name && node->type == node->member->type);
        MUST(node->number == 0);
        return;
    }
    MUST(!node->member && node->type != FILTER_OBJECT);
    if (node->type == FILTER_STRING)
        look_at_text(node->text);
    if (node->type == FILTER_BOOL)
        MUST(node->number == 0 || node->number == 1);
    /* Whole seconds in the years 1 to 10000. */
    if (node->type == FILTER_TIME)
        MUST(node->number % 1000000 == 0 && node->number >= -INT64_C(62135596800) * 1000000 &&
             node->number <= INT64_C(253402300801) * 1000000);
    MUST(node->type != FILTER_STRINGS || node->texts.given);
    for (size_t i = 0; i < node->texts.n; i++)
        look_at_text(node->texts.items[i]);
}

/* Types fit as filter.h says. */
static void look_at_operands(const struct filter_node *node)
{
    enum filter_type left = node->left->type;
    enum filter_type right = node->right ? node->right->type : FILTER_NULL;

    switch (node->op) {
    case FILTER_NOT:
        MUST(left == FILTER_BOOL && !node->right);
        return;
    case FILTER_SIZE:
        MUST((left == FILTER_STRING || left == FILTER_STRINGS) && !node->right);
        return;
    case FILTER_AND:
    case FILTER_OR:
        MUST(left == FILTER_BOOL && right == FILTER_BOOL);
        return;
    case FILTER_IN:
        MUST(left == FILTER_STRING && right == FILTER_STRINGS);
        return;
    case FILTER_EQ:
    case FILTER_NE:
        MUST(node->right);
        if (left == FILTER_OBJECT)
            MUST(node->left->op == FILTER_MEMBER && node->right->op == FILTER_LITERAL &&
                 right == FILTER_NULL);
        else
            MUST(left == right && left != FILTER_NULL);
        return;
    case FILTER_LT:
    case FILTER_LE:
    case FILTER_GT:
    case FILTER_GE:
        MUST(left == right && left <= FILTER_TIME);
        return;
    default:
        MUST(left == FILTER_STRING && right == FILTER_STRING);
        return;
    }
}

/* A comparison of times has a member at the left, and is GE or LT unless it is of two members. */
static void look_at_times(const struct filter_node *node)
{
    MUST(node->left->op == FILTER_MEMBER);
    MUST(node->right->op == FILTER_MEMBER || node->op == FILTER_GE || node->op == FILTER_LT);
}

static void look_at_node(const struct filter_node *node, size_t len, int height)
{
    MUST(height <= FILTER_MAX_HEIGHT && node->offset < len);
    if (node->op <= FILTER_MEMBER) {
        look_at_leaf(node);
        return;
    }
    MUST(node->type == (node->op == FILTER_SIZE ? FILTER_INT : FILTER_BOOL));
    look_at_operands(node);
    if (node->left->type == FILTER_TIME)
        look_at_times(node);
    look_at_node(node->left, len, height + 1);
    if (node->right)
        look_at_node(node->right, len, height + 1);
}

/* ---- the same filter again ---- */

/* Writes each character as an escape, so that all of them are tried. */
static void write_string(struct buf *out, struct text text)
{
    const unsigned char *at = (const unsigned char *)text.s;
    const unsigned char *end = at + text.len;

    buf_puts(out, "\"");
    while (at < end) {
        size_t len;
        uint32_t point = utf8_decode(at, &len);

        if (point < 0x100)
            buf_printf(out, point % 2 ? "\\x%02" PRIX32 : "\\%03" PRIo32, point);
        else if (point < 0x800)
            buf_add(out, (const char *)at, len);
        else
            buf_printf(out, point < 0x10000 ? "\\u%04" PRIx32 : "\\U%08" PRIX32, point);
        at += len;
    }
    buf_puts(out, "\"");
}

static void write_time(struct buf *out, int64_t us)
{
    int64_t s = us / 1000000;

    buf_printf(out, "timestamp(\"1970-01-01T00:00:00Z\").%s(\"%" PRId64 "s\")",
               s < 0 ? "subtract" : "add", s < 0 ? -s : s);
}

static void write_leaf(struct buf *out, const struct filter_node *node)
{
    if (node->op == FILTER_MEMBER) {
        buf_printf(out, "obj.%s", node->member->name);
        return;
    }
    switch (node->type) {
    case FILTER_BOOL:
        buf_puts(out, node->number ? "true" : "false");
        return;
    case FILTER_INT:
        buf_printf(out, "%" PRId64, node->number);
        return;
    case FILTER_STRING:
        write_string(out, node->text);
        return;
    case FILTER_TIME:
        write_time(out, node->number);
        return;
    case FILTER_STRINGS:
        buf_puts(out, "[");
        for (size_t i = 0; i < node->texts.n; i++) {
            write_string(out, node->texts.items[i]);
            buf_puts(out, ",");
        }
        buf_puts(out, "]");
        return;
    default:
        buf_puts(out, "null");
        return;
    }
}

static void write_node(struct buf *out, const struct filter_node *node)
{
    bool is_call = node->op == FILTER_STARTS_WITH || node->op == FILTER_ENDS_WITH ||
                   node->op == FILTER_CONTAINS;

    if (node->op <= FILTER_MEMBER) {
        write_leaf(out, node);
        return;
    }
    if (node->op == FILTER_SIZE || node->op == FILTER_NOT) {
        buf_puts(out, node->op == FILTER_SIZE ? "size(" : "!(");
        write_node(out, node->left);
        buf_puts(out, ")");
        return;
    }
    buf_puts(out, is_call ? "" : "(");
    write_node(out, node->left);
    buf_printf(out, "%s%s", signs[node->op], is_call ? "(" : "");
    write_node(out, node->right);
    buf_puts(out, ")");
}

/* Returns whether the filter is refused for a limit. */
static bool is_over_limit(const struct error *err)
{
    return err->code == ERR_FILTER &&
           (strstr(err->msg, "is longer than") || strstr(err->msg, "has more than") ||
            strstr(err->msg, "is nested more") || strstr(err->msg, "the years 1 to 9999"));
}

/* What is written from a tree is the same filter. */
static void look_at_copy(const struct filter_node *root, struct arena *arena)
{
    struct buf first = {0};
    struct buf second = {0};
    struct error err = {0};
    const struct filter_node *copy;

    write_node(&first, root);
    MUST(!first.failed);
    if (filter_parse(buf_text(&first), members, 0, arena, &copy, &err)) {
        write_node(&second, copy);
        MUST(text_eq(buf_text(&first), buf_text(&second)));
    } else {
        MUST(is_over_limit(&err));
    }
    buf_free(&first);
    buf_free(&second);
}

/* Brackets around a filter change nothing; one bracket makes it malformed. */
static void look_at_brackets(struct text source, struct arena *arena)
{
    struct buf longer = {0};
    struct error err = {0};
    const struct filter_node *root;

    buf_puts(&longer, "(");
    buf_add(&longer, source.s, source.len);
    MUST(!longer.failed);
    MUST(!filter_parse(buf_text(&longer), members, NOW_US, arena, &root, &err));
    /* The last line may be a comment. */
    buf_puts(&longer, "\n)");
    MUST(filter_parse(buf_text(&longer), members, NOW_US, arena, &root, &err) ||
         is_over_limit(&err));
    buf_free(&longer);
}

/* ---- SQL ---- */

/* Returns a copy of the tree with other literals, but for true and false, which are written as
 * words. */
static const struct filter_node *replace_literals(const struct filter_node *node,
                                                  struct arena *arena)
{
    static struct text other = {.s = "other", .len = 5};
    struct filter_node *copy;

    if (!node)
        return NULL;
    copy = arena_alloc(arena, sizeof *copy);
    MUST(copy);
    *copy = *node;
    copy->left = replace_literals(node->left, arena);
    copy->right = replace_literals(node->right, arena);
    if (node->op != FILTER_LITERAL || node->type == FILTER_BOOL)
        return copy;
    copy->number = 7000000;
    copy->text = other;
    copy->texts = (struct text_list){.items = &other, .n = 1, .given = true};
    return copy;
}

/* Returns the number of literals that are no words, and looks for each string among the values. */
static int count_literals(const struct filter_node *node, const struct pg_params *params)
{
    bool is_found = node->type != FILTER_STRING;

    if (node->op == FILTER_MEMBER)
        return 0;
    if (node->op != FILTER_LITERAL)
        return count_literals(node->left, params) +
               (node->right ? count_literals(node->right, params) : 0);
    if (node->type == FILTER_BOOL || node->type == FILTER_NULL)
        return 0;
    for (int i = 0; i < params->n && !is_found; i++)
        is_found = strcmp(params->values[i], node->text.s) == 0;
    MUST(is_found);
    return 1;
}

/* Nothing of the filter's text is in the SQL: another filter of the same shape has the same SQL,
 * and each literal is a parameter. */
static void look_at_sql(const struct filter_node *root, struct arena *arena)
{
    struct buf sql = {0};
    struct buf other_sql = {0};
    struct pg_params params = {0};
    struct pg_params other_params = {0};

    MUST(filter_write_sql(root, &sql, &params, arena));
    MUST(filter_write_sql(replace_literals(root, arena), &other_sql, &other_params, arena));
    MUST(text_eq(buf_text(&sql), buf_text(&other_sql)));
    MUST(params.n == other_params.n && params.n == count_literals(root, &params));
    MUST(params.n <= FILTER_MAX_OPERATORS + 2);
    for (size_t i = 0; i < sql.len; i++)
        MUST(ascii_is_alnum(sql.data[i]) || strchr(" ()[]_.,:$<>=\"", sql.data[i]));
    buf_free(&sql);
    buf_free(&other_sql);
}

static void look_at_error(const struct error *err, struct text source)
{
    size_t len = strlen(err->msg);

    MUST(err->code == ERR_FILTER && err->has_offset && err->offset <= source.len);
    MUST(utf8_valid(err->msg, len) && strncmp(err->msg, "filter, byte ", 13) == 0);
    MUST(err->msg[len - 1] == '.' && !err->cause[0]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    /* Of its exact size, so that a sanitizer sees a read past its end. */
    char *copy = malloc(size ? size : 1);
    struct text source = {.s = copy, .len = size};
    const struct filter_node *root;
    struct arena arena = {0};
    struct error err = {0};
    bool ok;

    MUST(copy);
    if (size > 0)
        memcpy(copy, data, size);
    ok = filter_parse(source, members, NOW_US, &arena, &root, &err);
    if (ok) {
        MUST(root->type == FILTER_BOOL);
        look_at_node(root, size, 1);
        look_at_copy(root, &arena);
        look_at_brackets(source, &arena);
        look_at_sql(root, &arena);
        accepted();
    } else {
        look_at_error(&err, source);
    }
    arena_free(&arena);
    free(copy);
    return 0;
}
