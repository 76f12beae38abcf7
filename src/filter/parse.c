/* SPDX-License-Identifier: MIT */
/* The grammar of filters: CEL's, without the forms that are not supported. */
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/time.h"
#include "filter/filter.h"
#include "filter/lex.h"
#include "filter/typing.h"

#define OPERAND "an operand: obj.<member>, a literal, a function or '('"

struct parse {
    struct filter_lexer lex;
    struct filter_maker maker;
    const struct filter_member *members;
    int64_t now_us;
    int n_operators;
    int depth;
};

/* Functions of CEL that are not supported, with a blank around each, by what they are. */
static const struct {
    const char *names;
    const char *kind;
} unsupported_functions[] = {
    {" has all exists exists_one map filter ", "macro"},
    {" int uint double string bytes bool type dyn ", "conversion"},
    {" matches duration getDate getDayOfMonth getDayOfWeek getDayOfYear getFullYear getHours "
     "getMilliseconds getMinutes getMonth getSeconds ",
     "function"},
};

static const char reserved_words[] =
    " as break const continue else for function if import let loop package namespace return var "
    "void while in ";

static bool parse_expression(struct parse *p, const struct filter_node **out);

static bool is_word_of(const char *words, struct text word)
{
    char padded[32];

    if (word.len > sizeof padded - 3)
        return false;
    snprintf(padded, sizeof padded, " %.*s ", (int)word.len, word.s);
    return strstr(words, padded) != NULL;
}

static bool next_token(struct parse *p)
{
    return filter_lex_next(&p->lex);
}

static bool is_at(const struct parse *p, const char *source)
{
    return filter_token_is(&p->lex.token, source);
}

/* Refuses the token; names what is expected there. */
static bool expect_other(struct parse *p, const char *expected)
{
    return filter_refuse_token(p->maker.err, &p->lex.token, expected);
}

/* Steps over a sign that has to be there. */
static bool step_over(struct parse *p, const char *sign)
{
    char quoted[8];

    if (is_at(p, sign))
        return next_token(p);
    snprintf(quoted, sizeof quoted, "'%s'", sign);
    return expect_other(p, quoted);
}

/* Counts an operator or a call that begins at the token. */
static bool count_operator(struct parse *p)
{
    if (++p->n_operators > FILTER_MAX_OPERATORS)
        return filter_refuse(p->maker.err, p->lex.token.offset,
                             "the filter has more than %d operators and functions",
                             FILTER_MAX_OPERATORS);
    return true;
}

/* Steps over an opening bracket. */
static bool step_in(struct parse *p, const char *bracket)
{
    if (++p->depth > FILTER_MAX_DEPTH)
        return filter_refuse(p->maker.err, p->lex.token.offset,
                             "the filter is nested more than %d levels deep", FILTER_MAX_DEPTH);
    return step_over(p, bracket);
}

/* Steps over a closing bracket. */
static bool step_out(struct parse *p, const char *bracket)
{
    p->depth--;
    return step_over(p, bracket);
}

static bool give(const struct filter_node *made, const struct filter_node **out)
{
    *out = made;
    return made != NULL;
}

/* ---- literals ---- */

static bool parse_literal(struct parse *p, enum filter_type type, int64_t number, struct text text,
                          const struct filter_node **out)
{
    struct filter_node literal = {.op = FILTER_LITERAL,
                                  .type = type,
                                  .offset = p->lex.token.offset,
                                  .text = text,
                                  .number = number};

    return give(filter_make(&p->maker, literal), out) && next_token(p);
}

/* Starts at the number, which belongs to a '-' before it if it is negative. */
static bool parse_int(struct parse *p, bool is_negative, const struct filter_node **out)
{
    uint64_t number = p->lex.token.number;

    if (number > INT64_MAX && !is_negative)
        return filter_refuse(p->maker.err, p->lex.token.offset,
                             "this integer needs more than 64 bits");
    return parse_literal(p, FILTER_INT,
                         is_negative ? -(int64_t)(number - (number > 0)) - (number > 0)
                                     : (int64_t)number,
                         (struct text){0}, out);
}

/* Starts at '-'. */
static bool parse_negative(struct parse *p, const struct filter_node **out)
{
    struct filter_token sign = p->lex.token;

    if (!next_token(p))
        return false;
    if (p->lex.token.kind != FILTER_TOKEN_INT)
        return filter_refuse_token(p->maker.err, &sign, OPERAND);
    return parse_int(p, true, out);
}

/* Returns the most elements that the list which begins at the token can have. */
static size_t count_elements(struct filter_lexer ahead)
{
    size_t n = 1;

    while (filter_lex_next(&ahead) && ahead.token.kind != FILTER_TOKEN_END &&
           !filter_token_is(&ahead.token, "]"))
        n += filter_token_is(&ahead.token, ",");
    return n;
}

/* Starts at '['. */
static bool parse_list(struct parse *p, const struct filter_node **out)
{
    struct filter_node list = {.op = FILTER_LITERAL,
                               .type = FILTER_STRINGS,
                               .offset = p->lex.token.offset,
                               .texts = {.given = true}};

    list.texts.items =
        arena_array(p->maker.arena, count_elements(p->lex), sizeof *list.texts.items);
    if (!list.texts.items)
        return error_set(p->maker.err, ERR_OUT_OF_MEMORY);
    if (!step_in(p, "["))
        return false;
    while (!is_at(p, "]")) {
        struct filter_token *token = &p->lex.token;

        if (token->kind != FILTER_TOKEN_STRING && !is_at(p, "null"))
            return expect_other(p, "a string in quotes: a list holds no other elements");
        list.texts.items[list.texts.n++] =
            token->kind == FILTER_TOKEN_STRING ? token->string : text_of("");
        if (!next_token(p))
            return false;
        if (!is_at(p, "]") && !is_at(p, ","))
            return expect_other(p, "',' or ']'");
        if (is_at(p, ",") && !next_token(p))
            return false;
    }
    return step_out(p, "]") && give(filter_make(&p->maker, list), out);
}

/* ---- members ---- */

static bool refuse_member(struct parse *p, size_t offset, struct text path)
{
    struct buf names = {0};
    char quote[ERROR_QUOTE_SIZE];

    for (const struct filter_member *member = p->members; member->name; member++)
        buf_printf(&names, "%s%s", member == p->members ? "" : ", ", member->name);
    if (names.failed)
        error_set(p->maker.err, ERR_OUT_OF_MEMORY);
    else
        filter_refuse(p->maker.err, offset, "the member obj.%s is unknown; obj has: %s",
                      error_quote(quote, path), names.len ? names.data : "none");
    buf_free(&names);
    return false;
}

/* Returns whether the token is a dot before the name of a function. */
static bool is_at_call(const struct parse *p)
{
    struct filter_lexer ahead = p->lex;

    return is_at(p, ".") && filter_lex_next(&ahead) && ahead.token.kind == FILTER_TOKEN_NAME &&
           filter_lex_peek(&ahead) == '(';
}

/* Reads ".name.name", up to a call.  Appends it to path without the first dot.  *first is the
 * offset of the first name. */
static bool read_member_path(struct parse *p, struct buf *path, size_t *first)
{
    do {
        if (!step_over(p, "."))
            return false;
        if (path->len == 0)
            *first = p->lex.token.offset;
        if (p->lex.token.kind != FILTER_TOKEN_NAME)
            return expect_other(p, "the name of a member");
        if (path->len > 0)
            buf_puts(path, ".");
        buf_add(path, p->lex.token.source.s, p->lex.token.source.len);
        if (!next_token(p))
            return false;
    } while (is_at(p, ".") && !is_at_call(p));
    return !path->failed || error_set(p->maker.err, ERR_OUT_OF_MEMORY);
}

/* Starts behind "obj". */
static bool parse_member(struct parse *p, size_t offset, const struct filter_node **out)
{
    struct filter_node node = {.op = FILTER_MEMBER, .offset = offset, .member = p->members};
    struct buf path = {0};
    size_t first = offset;
    bool ok = read_member_path(p, &path, &first);

    while (ok && node.member->name && !text_eq(text_of(node.member->name), buf_text(&path)))
        node.member++;
    if (ok && node.member->name) {
        node.type = node.member->type;
        ok = give(filter_make(&p->maker, node), out);
    } else if (ok) {
        ok = refuse_member(p, first, buf_text(&path));
    }
    buf_free(&path);
    return ok;
}

/* Starts behind "time". */
static bool parse_now(struct parse *p, size_t offset, const struct filter_node **out)
{
    struct filter_node now = {
        .op = FILTER_LITERAL, .type = FILTER_TIME, .offset = offset, .number = p->now_us};

    if (!step_over(p, "."))
        return false;
    if (!is_at(p, "now"))
        return expect_other(p, "'now'");
    return next_token(p) && give(filter_make(&p->maker, now), out);
}

/* ---- functions ---- */

static bool refuse_function(struct parse *p, size_t offset, struct text name, const char *known)
{
    char quote[ERROR_QUOTE_SIZE];
    const size_t n = sizeof unsupported_functions / sizeof unsupported_functions[0];

    error_quote(quote, name);
    for (size_t i = 0; i < n; i++) {
        if (is_word_of(unsupported_functions[i].names, name))
            return filter_refuse(p->maker.err, offset, "the %s %s() is not supported",
                                 unsupported_functions[i].kind, quote);
    }
    return filter_refuse(p->maker.err, offset, "the function %s() is unknown; expected %s", quote,
                         known);
}

/* Starts at '('.  Parses one argument and ')'. */
static bool parse_argument(struct parse *p, const struct filter_node **out)
{
    return count_operator(p) && step_in(p, "(") && parse_expression(p, out) && step_out(p, ")");
}

/* Turns the argument of timestamp() into a time. */
static bool make_time(struct parse *p, const struct filter_node *from,
                      const struct filter_node **out)
{
    struct filter_node time = {.op = FILTER_LITERAL, .type = FILTER_TIME, .offset = from->offset};

    if (from->type == FILTER_TIME)
        return give(from, out);
    if (from->op != FILTER_LITERAL || from->type != FILTER_STRING)
        return filter_refuse(p->maker.err, from->offset,
                             "expected a time in quotes, time.now or a member that is a time");
    if (!time_read(from->text, &time.number))
        return filter_refuse(p->maker.err, from->offset,
                             "expected a time such as \"2026-01-31T23:59:59Z\" (RFC 3339)");
    return give(filter_make(&p->maker, time), out);
}

/* Starts at the '(' behind a name. */
static bool parse_function(struct parse *p, struct filter_token name,
                           const struct filter_node **out)
{
    const struct filter_node *argument;
    bool is_size = filter_token_is(&name, "size");

    if (!is_size && !filter_token_is(&name, "timestamp"))
        return refuse_function(p, name.offset, name.source, "size() or timestamp()");
    if (!parse_argument(p, &argument))
        return false;
    return is_size ? give(filter_make_size(&p->maker, name.offset, argument), out)
                   : make_time(p, argument, out);
}

static bool make_shift(struct parse *p, const struct filter_node *time, bool is_back,
                       const struct filter_node *by, const struct filter_node **out)
{
    int64_t us;

    if (by->op != FILTER_LITERAL || by->type != FILTER_STRING || !time_read_duration(by->text, &us))
        return filter_refuse(p->maker.err, by->offset,
                             "expected a duration such as \"7d\" or \"1h30m\" (d, h, m, s)");
    return give(filter_make_moved(&p->maker, time, is_back ? -us : us), out);
}

/* Starts at the name of a function behind a dot. */
static bool parse_method(struct parse *p, const struct filter_node *of,
                         const struct filter_node **out)
{
    static const struct {
        const char *name;
        enum filter_op op;
    } of_strings[] = {{"startsWith", FILTER_STARTS_WITH},
                      {"endsWith", FILTER_ENDS_WITH},
                      {"contains", FILTER_CONTAINS}};
    struct filter_token name = p->lex.token;
    bool is_back = filter_token_is(&name, "subtract");
    const struct filter_node *argument;

    if (!next_token(p))
        return false;
    if (!is_at(p, "("))
        return filter_refuse(p->maker.err, name.offset, "%s has no members; expected a function",
                             filter_type_words(of->type));
    if (of->type == FILTER_STRINGS && filter_token_is(&name, "contains"))
        return filter_refuse(p->maker.err, of->offset,
                             "a list has no contains(); write \"...\" in the list");
    for (size_t i = 0; i < sizeof of_strings / sizeof of_strings[0]; i++) {
        if (filter_token_is(&name, of_strings[i].name))
            return filter_expect(&p->maker, of, FILTER_STRING) && parse_argument(p, &argument) &&
                   give(filter_make_binary(&p->maker, of_strings[i].op, of, argument), out);
    }
    if (is_back || filter_token_is(&name, "add"))
        return filter_expect(&p->maker, of, FILTER_TIME) && parse_argument(p, &argument) &&
               make_shift(p, of, is_back, argument, out);
    if (filter_token_is(&name, "size"))
        return count_operator(p) && step_in(p, "(") && step_out(p, ")") &&
               give(filter_make_size(&p->maker, of->offset, of), out);
    return refuse_function(p, name.offset, name.source,
                           "startsWith(), endsWith(), contains(), size(), add() or subtract()");
}

/* ---- operands and operators ---- */

static bool refuse_index(struct parse *p)
{
    return filter_refuse(p->maker.err, p->lex.token.offset, "an index '[...]' is not supported");
}

static bool parse_name(struct parse *p, const struct filter_node **out)
{
    struct filter_token name = p->lex.token;
    char quote[ERROR_QUOTE_SIZE];

    if (is_at(p, "true") || is_at(p, "false"))
        return parse_literal(p, FILTER_BOOL, is_at(p, "true"), (struct text){0}, out);
    if (is_at(p, "null"))
        return parse_literal(p, FILTER_NULL, 0, (struct text){0}, out);
    if (is_word_of(reserved_words, name.source))
        return expect_other(p, OPERAND);
    if (!next_token(p))
        return false;
    if (is_at(p, "("))
        return parse_function(p, name, out);
    if (is_at(p, "["))
        return refuse_index(p);
    if (filter_token_is(&name, "obj"))
        return parse_member(p, name.offset, out);
    if (filter_token_is(&name, "time"))
        return parse_now(p, name.offset, out);
    return filter_refuse(p->maker.err, name.offset,
                         "the name %s is unknown; expected obj.<member> or time.now",
                         error_quote(quote, name.source));
}

static bool parse_primary(struct parse *p, const struct filter_node **out)
{
    const struct filter_token *token = &p->lex.token;

    if (token->kind == FILTER_TOKEN_NAME)
        return parse_name(p, out);
    if (token->kind == FILTER_TOKEN_INT)
        return parse_int(p, false, out);
    if (token->kind == FILTER_TOKEN_STRING)
        return parse_literal(p, FILTER_STRING, 0, token->string, out);
    if (is_at(p, "-"))
        return parse_negative(p, out);
    if (is_at(p, "["))
        return parse_list(p, out);
    if (is_at(p, "("))
        return step_in(p, "(") && parse_expression(p, out) && step_out(p, ")");
    return expect_other(p, OPERAND);
}

/* Parses a primary and the calls behind it. */
static bool parse_calls(struct parse *p, const struct filter_node **out)
{
    if (!parse_primary(p, out))
        return false;
    while (is_at(p, ".")) {
        if (!next_token(p))
            return false;
        if (p->lex.token.kind != FILTER_TOKEN_NAME)
            return expect_other(p, "the name of a function");
        if (!parse_method(p, *out, out))
            return false;
    }
    if (is_at(p, "["))
        return refuse_index(p);
    /* Now, before the types of what is at the left matter. */
    return !filter_token_is_unsupported(&p->lex.token) || expect_other(p, "an operator");
}

/* Parses an operand with any number of '!' before it. */
static bool parse_operand(struct parse *p, const struct filter_node **out)
{
    size_t first = p->lex.token.offset;
    int n_nots = 0;

    for (; is_at(p, "!"); n_nots++) {
        if (!count_operator(p) || !next_token(p))
            return false;
    }
    if (!parse_calls(p, out))
        return false;
    for (; n_nots > 0; n_nots--) {
        if (!give(filter_make_not(&p->maker, first, *out), out))
            return false;
    }
    return true;
}

/* An operator of two operands, and how tightly it binds. */
static const struct binary {
    const char *sign;
    enum filter_op op;
    int strength;
} binaries[] = {{"||", FILTER_OR, 1}, {"&&", FILTER_AND, 2}, {"==", FILTER_EQ, 3},
                {"!=", FILTER_NE, 3}, {"<", FILTER_LT, 3},   {"<=", FILTER_LE, 3},
                {">", FILTER_GT, 3},  {">=", FILTER_GE, 3},  {"in", FILTER_IN, 3}};

#define STRONGEST 3

static const struct binary *find_binary(const struct parse *p)
{
    for (size_t i = 0; i < sizeof binaries / sizeof binaries[0]; i++) {
        if (is_at(p, binaries[i].sign))
            return &binaries[i];
    }
    return NULL;
}

/* Parses operands joined by operators of at least this strength; equal ones join from the left. */
static bool parse_joined(struct parse *p, int strength, const struct filter_node **out)
{
    const struct binary *binary;

    if (!(strength > STRONGEST ? parse_operand(p, out) : parse_joined(p, strength + 1, out)))
        return false;
    while ((binary = find_binary(p)) && binary->strength == strength) {
        const struct filter_node *right;

        if (!count_operator(p) || !next_token(p) || !parse_joined(p, strength + 1, &right) ||
            !give(filter_make_binary(&p->maker, binary->op, *out, right), out))
            return false;
    }
    return true;
}

static bool parse_expression(struct parse *p, const struct filter_node **out)
{
    return parse_joined(p, 1, out);
}

bool filter_parse(struct text source, const struct filter_member *members, int64_t now_us,
                  struct arena *arena, const struct filter_node **root, struct error *err)
{
    struct parse p = {.maker = {.arena = arena, .err = err}, .members = members, .now_us = now_us};
    const struct filter_node *made;

    if (!filter_lex_start(&p.lex, source, arena, err) || !parse_expression(&p, &made))
        return false;
    if (p.lex.token.kind != FILTER_TOKEN_END)
        return expect_other(&p, "an operator or the end");
    if (made->type != FILTER_BOOL)
        return filter_refuse(err, made->offset,
                             "expected a comparison, which is true or false; found %s",
                             filter_type_words(made->type));
    *root = made;
    return true;
}
