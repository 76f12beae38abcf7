/* SPDX-License-Identifier: MIT */
/* Errors as values with two faces: what the client reads, and what the log says. */
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

/* An error on its way to whoever answers it.  All zero: none yet. */
struct error {
    enum error_code code;
    bool has_offset;
    size_t offset; /* byte in the body where it stops being acceptable */
    bool has_field;
    char field[192]; /* path of the member at fault */
    char msg[640];   /* for the client; "" stands for the row's text */
    char cause[512]; /* for the log only: may name SQL states, hosts and files, never a secret */
    char sqlstate[ERROR_SQLSTATE_SIZE]; /* what PostgreSQL answered; "": it is not from there */
};

/* Returns the row of a code; of ERR_NONE or no code at all, the row of ERR_INTERNAL. */
const struct error_row *error_row(enum error_code code);

/* Fills *err with the code and the catalogue's own text.  Returns false, so that a caller can say
 * `return error_set(...)`. */
bool error_set(struct error *err, enum error_code code);

/* The same with a message for the client in place of the catalogue's. */
bool error_say(struct error *err, enum error_code code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* The same as error_say() for a fault in the member with that path (copied, cut if very long). */
bool error_field(struct error *err, enum error_code code, const char *field, const char *format,
                 ...) __attribute__((format(printf, 4, 5)));

/* Fills *err with the code and a cause that only the log shows.  Returns false. */
bool error_cause(struct error *err, enum error_code code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Room for a value quoted in a message. */
#define ERROR_QUOTE_SIZE 80

/* Copies the value into out as a C string, cut at a character's boundary and ended by an ellipsis
 * if it is long.  Returns out.  The value must be UTF-8. */
const char *error_quote(char out[ERROR_QUOTE_SIZE], struct text value);

#endif
