/* SPDX-License-Identifier: MIT */
/* Fields of a JSON object as a table: what reading, the reference and the tests go by. */
#ifndef ADIT_MODEL_FIELD_H
#define ADIT_MODEL_FIELD_H

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/error.h"
#include "base/must_check.h"
#include "base/text.h"
#include "json/tree.h"

/* Entries of the longest list. */
#define FIELD_MAX_ENTRIES 1000

enum field_kind {
    FIELD_TEXT,   /* struct text */
    FIELD_TEXTS,  /* struct text_list */
    FIELD_BOOL,   /* bool */
    FIELD_UINT32, /* uint32_t */
    FIELD_OBJECT, /* read by the model itself */
    FIELD_REFUSED /* known, but not accepted here: given, it is the error `invalid` */
};

/* A row.  Checks that do not apply to its kind, or whose error is ERR_NONE, are not made. */
struct field {
    const char *name;
    const char *mistaken; /* an unknown name that callers give in its place; NULL: none */
    enum field_kind kind;
    size_t offset;            /* of the value in the struct that is filled */
    bool is_secret;           /* its value is quoted nowhere */
    size_t max;               /* bytes of the text, or of each entry */
    enum error_code too_long; /* more than that */
    enum error_code too_many; /* more than FIELD_MAX_ENTRIES entries */
    enum error_code empty;    /* an empty text, or entry */
    enum error_code repeated; /* an entry that equals an earlier one */

    /* What else the text or each entry has to be; on false, *why says what it has to be or what is
     * wrong, static. */
    bool (*valid)(struct text value, const char **why);
    enum error_code invalid;
};

/* Checks that the node is an object with no members but those of the table (rows of kind
 * FIELD_REFUSED are not named to the client).  Returns false with ERR_WRONG_VALUE or
 * ERR_UNKNOWN_MEMBER. */
MUST_CHECK bool fields_known(const struct json_node *object, const struct field *fields,
                             size_t n_fields, struct error *err);

/* Reads the members that are given into the struct at target, row by row; what is not given, or
 * null, stays as it is.  Text belongs to the tree, arrays to the arena. */
MUST_CHECK bool fields_read(const struct json_node *object, const struct field *fields,
                            size_t n_fields, void *target, struct arena *arena, struct error *err);

/* A check for rows whose text or entries are identifiers (base/ident.h). */
MUST_CHECK bool field_ident_valid(struct text value, const char **why);

/* Writes the name of a row and the value that it has at that address, as JSON.  Rows of the last
 * two kinds have none: only the name is written. */
void field_write(struct buf *out, const struct field *field, const void *value);

#endif
