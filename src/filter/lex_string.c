/* SPDX-License-Identifier: MIT */
/* String literals: CEL's quotes and escapes. */
#include <string.h>

#include "base/ascii.h"
#include "base/utf8.h"
#include "filter/lex.h"

/* A string literal while it is read. */
struct literal {
    const char *s; /* the source */
    size_t at;
    size_t end; /* of the source */
    char quote;
    size_t n_quotes; /* 1 or 3 */
    char *out;
    struct error *err;
};

/* Reads n digits of a base from lit->at. */
static bool read_code_point(struct literal *lit, size_t n, int base, uint32_t *point)
{
    size_t start = lit->at;

    *point = 0;
    for (; lit->at < start + n; lit->at++) {
        int digit = lit->at < lit->end ? ascii_hex_value(lit->s[lit->at]) : -1;

        if (digit < 0 || digit >= base)
            return filter_refuse(lit->err, lit->at, "expected %zu %s digits in this escape", n,
                                 base == 8 ? "octal" : "hexadecimal");
        *point = *point * (uint32_t)base + (uint32_t)digit;
    }
    return true;
}

/* Starts behind the backslash.  CEL: a number in a string is a code point, also after \x. */
static bool read_escape(struct literal *lit)
{
    static const char letters[] = "abfnrtv\\?\"'`";
    static const char meanings[] = "\a\b\f\n\r\t\v\\?\"'`";
    size_t start = lit->at - 1;
    char letter = lit->at < lit->end ? lit->s[lit->at] : '\0';
    const char *known = letter ? strchr(letters, letter) : NULL;
    uint32_t point;
    bool ok;

    if (known) {
        *lit->out++ = meanings[known - letters];
        lit->at++;
        return true;
    }
    if (letter >= '0' && letter <= '3') {
        ok = read_code_point(lit, 3, 8, &point);
    } else if (letter == 'x' || letter == 'X' || letter == 'u' || letter == 'U') {
        lit->at++;
        ok = read_code_point(lit, letter == 'U' ? 8 : letter == 'u' ? 4 : 2, 16, &point);
    } else {
        return filter_refuse(
            lit->err, start,
            "expected one of the escapes \\a \\b \\f \\n \\r \\t \\v \\\\ \\? \\\" "
            "\\' \\` \\xHH \\uHHHH \\UHHHHHHHH \\ooo");
    }
    if (!ok)
        return false;
    if (point == 0)
        return filter_refuse(lit->err, start, "a string cannot hold the character U+0000");
    if (point > 0x10FFFF || (point >= 0xD800 && point <= 0xDFFF))
        return filter_refuse(lit->err, start, "expected an escape of a Unicode character");
    lit->out += utf8_encode((unsigned char *)lit->out, point);
    return true;
}

static bool at_closing_quotes(const struct literal *lit)
{
    if (lit->end - lit->at < lit->n_quotes)
        return false;
    for (size_t i = 0; i < lit->n_quotes; i++) {
        if (lit->s[lit->at + i] != lit->quote)
            return false;
    }
    return true;
}

bool filter_lex_string(struct filter_lexer *lex, bool is_raw, struct text *out)
{
    size_t start = lex->at + is_raw;
    struct literal lit = {.s = lex->source.s,
                          .at = start + 1,
                          .end = lex->source.len,
                          .quote = lex->source.s[start],
                          .n_quotes = 1,
                          .out = lex->pool,
                          .err = lex->err};

    lit.n_quotes = 2;
    if (at_closing_quotes(&lit)) {
        lit.n_quotes = 3;
        lit.at += 2;
    } else {
        lit.n_quotes = 1;
    }
    while (!at_closing_quotes(&lit)) {
        char c = lit.at < lit.end ? lit.s[lit.at] : '\0';

        if (!c || (lit.n_quotes == 1 && (c == '\n' || c == '\r')))
            return filter_refuse(lit.err, lit.at, "expected %.*s at the end of the string",
                                 (int)lit.n_quotes, lit.quote == '"' ? "\"\"\"" : "'''");
        lit.at++;
        if (c != '\\' || is_raw)
            *lit.out++ = c;
        else if (!read_escape(&lit))
            return false;
    }
    *lit.out = '\0';
    *out = (struct text){.s = lex->pool, .len = (size_t)(lit.out - lex->pool)};
    lex->pool = lit.out + 1;
    lex->at = lit.at + lit.n_quotes;
    return true;
}
