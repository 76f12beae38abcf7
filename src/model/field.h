/* SPDX-License-Identifier: MIT */
/* Fields of a JSON object as a table, for reading, the reference and the tests. */
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
#include "model/identity_provider.h"

/* Entries of the longest list. */
#define FIELD_MAX_ENTRIES 1000

enum field_kind {
    FIELD_TEXT,         /* struct text */
    FIELD_TEXTS,        /* struct text_list */
    FIELD_BOOL,         /* bool */
    FIELD_UINT32,       /* uint32_t */
    FIELD_NUMBER,       /* int64_t; in no body */
    FIELD_TIME,         /* int64_t, seconds since 1970; in no body */
    FIELD_TIME_OR_NULL, /* the same, and in bodies; 0: null */
    FIELD_PROVIDER,     /* int, the position of an identity provider; the model reads it itself */
    FIELD_OBJECT,       /* the model reads it itself */
    FIELD_REFUSED       /* a known name that is not accepted here: its error is `invalid` */
};

/* What member_table.h says of a row; the first of each for the rows of other tables. */
enum field_use {
    FIELD_USE_CHANGE,
    FIELD_USE_KEY,
    FIELD_USE_CREATE,
    FIELD_USE_OWNER,
    FIELD_USE_MADE,
    FIELD_USE_SERVER
};
enum field_shown { FIELD_SHOWN, FIELD_READ, FIELD_HIDDEN };
enum field_absent { FIELD_ASIS, FIELD_EMPTY, FIELD_FILLED, FIELD_YES };

/* A value that is sealed in the database.  A row of this has the offset of the plain text. */
struct field_secret {
    struct text plain;
    struct text key_id; /* of the key that sealed it; absent: there is none */
    struct text sealed; /* any bytes */
};

/* A row: one field.  Checks that do not apply to the kind, or whose error is ERR_NONE, are skipped.
 */
struct field {
    const char *name;
    const char *answered; /* the name in answers, which callers give by mistake; NULL: the same */
    const char *path;     /* in answers, each entry is the identifier of something at it; or NULL */
    int provider;         /* the position of the identity provider that it selects; 0: of none */
    enum field_kind kind;
    enum field_use use;
    enum field_shown shown;
    enum field_absent absent;
    size_t offset;  /* of the value in the target struct */
    size_t given;   /* of a bool in it: whether a body gives the value; 0: there is none */
    bool is_secret; /* messages do not quote the value */
    bool is_sealed; /* the value is a struct field_secret */
    size_t max;     /* bytes of the text, or of each entry */
    enum error_code too_long; /* more than that */
    enum error_code too_many; /* more than FIELD_MAX_ENTRIES entries */
    enum error_code empty;    /* an empty text, or entry */
    enum error_code repeated; /* an entry that equals an earlier one */

    /* Checks the text or each entry further; NULL: no check.  Returns false with the reason in
     * *why, static. */
    bool (*valid)(struct text value, const char **why);
    const char *forms; /* what is valid: a sentence for the end of the message; NULL: none */
    enum error_code invalid;
};

/* A value that a check refused, though its type is right.  One of them may be stored already: rules
 * become stricter. */
struct field_fault {
    const char *name; /* of the field, static */
    enum error_code code;
    const char *msg;
    struct field_fault *next;
};

/* Who reads an object. */
struct field_reader {
    struct arena *arena;

    /* NULL: the first value that a check refuses ends the reading.  Else such values are read, and
     * the faults are put in front of this list, in the arena. */
    struct field_fault **faults;
};

/* Notes the fault of a field, if the reader takes faults.  Returns false with *err unchanged if it
 * does not, or if *err is of another kind. */
MUST_CHECK bool field_note_fault(const struct field_reader *reader, const char *name,
                                 struct error *err);

/* Checks that the node is an object, and that the table has all its members.  Returns false with
 * ERR_WRONG_VALUE, ERR_UNKNOWN_MEMBER or ERR_OUT_OF_MEMORY.  The message lists the names of the
 * table except those of kind FIELD_REFUSED.  It names what was meant by a name used by mistake, or
 * by a provider's title in place of its name. */
MUST_CHECK bool fields_known(const struct json_node *object, const struct field *fields,
                             size_t n_fields, struct error *err);

/* Reads the members of the table into the struct at target.  Absent and null members leave it
 * unchanged, but null is a value for FIELD_TIME_OR_NULL.  Text belongs to the tree, arrays to the
 * arena.  Returns false with the error of the first wrong member in the order of the table; target
 * may be partly filled then. */
MUST_CHECK bool fields_read(const struct json_node *object, const struct field *fields,
                            size_t n_fields, void *target, const struct field_reader *reader,
                            struct error *err);

/* The check `valid` of rows whose text or entries are identifiers (base/ident.h). */
MUST_CHECK bool field_ident_valid(struct text value, const char **why);

/* Fills in what a new row has where a body gives nothing. */
void fields_fill(const struct field *fields, size_t n_fields, void *target);

/* Copies the text of a struct into the arena.  Returns false if memory runs out. */
MUST_CHECK bool fields_copy(const struct field *fields, size_t n_fields, void *target,
                            struct arena *arena);

/* Returns whether a struct has anything in it: a text, or an entry of a list. */
MUST_CHECK bool fields_any(const struct field *fields, size_t n_fields, const void *target);

/* Returns the bytes of text in a struct. */
size_t fields_bytes(const struct field *fields, size_t n_fields, const void *target);

/* Writes the value at that address as JSON.  For rows that the model reads itself, and those that
 * are refused, it writes nothing. */
void field_write_value(struct buf *out, enum field_kind kind, const void *value);

/* Writes the name of a row, and the value at that address. */
void field_write(struct buf *out, const struct field *field, const void *value);

/* Writes the name and the value of a row as answers have them, with URIs where it has a path. */
void field_answer(struct buf *out, const struct field *field, const void *value,
                  struct text base_url);

/* Writes a value of a row that has a path, as an object of the list that answers have. */
void field_answer_entry(struct buf *out, const struct field *field, struct text id,
                        struct text base_url);

/* Returns the name of a row in answers. */
const char *field_answered(const struct field *field);

/* Writes the names and values of the rows that are shown, except sealed ones and those that the
 * model reads itself. */
void fields_write(struct buf *out, const struct field *fields, size_t n_fields, const void *target);

#endif
