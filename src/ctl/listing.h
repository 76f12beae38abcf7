/* SPDX-License-Identifier: MIT */
/* What aditctl prints: lists of rows, and facts of one thing.  With --json, a verb prints exactly
 * one JSON value (RFC 8259).  Without it, a list has aligned columns on a terminal and tabs
 * elsewhere, for programs.  If memory runs out, these functions end the program with CTL_FAILED. */
#ifndef ADIT_CTL_LISTING_H
#define ADIT_CTL_LISTING_H

#include "ctl/ctl.h"

/* How JSON shows a value.  Every value is given as text.  An absent text is null in JSON, and "-"
 * elsewhere. */
enum listing_kind {
    LISTING_TEXT,
    LISTING_NUMBER, /* decimal digits, perhaps after '-' */
    LISTING_BOOL,   /* "yes" or "no" */
    LISTING_TIME,   /* RFC 3339 */
    LISTING_LIST,   /* words with a space or a comma between them; JSON: a list of strings */
    LISTING_JSON    /* a JSON value, which JSON copies */
};

struct listing_column {
    const char *heading; /* NULL: JSON only */
    const char *name;    /* the member in JSON; NULL: not in JSON */
    enum listing_kind kind;
    int width; /* characters, for listing_open() */
};

#define LISTING_COLUMNS_MAX 16

struct listing {
    const char *name;                     /* the member in JSON that holds the rows, as "users" */
    const struct listing_column *columns; /* in the order of the cells */
    int n_columns;                        /* at most LISTING_COLUMNS_MAX */
};

/* A value of one thing. */
struct listing_fact {
    const char *name; /* the member in JSON; elsewhere, the word before the value */
    enum listing_kind kind;
    struct text value;
};

/* Prints the rows of a result as a list: {"users": [{"id": ...}, ...]}.  Its columns are those of
 * the listing, all of the type PG_TEXT. */
void listing_print(const struct ctl *ctl, const struct listing *listing,
                   const struct pg_result *result);

/* A list that is printed row by row.  listing_open() sets the members. */
struct listing_out {
    const struct ctl *ctl;
    const struct listing *listing;
    int64_t n_rows;
};

/* Print a list whose rows are not known beforehand.  Open it, which prints the headings, add rows
 * of n_columns cells, and close it.  A terminal gets columns of the widths in the listing; longer
 * values move the rest.  The facts at the end are in JSON only, beside the list. */
void listing_open(struct listing_out *out, const struct ctl *ctl, const struct listing *listing);
void listing_add(struct listing_out *out, const struct text *cells);
void listing_close(struct listing_out *out, const struct listing_fact *facts, int n_facts);

/* Prints facts: a line "name  value" each, or one JSON object. */
void listing_print_facts(const struct ctl *ctl, const struct listing_fact *facts, int n_facts);

/* Prints the facts as one JSON object if --json was given.  Returns whether it was: if not, the
 * caller prints its own lines. */
bool listing_put_json(const struct ctl *ctl, const struct listing_fact *facts, int n_facts);

/* Prints one value alone on its line; in JSON, an object with that one member. */
void listing_print_value(const struct ctl *ctl, const char *name, const char *value);

/* Prints the text of a file as it is; in JSON, an object with that one member. */
void listing_print_file(const struct ctl *ctl, const char *name, struct text text);

/* Room for a number of listing_number(). */
#define LISTING_NUMBER_SIZE 24

/* Writes a number in decimal.  Returns it as a text, which refers to out. */
struct text listing_number(char out[LISTING_NUMBER_SIZE], int64_t number);

#endif
