/* SPDX-License-Identifier: MIT */
/* The words of a filter. */
#ifndef ADIT_FILTER_LEX_H
#define ADIT_FILTER_LEX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/must_check.h"
#include "base/text.h"
#include "filter/filter.h"

enum filter_token_kind {
    FILTER_TOKEN_END,
    FILTER_TOKEN_NAME, /* also true, false, null, in and reserved words */
    FILTER_TOKEN_INT,  /* without its sign */
    FILTER_TOKEN_STRING,
    FILTER_TOKEN_SIGN, /* an operator or a bracket */
};

struct filter_token {
    enum filter_token_kind kind;
    size_t offset;
    struct text source; /* its bytes; no NUL follows */
    struct text string; /* of STRING: decoded, with a NUL */
    uint64_t number;    /* of INT, at most 2^63 */
};

/* Reads a filter from its first byte on. */
struct filter_lexer {
    struct text source;
    size_t at;  /* behind the token */
    char *pool; /* where the next string goes: all strings together need less than the source */
    struct filter_token token;
    struct error *err;
};

/* Says that an expected thing is missing where the token is.  Names what is there. */
bool filter_refuse_token(struct error *err, const struct filter_token *token, const char *expected);

/* Starts to read a source, which must outlive the lexer, and reads its first token.  Returns false
 * with ERR_FILTER, also if the source is too long or not UTF-8, or with ERR_OUT_OF_MEMORY. */
MUST_CHECK bool filter_lex_start(struct filter_lexer *lex, struct text source, struct arena *arena,
                                 struct error *err);

/* Reads the next token into lex->token.  Returns false with ERR_FILTER. */
MUST_CHECK bool filter_lex_next(struct filter_lexer *lex);

/* Returns the first byte of the next token, or NUL if there is none. */
char filter_lex_peek(const struct filter_lexer *lex);

/* Returns whether the token is this sign or name. */
bool filter_token_is(const struct filter_token *token, const char *source);

/* Returns whether the token is a sign of a form that is not supported. */
bool filter_token_is_unsupported(const struct filter_token *token);

/* Reads a string literal that begins at lex->at, with its prefix r if is_raw.  Moves lex->at behind
 * it.  Returns false with ERR_FILTER. */
MUST_CHECK bool filter_lex_string(struct filter_lexer *lex, bool is_raw, struct text *out);

#endif
