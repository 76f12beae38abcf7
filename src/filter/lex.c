/* SPDX-License-Identifier: MIT */
/* Takes a filter apart into its words. */
#include "filter/lex.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/ascii.h"
#include "base/invisible.h"
#include "base/utf8.h"
#include "filter/filter.h"

#define MINUS "arithmetic is not supported; a time takes .add(\"24h\") and .subtract(\"24h\")"
#define ARITHMETIC "arithmetic is not supported"
#define CONDITIONAL "the conditional operator '? :' is not supported"
#define BRACES "a map or a message '{...}' is not supported"

/* Signs, the longer ones first.  `unsupported` says which form of CEL the sign belongs to. */
static const struct sign {
    const char *sign;
    const char *unsupported;
} signs[] = {
    {"&&", NULL},
    {"||", NULL},
    {"==", NULL},
    {"!=", NULL},
    {"<=", NULL},
    {">=", NULL},
    {"<", NULL},
    {">", NULL},
    {"!", NULL},
    {"(", NULL},
    {")", NULL},
    {"[", NULL},
    {"]", NULL},
    {",", NULL},
    {".", NULL},
    {"-", MINUS},
    {"+", MINUS},
    {"*", ARITHMETIC},
    {"/", ARITHMETIC},
    {"%", ARITHMETIC},
    {"?", CONDITIONAL},
    {":", CONDITIONAL},
    {"{", BRACES},
    {"}", BRACES},
    {"`", "a name in backticks is not supported"},
};

bool filter_refuse(struct error *err, size_t offset, const char *format, ...)
{
    char what[sizeof err->msg];
    va_list args;

    va_start(args, format);
    vsnprintf(what, sizeof what, format, args);
    va_end(args);
    what[utf8_whole(what, strlen(what))] = '\0';
    error_say(err, ERR_FILTER, "filter, byte %zu: %s.", offset, what);
    err->has_offset = true;
    err->offset = offset;
    return false;
}

static const struct sign *find_sign(struct text source)
{
    for (size_t i = 0; i < sizeof signs / sizeof signs[0]; i++) {
        if (text_begins(source, signs[i].sign))
            return &signs[i];
    }
    return NULL;
}

bool filter_token_is_unsupported(const struct filter_token *token)
{
    return token->kind == FILTER_TOKEN_SIGN && find_sign(token->source)->unsupported;
}

bool filter_refuse_token(struct error *err, const struct filter_token *token, const char *expected)
{
    char quote[ERROR_QUOTE_SIZE];

    if (filter_token_is_unsupported(token))
        return filter_refuse(err, token->offset, "%s", find_sign(token->source)->unsupported);
    if (token->kind == FILTER_TOKEN_END)
        return filter_refuse(err, token->offset, "expected %s, but the filter ends", expected);
    error_quote(quote, token->source);
    if (token->kind == FILTER_TOKEN_STRING)
        return filter_refuse(err, token->offset, "expected %s, found %s", expected, quote);
    return filter_refuse(err, token->offset, "expected %s, found '%s'", expected, quote);
}

bool filter_token_is(const struct filter_token *token, const char *source)
{
    return (token->kind == FILTER_TOKEN_SIGN || token->kind == FILTER_TOKEN_NAME) &&
           text_eq(token->source, text_of(source));
}

/* Returns the byte i places behind the next one, or NUL at the end. */
static char byte_ahead(const struct filter_lexer *lex, size_t i)
{
    return i < lex->source.len - lex->at ? lex->source.s[lex->at + i] : '\0';
}

static bool is_name_byte(char c)
{
    return ascii_is_alnum(c) || c == '_';
}

static bool is_quote(char c)
{
    return c == '"' || c == '\'';
}

/* Skips white space and comments. */
static void skip_space_and_comments(struct filter_lexer *lex)
{
    for (;;) {
        char c = byte_ahead(lex, 0);

        if (ascii_is_space(c) || c == '\f') {
            lex->at++;
        } else if (c == '/' && byte_ahead(lex, 1) == '/') {
            while (lex->at < lex->source.len && byte_ahead(lex, 0) != '\n')
                lex->at++;
        } else {
            return;
        }
    }
}

char filter_lex_peek(const struct filter_lexer *lex)
{
    struct filter_lexer ahead = *lex;

    skip_space_and_comments(&ahead);
    return byte_ahead(&ahead, 0);
}

/* Returns whether digits that end before lex->at go on as those of a double do. */
static bool goes_on_as_double(const struct filter_lexer *lex)
{
    char first = byte_ahead(lex, 0);
    char second = byte_ahead(lex, 1);

    if (first == '.')
        return ascii_is_digit(second);
    if (first != 'e' && first != 'E')
        return false;
    if (second == '+' || second == '-')
        second = byte_ahead(lex, 2);
    return ascii_is_digit(second);
}

static bool lex_number(struct filter_lexer *lex)
{
    const uint64_t most = (uint64_t)INT64_MAX + 1;
    bool is_hex = byte_ahead(lex, 0) == '0' && byte_ahead(lex, 1) == 'x' &&
                  ascii_hex_value(byte_ahead(lex, 2)) >= 0;
    uint64_t base = is_hex ? 16 : 10;
    size_t start = lex->at;
    uint64_t number = 0;
    bool fits = true;

    lex->at += is_hex ? 2 : 0;
    for (;; lex->at++) {
        int value = ascii_hex_value(byte_ahead(lex, 0));
        uint64_t digit = (uint64_t)value;

        if (value < 0 || digit >= base)
            break;
        fits = fits && number <= (most - digit) / base;
        number = number * base + digit;
    }
    if (!is_hex && goes_on_as_double(lex))
        return filter_refuse(lex->err, start, "a double is not supported; write an integer");
    if (byte_ahead(lex, 0) == 'u' || byte_ahead(lex, 0) == 'U')
        return filter_refuse(lex->err, start,
                             "an unsigned integer is not supported; write it without u");
    if (!fits)
        return filter_refuse(lex->err, start, "this integer needs more than 64 bits");
    lex->token.kind = FILTER_TOKEN_INT;
    lex->token.number = number;
    return true;
}

/* Reads a name, or a string with a prefix. */
static bool lex_name(struct filter_lexer *lex)
{
    char first = ascii_lower(byte_ahead(lex, 0));
    char second = ascii_lower(byte_ahead(lex, 1));
    bool is_pair = (first == 'b' && second == 'r') || (first == 'r' && second == 'b');

    if ((first == 'b' && is_quote(second)) || (is_pair && is_quote(byte_ahead(lex, 2))))
        return filter_refuse(lex->err, lex->at, "bytes are not supported; write a string");
    if (first == 'r' && is_quote(second)) {
        lex->token.kind = FILTER_TOKEN_STRING;
        return filter_lex_string(lex, true, &lex->token.string);
    }
    while (is_name_byte(byte_ahead(lex, 0)))
        lex->at++;
    lex->token.kind = FILTER_TOKEN_NAME;
    return true;
}

static bool lex_sign(struct filter_lexer *lex)
{
    struct text rest = text_part(lex->source, lex->at, lex->source.len);
    const struct sign *sign = find_sign(rest);
    char quote[ERROR_QUOTE_SIZE];
    struct invisible found;
    size_t len;

    if (sign && sign->sign[0] == '.' && ascii_is_digit(byte_ahead(lex, 1)))
        return filter_refuse(lex->err, lex->at, "a double is not supported; write an integer");
    if (sign) {
        lex->at += strlen(sign->sign);
        lex->token.kind = FILTER_TOKEN_SIGN;
        return true;
    }
    if (rest.s[0] == '=' || rest.s[0] == '&' || rest.s[0] == '|')
        return filter_refuse(lex->err, lex->at, "expected '%c%c', found '%c'", rest.s[0], rest.s[0],
                             rest.s[0]);
    if (invisible_at_start(rest, &found))
        return filter_refuse(lex->err, lex->at, "the filter " INVISIBLE_FORMAT, found.what);
    utf8_decode((const unsigned char *)rest.s, &len);
    return filter_refuse(lex->err, lex->at, "the character %s is only accepted inside a string",
                         error_quote(quote, text_part(rest, 0, len)));
}

bool filter_lex_next(struct filter_lexer *lex)
{
    char first;
    bool ok = true;

    skip_space_and_comments(lex);
    lex->token = (struct filter_token){.kind = FILTER_TOKEN_END, .offset = lex->at};
    first = byte_ahead(lex, 0);
    if (lex->at == lex->source.len)
        ok = true;
    else if (ascii_is_digit(first))
        ok = lex_number(lex);
    else if (is_name_byte(first))
        ok = lex_name(lex);
    else if (is_quote(first)) {
        lex->token.kind = FILTER_TOKEN_STRING;
        ok = filter_lex_string(lex, false, &lex->token.string);
    } else {
        ok = lex_sign(lex);
    }
    lex->token.source = text_part(lex->source, lex->token.offset, lex->at);
    return ok;
}

/* Refuses what no string of PostgreSQL can hold, and what no lexer should see. */
static bool check_bytes(struct text source, struct error *err)
{
    const unsigned char *start = (const unsigned char *)source.s;
    const unsigned char *end = start + source.len;

    if (source.len > FILTER_MAX_BYTES)
        return filter_refuse(err, FILTER_MAX_BYTES, "the filter is longer than %d bytes",
                             FILTER_MAX_BYTES);
    for (const unsigned char *at = start; at < end;) {
        size_t len = utf8_char_len(at, end);

        if (len == 0)
            return filter_refuse(err, (size_t)(at - start), "expected UTF-8, found another byte");
        if (!*at)
            return filter_refuse(err, (size_t)(at - start),
                                 "a filter cannot hold the character U+0000");
        at += len;
    }
    return true;
}

bool filter_lex_start(struct filter_lexer *lex, struct text source, struct arena *arena,
                      struct error *err)
{
    *lex = (struct filter_lexer){.source = source, .err = err};
    if (!check_bytes(source, err))
        return false;
    lex->pool = arena_alloc(arena, source.len + 1);
    return lex->pool ? filter_lex_next(lex) : error_set(err, ERR_OUT_OF_MEMORY);
}
