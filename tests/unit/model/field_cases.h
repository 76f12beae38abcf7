/* SPDX-License-Identifier: MIT */
/* Cases made from the tables of fields that the code uses: each declaration there is tested here.
 */
#ifndef ADIT_TESTS_FIELD_CASES_H
#define ADIT_TESTS_FIELD_CASES_H

#include "cases.h"
#include "model/field.h"

/* Reads a body.  Returns the struct that the rows' offsets refer to, or NULL with *err.  The struct
 * is valid until the next call. */
typedef const void *read_body(const struct json_node *body, struct arena *arena, struct error *err);

/* A table and its bodies. */
struct field_table {
    const char *name;
    const struct field *fields;
    size_t n_fields;
    const char *open; /* the body before the members, and after them */
    const char *close;
    const char *path; /* of the object with the members: "", or a path and a dot */
    read_body *read;

    /* Returns the members that this one needs when it is present or absent, each followed by a
     * comma.  NULL: none. */
    const char *(*companions)(const struct field *field, bool is_given);

    /* Returns the error of a body without the member; NULL: no error. */
    enum error_code (*absent)(const struct field *field);
};

/* Runs all cases of each row: absent, null, each wrong type, empty, misspelt; at the limits and one
 * past them, in characters of one byte and of two; repeated, null and too many entries.  Prints the
 * number of cases, and fails if there is none. */
void field_table_check(const struct field_table *table);

/* Checks a case whose input is a body.  Its expectation is "ok" or "<number of the error> <path of
 * the member>". */
void body_case_check(const struct test_case *test, const char *body, read_body *read);

#endif
