/* SPDX-License-Identifier: MIT */
/* Rows and parameters of statements that member_sql.h lists, by the tables of members. */
#ifndef ADIT_STORE_MEMBER_ROW_H
#define ADIT_STORE_MEMBER_ROW_H

#include "base/must_check.h"
#include "model/field.h"
#include "pg/pg.h"

/* Where a struct's members are: columns of a row, one after the other. */
struct member_row {
    const struct pg_result *result; /* the caller's */
    int row;
    int first; /* column, from 0 */
};

/* Reads the columns of members into the struct at target.  Text belongs to the result, arrays to
 * the arena.  Returns false if memory runs out. */
MUST_CHECK bool member_row_read(const struct member_row *from, const struct field *members,
                                size_t n_members, void *target, struct arena *arena);

/* The same, and all belongs to the arena, but for what is sealed. */
MUST_CHECK bool member_row_copy(const struct member_row *from, const struct field *members,
                                size_t n_members, void *target, struct arena *arena);

/* Appends the parameters of a struct's members: those that a statement writes. */
void member_params_add(struct pg_params *params, const struct field *members, size_t n_members,
                       const void *target, struct arena *arena);

/* Appends those that PATCH changes. */
void member_params_add_changed(struct pg_params *params, const struct field *members,
                               size_t n_members, const void *target, struct arena *arena);

#endif
