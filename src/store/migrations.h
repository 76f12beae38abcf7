/* SPDX-License-Identifier: MIT */
/* The SQL of sql/, built into the programs. */
#ifndef ADIT_STORE_MIGRATIONS_H
#define ADIT_STORE_MIGRATIONS_H

struct migration {
    int version;      /* 1: schema.sql, the whole schema */
    const char *name; /* of its file */
    const char *sql;
};

extern const struct migration migrations[]; /* in ascending order of versions */
extern const int migrations_n;
extern const int migrations_latest; /* the version that this build needs */

/* The script that runs after the migrations. */
extern const char migrations_grants_sql[];

/* What runs after those where the accounts are spread: the transaction in sql/optional/. */
extern const char migrations_optional_sql[];

/* The rows of grants.sql as JSON: what each role may do. */
extern const char migrations_rights[];

#endif
