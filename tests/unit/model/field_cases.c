/* SPDX-License-Identifier: MIT */
/* Cases made from tables of fields. */
#include "model/field_cases.h"

#include <check.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define N_OF(array) (sizeof(array) / sizeof(array)[0])

/* Texts for fields with special rules: a number or filling goes between the two parts. */
static const struct sample {
    const char *field;
    const char *front;
    const char *back;
} samples[] = {
    {"id", "sshcr_", ""},
    {"acl", "bind:a", ".example"},
    {"owner_id", "usr_", ""},
    {"public_key",
     "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAID5SbIpVnFfJIc9McVvd+X81MKSG/SHWfskTzyZTpF9R ", ""},
    {"fingerprint", "SHA256:PQ5XwsUOwKSLkInJ7UPnhscFU1uqDuqBj/D4/V75bG", ""},
    {"email_addresses", "u", "@a.example"},
    {"email_domains", "a", ".example"},
    {"teams", "o/", ""},
};

/* One run over a table, and its current case. */
struct run {
    const struct field_table *table;
    const struct field *field;
    int n_cases;
};

static struct sample sample_of(const struct field *field)
{
    for (size_t i = 0; i < N_OF(samples); i++) {
        if (strcmp(samples[i].field, field->name) == 0)
            return samples[i];
    }
    return (struct sample){.front = "v", .back = ""};
}

static void add_sample(struct buf *out, const struct field *field, int number)
{
    struct sample sample = sample_of(field);

    buf_printf(out, "%s%d%s", sample.front, number, sample.back);
}

/* Appends a text of exactly len bytes, filled with characters of one byte or of two. */
static void add_filled(struct buf *out, const struct field *field, size_t len, bool two_bytes)
{
    struct sample sample = sample_of(field);
    size_t fill = len - strlen(sample.front) - strlen(sample.back);

    buf_puts(out, sample.front);
    if (two_bytes && fill % 2)
        buf_puts(out, "a");
    for (size_t i = 0; i < (two_bytes ? fill / 2 : fill); i++)
        buf_puts(out, two_bytes ? "\xC3\xA9" : "a");
    buf_puts(out, sample.back);
}

static bool is_valid(const struct field *field, struct text value)
{
    const char *why;

    return !field->valid || field->valid(value, &why);
}

/* ---- one case ---- */

static void expect_outcome(const struct run *run, const char *body, bool ok,
                           const struct error *err, enum error_code code, const char *member)
{
    const struct field_table *table = run->table;
    struct buf path = {0};

    ck_assert_msg(ok == (code == ERR_NONE), "%s: %.300s: %s", table->name, body,
                  ok ? "accepted" : err->msg);
    if (ok)
        return;
    buf_printf(&path, "%s%s", table->path, member);
    ck_assert_msg(err->code == code, "%s: %.300s: %s", table->name, body,
                  error_row(err->code)->symbol);
    ck_assert_msg(strcmp(err->field, path.data) == 0, "%s: %.300s: %s", table->name, body,
                  err->field);
    ck_assert_msg(err->msg[0] != '\0', "%s: %.300s", table->name, body);
    if (run->field->is_secret)
        ck_assert_msg(!strstr(err->msg, "aaaaaaaa"), "%s: %.300s: %s", table->name, body, err->msg);
    buf_free(&path);
}

/* Reads a body with these members, and expects the code at the member; ERR_NONE: the body is
 * accepted.  look() checks the struct then; NULL: no check. */
static void expect_members(struct run *run, const char *members, enum error_code code,
                           const char *member,
                           void (*look)(const struct run *run, const void *value))
{
    const struct field_table *table = run->table;
    struct buf body = {0};
    struct arena arena = {0};
    struct error err = {.code = ERR_NONE};
    struct json_node top;
    const char *target;

    buf_printf(&body, "%s%s%s", table->open, members, table->close);
    ck_assert_msg(json_parse(body.data, body.len, &top, &err), "%.300s: %s", body.data, err.msg);
    target = table->read(&top, &arena, &err);
    expect_outcome(run, body.data, target != NULL, &err, code, member);
    if (look && target)
        look(run, target + run->field->offset);
    run->n_cases++;
    json_free(&top);
    arena_free(&arena);
    buf_free(&body);
}

static const char *companions_of(const struct run *run, bool is_given)
{
    return run->table->companions ? run->table->companions(run->field, is_given) : "";
}

/* Does the same for a field with a value, and adds the members that it needs. */
static void expect_value(struct run *run, const char *value, enum error_code code,
                         const char *index, void (*look)(const struct run *run, const void *value))
{
    struct buf members = {0};
    struct buf member = {0};

    buf_printf(&members, "%s\"%s\":%s", companions_of(run, true), run->field->name, value);
    buf_printf(&member, "%s%s", run->field->name, index);
    expect_members(run, members.data, code, member.data, look);
    buf_free(&members);
    buf_free(&member);
}

static void expect_each(struct run *run, const char *const *values, size_t n, enum error_code code,
                        const char *index)
{
    for (size_t i = 0; i < n; i++)
        expect_value(run, values[i], code, index, NULL);
}

#define EXPECT_EACH(run, code, index, ...)                                                         \
    expect_each(run, (const char *const[]){__VA_ARGS__},                                           \
                N_OF(((const char *const[]){__VA_ARGS__})), code, index)

/* ---- for every member ---- */

static bool is_row(const struct field_table *table, const char *name)
{
    for (size_t i = 0; i < table->n_fields; i++) {
        if (strcmp(table->fields[i].name, name) == 0)
            return true;
    }
    return false;
}

static void check_misspelt(struct run *run, const char *name)
{
    struct buf members = {0};

    ck_assert_msg(!is_row(run->table, name), "%s is no misspelling", name);
    for (int i = 0; i < 2; i++) {
        buf_clear(&members);
        buf_printf(&members, "%s\"%s\":%s", companions_of(run, true), name, i ? "null" : "\"x\"");
        expect_members(run, members.data, ERR_UNKNOWN_MEMBER, name, NULL);
    }
    buf_free(&members);
}

static void check_name(struct run *run)
{
    char name[64];
    size_t len = (size_t)snprintf(name, sizeof name - 1, "%s", run->field->name);

    memcpy(name + len, "s", 2);
    check_misspelt(run, name);
    name[len - 1] = '\0';
    check_misspelt(run, name);
    snprintf(name, sizeof name, "%s", run->field->name);
    name[0] = (char)(name[0] - 'a' + 'A');
    check_misspelt(run, name);
}

static void check_not_given(struct run *run)
{
    const struct field *field = run->field;
    enum error_code code = run->table->absent ? run->table->absent(field) : ERR_NONE;
    struct buf members = {0};

    buf_puts(&members, companions_of(run, false));
    buf_printf(&members, "\"%s\":null", field->name);
    expect_members(run, members.data, code, field->name, NULL);
    buf_clear(&members);
    buf_puts(&members, companions_of(run, false));
    if (members.len > 0)
        members.data[members.len - 1] = '\0'; /* the comma */
    expect_members(run, buf_text(&members).s, code, field->name, NULL);
    buf_free(&members);
}

/* ---- kinds ---- */

/* A body that gives a value says so. */
static void look_at_given(const struct run *run, const void *value)
{
    const char *target = (const char *)value - run->field->offset;

    ck_assert(!run->field->given || *(const bool *)(target + run->field->given));
}

static void look_at_bool(const struct run *run, const void *value)
{
    look_at_given(run, value);
    ck_assert(*(const bool *)value);
}

static void check_bool(struct run *run)
{
    expect_value(run, "true", ERR_NONE, "", look_at_bool);
    expect_value(run, "false", ERR_NONE, "", NULL);
    EXPECT_EACH(run, ERR_WRONG_VALUE, "", "0", "1", "\"\"", "\"true\"", "\"false\"", "[]", "[true]",
                "{}");
}

static void look_at_uint32(const struct run *run, const void *value)
{
    look_at_given(run, value);
    ck_assert_uint_eq(*(const uint32_t *)value, UINT32_MAX);
}

static void check_uint32(struct run *run)
{
    expect_value(run, "4294967295", ERR_NONE, "", look_at_uint32);
    expect_value(run, "42949672950e-1", ERR_NONE, "", look_at_uint32);
    EXPECT_EACH(run, ERR_NONE, "", "0", "0.0", "-0", "8.64E+4");
    EXPECT_EACH(run, ERR_WRONG_VALUE, "", "-1", "1.5", "4294967296", "1e400", "\"\"", "\"1\"",
                "true", "false", "[]", "[1]", "{}");
}

static void look_at_moment(const struct run *run, const void *value)
{
    look_at_given(run, value);
    ck_assert_int_eq(*(const int64_t *)value, 1769903999);
}

static void look_at_null(const struct run *run, const void *value)
{
    look_at_given(run, value);
    ck_assert_int_eq(*(const int64_t *)value, 0);
}

static void check_moment(struct run *run)
{
    enum error_code invalid =
        run->field->invalid != ERR_NONE ? run->field->invalid : ERR_WRONG_VALUE;

    expect_value(run, "\"2026-01-31T23:59:59Z\"", ERR_NONE, "", look_at_moment);
    expect_value(run, "\"2026-02-01T01:59:59.9+02:00\"", ERR_NONE, "", look_at_moment);
    expect_value(run, "null", ERR_NONE, "", look_at_null);
    EXPECT_EACH(run, invalid, "", "\"\"", "\"1769903999\"", "\"2026-01-31\"",
                "\"1970-01-01T00:00:00Z\"", "\"1969-12-31T23:59:59Z\"");
    EXPECT_EACH(run, ERR_WRONG_VALUE, "", "0", "1769903999", "true", "[]", "{}");
}

/* The text of the current case. */
static struct text given;

static void look_at_text(const struct run *run, const void *value)
{
    const struct text *text = value;

    /* An empty text may count as absent. */
    ck_assert_msg(given.len == 0 ? text->len == 0 : text_eq(*text, given), "%s", run->field->name);
}

static void expect_text(struct run *run, const struct buf *text, enum error_code code)
{
    struct buf json = {0};

    given = buf_text(text);
    buf_printf(&json, "\"%s\"", given.s);
    expect_value(run, json.data, code, "", look_at_text);
    buf_free(&json);
}

/* Returns the error that the row gives for a text. */
static enum error_code verdict(const struct field *field, struct text value)
{
    if (value.len == 0 && field->empty != ERR_NONE)
        return field->empty;
    if (field->too_long != ERR_NONE && value.len > field->max)
        return field->too_long;
    return is_valid(field, value) ? ERR_NONE : field->invalid;
}

static void check_text_limits(struct run *run)
{
    const struct field *field = run->field;
    struct buf text = {0};

    for (int two_bytes = 0; two_bytes < 2; two_bytes++) {
        for (size_t over = 0; over < 2; over++) {
            buf_clear(&text);
            add_filled(&text, field, field->max + over, two_bytes);
            ck_assert_uint_eq(text.len, field->max + over);
            ck_assert_msg(over || two_bytes || is_valid(field, buf_text(&text)),
                          "%s needs a better sample", field->name);
            expect_text(run, &text, verdict(field, buf_text(&text)));
        }
    }
    buf_free(&text);
}

static void check_text(struct run *run)
{
    const struct field *field = run->field;
    struct buf text = {0};
    bool has_rules = field->too_long || field->empty || field->valid;
    struct buf empty = {0};

    add_sample(&text, field, 0);
    ck_assert_msg(is_valid(field, buf_text(&text)), "%s needs a sample", field->name);
    expect_text(run, &text, ERR_NONE);
    buf_printf(&empty, "%s\"%s\":\"\"", companions_of(run, false), field->name);
    given = text_of("");
    if (has_rules)
        expect_members(run, empty.data, verdict(field, given), field->name, look_at_text);
    if (field->too_long != ERR_NONE)
        check_text_limits(run);
    EXPECT_EACH(run, ERR_WRONG_VALUE, "", "0", "1", "true", "false", "[]", "[\"a\"]", "{}");
    buf_free(&text);
    buf_free(&empty);
}

/* ---- lists ---- */

static size_t n_given;

static void look_at_list(const struct run *run, const void *value)
{
    const struct text_list *list = value;
    struct buf sample = {0};

    ck_assert(list->given);
    ck_assert_uint_eq(list->n, n_given);
    for (size_t i = 0; i < list->n; i++) {
        buf_clear(&sample);
        add_sample(&sample, run->field, (int)i);
        ck_assert(text_eq(list->items[i], buf_text(&sample)));
    }
    buf_free(&sample);
}

static void add_entries(struct buf *json, const struct field *field, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        buf_puts(json, i ? ",\"" : "\"");
        add_sample(json, field, (int)i);
        buf_puts(json, "\"");
    }
}

static void check_counts(struct run *run)
{
    static const size_t counts[] = {0, 1, 2, FIELD_MAX_ENTRIES, FIELD_MAX_ENTRIES + 1};

    for (size_t i = 0; i < N_OF(counts); i++) {
        struct buf json = {0};

        n_given = counts[i];
        buf_puts(&json, "[");
        add_entries(&json, run->field, n_given);
        buf_puts(&json, "]");
        expect_value(run, json.data, n_given > FIELD_MAX_ENTRIES ? run->field->too_many : ERR_NONE,
                     "", look_at_list);
        buf_free(&json);
    }
}

/* An entry after a valid one. */
static void expect_second(struct run *run, const char *json_value, enum error_code code)
{
    struct buf json = {0};

    buf_puts(&json, "[");
    add_entries(&json, run->field, 1);
    buf_printf(&json, ",%s]", json_value);
    expect_value(run, json.data, code, "[1]", NULL);
    buf_free(&json);
}

static void expect_entry(struct run *run, const struct buf *text, enum error_code code)
{
    struct buf json = {0};

    buf_printf(&json, "\"%s\"", buf_text(text).s);
    expect_second(run, json.data, code);
    buf_free(&json);
}

static void check_entry_limits(struct run *run)
{
    const struct field *field = run->field;
    struct buf text = {0};

    expect_entry(run, &text, verdict(field, text_of("")));
    for (size_t over = 0; over < 4 && field->too_long != ERR_NONE; over++) {
        buf_clear(&text);
        add_filled(&text, field, field->max + over / 2, over % 2);
        ck_assert_msg(over || is_valid(field, buf_text(&text)), "%s needs a better sample",
                      field->name);
        expect_entry(run, &text, verdict(field, buf_text(&text)));
    }
    buf_free(&text);
}

static void check_repeated(struct run *run)
{
    struct buf json = {0};

    buf_puts(&json, "[");
    add_entries(&json, run->field, 3);
    buf_puts(&json, ",\"");
    add_sample(&json, run->field, 1);
    buf_puts(&json, "\",\"");
    add_sample(&json, run->field, 0);
    buf_puts(&json, "\"]");
    expect_value(run, json.data, run->field->repeated, "[3]", NULL);
    buf_free(&json);
}

static void check_texts(struct run *run)
{
    struct buf sample = {0};

    add_sample(&sample, run->field, 0);
    ck_assert_msg(is_valid(run->field, buf_text(&sample)), "%s needs a sample", run->field->name);
    ck_assert_int_ne(run->field->too_many, ERR_NONE);
    check_counts(run);
    check_entry_limits(run);
    check_repeated(run);
    EXPECT_EACH(run, ERR_WRONG_VALUE, "", "0", "true", "\"\"", "\"a\"", "{}", "{\"0\":\"a\"}");
    EXPECT_EACH(run, ERR_WRONG_VALUE, "[0]", "[null]", "[1]", "[true]", "[[]]", "[[\"a\"]]",
                "[{}]");
    expect_second(run, "null", ERR_WRONG_VALUE);
    expect_second(run, "2", ERR_WRONG_VALUE);
    buf_free(&sample);
}

static void check_refused(struct run *run)
{
    EXPECT_EACH(run, run->field->invalid, "", "\"\"", "\"a\"", "0", "true", "false", "[]", "{}");
}

static void check_object(struct run *run)
{
    EXPECT_EACH(run, ERR_WRONG_VALUE, "", "0", "true", "false", "[]", "[\"a\"]");
}

static void check_row(struct run *run)
{
    check_name(run);
    check_not_given(run);
    switch (run->field->kind) {
    case FIELD_TEXT:
        check_text(run);
        break;
    case FIELD_TEXTS:
        check_texts(run);
        break;
    case FIELD_BOOL:
        check_bool(run);
        break;
    case FIELD_UINT32:
        check_uint32(run);
        break;
    case FIELD_TIME_OR_NULL:
        check_moment(run);
        break;
    case FIELD_REFUSED:
        check_refused(run);
        break;
    case FIELD_PROVIDER:
    case FIELD_OBJECT:
        check_object(run);
        break;
    case FIELD_NUMBER:
    case FIELD_TIME:
        ck_abort_msg("%s: no body has such a member", run->field->name);
        break;
    }
}

void field_table_check(const struct field_table *table)
{
    struct run run = {.table = table};

    ck_assert_uint_gt(table->n_fields, 0);
    for (size_t i = 0; i < table->n_fields; i++) {
        int before = run.n_cases;

        run.field = &table->fields[i];
        check_row(&run);
        ck_assert_msg(run.n_cases > before + 4, "%s: no cases", run.field->name);
    }
    printf("%s: %d cases of %zu fields\n", table->name, run.n_cases, table->n_fields);
}

/* ---- bodies of case files ---- */

void body_case_check(const struct test_case *test, const char *body, read_body *read)
{
    struct arena arena = {0};
    struct error err = {.code = ERR_NONE};
    struct json_node top;
    char shown[sizeof err.field + 16] = "ok";

    ck_assert_msg(json_parse(body, strlen(body), &top, &err), "%s:%d: %s", test->file, test->line,
                  err.msg);
    if (!read(&top, &arena, &err))
        snprintf(shown, sizeof shown, "%d %s", error_row(err.code)->number, err.field);
    ck_assert_msg(strcmp(shown, test->expected) == 0, "%s:%d: %s (%s) %s", test->file, test->line,
                  shown, test->why, err.msg);
    json_free(&top);
    arena_free(&arena);
}
