/* SPDX-License-Identifier: MIT */
/* Cases made from the tables of fields that the code itself goes by: whatever is declared there is
 * tested here. */
#ifndef ADIT_TESTS_FIELD_CASES_H
#define ADIT_TESTS_FIELD_CASES_H

#include "cases.h"
#include "model/field.h"

/* Reads a body.  Returns the struct that the rows' offsets refer to, which lasts until the next
 * call, or NULL with *err. */
typedef const void *read_body(const struct json_node *body, struct arena *arena, struct error *err);

/* A table, and the bodies that it is for. */
struct field_table {
    const char *name;
    const struct field *fields;
    size_t n_fields;
    const char *open; /* what stands in a body in front of the members, and behind them */
    const char *close;
    const char *path; /* of the object that holds the members: "", or with a dot at its end */
    read_body *read;

    /* Returns the members, each with a comma behind it, that must be there for this one to be
     * accepted, or to be left out; NULL: none. */
    const char *(*companions)(const struct field *field, bool is_given);

    /* Returns what leaving the member out is; NULL: no error. */
    enum error_code (*absent)(const struct field *field);
};

/* Runs each row through every case that its kind has: absent, null, every wrong type, empty, at its
 * limits and one past them in characters of one byte and of two, repeated and null entries, too
 * many entries, misspelt.  Prints how many cases ran, and fails when none. */
void field_table_check(const struct field_table *table);

/* Checks a case "ok" or "<number of the error> <path of the member>", whose input is a body. */
void body_case_check(const struct test_case *test, const char *body, read_body *read);

#endif
