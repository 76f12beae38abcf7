/* SPDX-License-Identifier: MIT */
/* Errors as values with two texts: one for the client and one for the log. */
#ifndef ADIT_BASE_ERROR_H
#define ADIT_BASE_ERROR_H

#include <stdbool.h>
#include <stddef.h>

#include "base/text.h"

enum error_code {
    ERR_NONE = 0,
#define ERROR(symbol, number, status, text) ERR_##symbol,
#include "base/error_table.h"
#undef ERROR
    ERR_N_CODES
};

/* One row of the catalogue, base/error_table.h. */
struct error_row {
    const char *symbol;
    int number;
    int status; /* HTTP status */
    const char *text;
};

/* A SQLSTATE, five characters, and its NUL. */
#define ERROR_SQLSTATE_SIZE 6

/* An error on its way up to the answer.  All zero: no error. */
struct error {
    enum error_code code;
    bool has_offset;
    size_t offset; /* of the first byte of the body, or of filter, that is not accepted */
    bool has_field;
    char field[192]; /* path of the wrong member */
    char msg[640];   /* for the client; "": the text of the row */
    char cause[512]; /* for the log: may name SQL states, hosts and files, never a secret */
    char sqlstate[ERROR_SQLSTATE_SIZE]; /* what PostgreSQL answered; "": it is not from there */
};

/* Returns the row of a code, static.  For ERR_NONE and invalid codes it is that of ERR_INTERNAL. */
const struct error_row *error_row(enum error_code code);

/* Overwrites *err with the code; the client reads the text of the catalogue.  Returns false, so
 * that a caller can write `return error_set(...)`. */
bool error_set(struct error *err, enum error_code code);

/* Overwrites *err with the code and a message for the client.  Returns false. */
bool error_say(struct error *err, enum error_code code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Overwrites *err with the code, the path of the wrong member and a message for the client.
 * Returns false.  The path is copied, and cut if it is longer than err->field. */
bool error_field(struct error *err, enum error_code code, const char *field, const char *format,
                 ...) __attribute__((format(printf, 4, 5)));

/* Overwrites *err with the code and a cause for the log; the client reads the text of the
 * catalogue.  Returns false. */
bool error_cause(struct error *err, enum error_code code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Returns what a log or an operator is told of an error, static or the error's: its cause, or
 * without one the text of the catalogue. */
const char *error_reason(const struct error *err);

/* Room for a value quoted in a message. */
#define ERROR_QUOTE_SIZE 80

/* Copies a value in UTF-8 into out as a C string.  Cuts a long one at a whole character and appends
 * an ellipsis.  Returns out. */
const char *error_quote(char out[ERROR_QUOTE_SIZE], struct text value);

#endif
