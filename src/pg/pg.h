/* SPDX-License-Identifier: MIT */
/* A connection to PostgreSQL (libpq) that mends itself, with a deadline on every wait. */
#ifndef ADIT_PG_PG_H
#define ADIT_PG_PG_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/text.h"
#include "base/wait.h"

struct pg;
struct pg_result;

/* Types of columns. */
#define PG_BOOL "b"
#define PG_SMALLINT "s"
#define PG_INTEGER "i"
#define PG_BIGINT "l"
#define PG_TEXT "t"
#define PG_TEXTS "T" /* text[] */
#define PG_BYTEA "x"
#define PG_TIME "z" /* timestamptz */

/* A prepared statement.  Constant; its address stays the same. */
struct pg_statement {
    const char *name; /* unique within the program */
    const char *sql;
    const char *types;  /* of the columns that it returns, in their order */
    bool writes;        /* run once only: when its answer is lost, nobody knows what it did */
    bool is_short;      /* reads a row by its key: may share a session with others' */
    const char *unique; /* a constraint or unique index whose violation is the client's */
    enum error_code on_unique; /* what that violation means; that of any other is a bug */
};

#define PG_MAX_PARAMS 24

/* Parameters in their order.  All zero: none.  Bytes stay with whoever gave them. */
struct pg_params {
    const char *values[PG_MAX_PARAMS];
    int lengths[PG_MAX_PARAMS];
    int formats[PG_MAX_PARAMS]; /* 0: text, 1: binary */
    char digits[PG_MAX_PARAMS][24];
    int n;
    bool failed; /* there was no memory, or were more than PG_MAX_PARAMS */
};

/* Append a parameter.  Text and bytes that are not given are NULL. */
void pg_add_text(struct pg_params *params, struct text value);
void pg_add_bytes(struct pg_params *params, const void *bytes, size_t len);
void pg_add_bool(struct pg_params *params, bool value);
void pg_add_int(struct pg_params *params, int64_t value);
void pg_add_null(struct pg_params *params);

/* Appends a text[]; NULL where it is not given.  The array's bytes go into the arena. */
void pg_add_texts(struct pg_params *params, struct text_list list, struct arena *arena);

/* Appends a bigint[] of n numbers, whose bytes go into the arena; NULL where it is not given. */
void pg_add_ints(struct pg_params *params, const int64_t *numbers, size_t n, bool given,
                 struct arena *arena);

/* Returns a connection that is not open yet, or NULL where there is no memory.  The conninfo is
 * libpq's; what it does not say is set to defaults that never wait for ever.  It must outlive the
 * connection, as must what wait() is given. */
struct pg *pg_new(const char *conninfo, const struct wait *wait);

struct pg_pipeline;

/* Has short reads go through a pipeline, which must outlive the connection, as long as that works.
 */
void pg_use_pipeline(struct pg *pg, struct pg_pipeline *pipeline);

/* Closes it.  NULL is fine. */
void pg_free(struct pg *pg);

/* Returns whether libpq can parse the conninfo. */
bool pg_conninfo_valid(const char *conninfo);

/* Returns whether a conninfo that is valid holds a password, in whatever form. */
bool pg_conninfo_has_password(const char *conninfo);

/* Says what is wrong with a conninfo that is not valid, without a word that may be a password's. */
void pg_conninfo_reason(const char *conninfo, char *reason, size_t size);

/* Calls seen() with each file that libpq may read when it connects: those that the conninfo, its
 * service and the environment name, and those in the home folder that are there. */
typedef void pg_file_seen(void *context, const char *path);
void pg_see_files(const char *conninfo, pg_file_seen *seen, void *context);

/* Says that a request begins: all that is run from now on shares one deadline.  Without it, each
 * run has its own.  What writes is not sent any more once peer_gone(peer) says that nobody waits
 * for the answer; NULL: somebody does. */
void pg_start_request(struct pg *pg, bool (*peer_gone)(void *peer), void *peer);

/* Runs a statement, (re)connecting and preparing as needed; what failed without effect for a
 * passing reason is tried again.  Waits at most 4 seconds in all, of which each host of the
 * conninfo has 2 to take a connection (or what connect_timeout says), and 0.7 seconds more to see
 * to it that a write that was given up is not made later.  Returns true and sets *result, which
 * the caller hands to pg_result_free(), or false with *err: one of the 503 conditions,
 * ERR_CLIENT_GONE, ERR_OUT_OF_MEMORY, the statement's on_unique, or ERR_INTERNAL for what cannot
 * happen on the schema that the statement was written for.  A result has the columns that the
 * statement declares: any other is ERR_SCHEMA_MISMATCH, or ERR_OUTCOME_UNKNOWN after a write. */
bool pg_run(struct pg *pg, const struct pg_statement *statement, const struct pg_params *params,
            struct pg_result **result, struct error *err);

/* Estimates what the database's clock shows, in milliseconds since 1970: a session tells the time
 * when it is set up, and the steady clock says how long ago that was.  Connects where there was no
 * session yet; otherwise it costs no round trip.  Returns false with *err like pg_run(). */
bool pg_clock(struct pg *pg, int64_t *ms, struct error *err);

/* Corrects that estimate by what the database's clock showed while the latest statement ran, in
 * microseconds since 1970. */
void pg_note_time(struct pg *pg, int64_t database_us);

/* Runs SQL without parameters, of several statements if need be, with a deadline of its own and
 * never a second time.  Returns false with *err, like pg_run(); a transaction that it began may be
 * open. */
bool pg_script(struct pg *pg, const char *sql, int timeout_ms, struct error *err);

/* Ends the transaction that a failed script may have left open.  Waits at most 1 s. */
void pg_rollback(struct pg *pg);

/* Frees a result.  NULL is fine. */
void pg_result_free(struct pg_result *result);

/* Returns the number of rows. */
int pg_rows(const struct pg_result *result);

/* Return the value in a row and a column of pg_run()'s result, which owns it; NULL is text that is
 * not given, false, 0. */
struct text pg_text(const struct pg_result *result, int row, int column);
bool pg_bool(const struct pg_result *result, int row, int column);
int64_t pg_int(const struct pg_result *result, int row, int column);
int64_t pg_time(const struct pg_result *result, int row, int column);    /* seconds since 1970 */
int64_t pg_time_us(const struct pg_result *result, int row, int column); /* microseconds */
const unsigned char *pg_bytes(const struct pg_result *result, int row, int column, size_t *len);
bool pg_is_null(const struct pg_result *result, int row, int column);

/* Reads a one-dimensional text[] into *out, whose array belongs to the arena.  Returns false where
 * there is no memory or the value is no such array. */
bool pg_texts(const struct pg_result *result, int row, int column, struct arena *arena,
              struct text_list *out);

#endif
