/* SPDX-License-Identifier: MIT */
/* The driver for PostgreSQL: runs prepared statements over libpq, reconnects by itself, and puts a
 * deadline on every wait.  README.md in this folder describes it. */
#ifndef ADIT_PG_PG_H
#define ADIT_PG_PG_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/metrics.h"
#include "base/must_check.h"
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

/* A prepared statement.  Constant; its address stays the same.
 *
 * Or an ad hoc statement, whose text was made for one request, and which only reads.  It may be
 * anywhere and is needed during pg_run() alone.  It is sent without a name and planned for its
 * values, and the server ends it after ad_hoc_ms. */
struct pg_statement {
    const char *name; /* unique within the program */
    const char *sql;
    const char *by_account;  /* instead, where each account has a place of its own; NULL: the same,
                              * or as the placement has it */
    const char *types;       /* of the columns that it returns, in their order */
    bool writes;             /* names the operator; not sent again once its answer is lost */
    bool is_repeatable;      /* a write that is: run twice, it does no more than once */
    bool is_short;           /* reads rows by a key: may run on the shared session */
    int ad_hoc_ms;           /* 0: it is not ad hoc */
    enum error_code on_slow; /* the error of an ad hoc statement that took longer */
    const char *unique; /* a constraint or unique index that a client may violate; NULL: none */
    enum error_code on_unique;     /* the error for that */
    const struct pg_limit *limits; /* conditions that triggers check, and a client may violate; or
                                    * NULL.  Any other violation is a bug. */
};

/* A condition, and the error of a client that violates it.  The list ends with a name of NULL. */
struct pg_limit {
    const char *name;
    enum error_code code;
};

/* A filter has up to 65 literals (filter/filter.h). */
#define PG_MAX_PARAMS 80

/* Parameters in their order.  All zero: none.  Text and bytes are not copied: the caller keeps them
 * until the statement has run. */
struct pg_params {
    const char *values[PG_MAX_PARAMS];
    int lengths[PG_MAX_PARAMS];
    int formats[PG_MAX_PARAMS]; /* 0: text, 1: binary */
    char digits[PG_MAX_PARAMS][24];
    int n;
    bool has_place; /* pg_add_place() */
    bool failed;    /* memory was short, or there were more than PG_MAX_PARAMS */
};

/* Append a parameter.  An absent value is NULL in SQL.  A failure is kept in params->failed. */
void pg_add_text(struct pg_params *params, struct text value);
void pg_add_bytes(struct pg_params *params, const void *bytes, size_t len);
void pg_add_bool(struct pg_params *params, bool value);
void pg_add_int(struct pg_params *params, int64_t value);
void pg_add_time(struct pg_params *params, int64_t us); /* microseconds since 1970 */
/* Appends the account, behind all others: the statement needs it only where each account has a
 * place of its own, and it is left out elsewhere. */
void pg_add_place(struct pg_params *params, struct text account_id);
void pg_add_null(struct pg_params *params);

/* Appends a text[]; NULL where the list is absent.  Its bytes are allocated in the arena. */
void pg_add_texts(struct pg_params *params, struct text_list list, struct arena *arena);

/* Appends a bigint[] of n numbers; NULL unless given.  Its bytes are allocated in the arena. */
void pg_add_ints(struct pg_params *params, const int64_t *numbers, size_t n, bool given,
                 struct arena *arena);

/* Returns a driver that has not connected yet, or NULL where memory is short.  The conninfo is
 * libpq's; options that it does not set get defaults with finite timeouts.  The conninfo and
 * wait->context must outlive the driver. */
MUST_CHECK struct pg *pg_new(const char *conninfo, const struct wait *wait);

/* Later writes name this operator in the setting adit.operator, and so do transactions that a
 * script begins.  Reads too run in transactions then, all with PostgreSQL's own names alone in the
 * search path.  No statement is ad hoc.  The name, in UTF-8, must outlive the driver. */
void pg_name_operator(struct pg *pg, const char *name);

/* Has the driver refuse no statement because one before it was late: the owner decides what is
 * asked after that. */
void pg_refuse_nothing(struct pg *pg);

/* Returns whether each account has a place of its own, as the placement says (pg/placement.h): a
 * statement is for one account, and names it.  The driver then runs each read on its own session,
 * and does not refuse statements because one before them was late: that one may have waited for
 * another place. */
bool pg_is_by_account(const struct pg *pg);

/* Begins a statement for an account; "": for all, or for one that nobody knows.  May ask the
 * database for the account's place first.  pg_turn_end() ends it.  Returns false with
 * ERR_DATABASE_TIMEOUT if the place does not answer.  Where all rows are in one database, it
 * returns true. */
MUST_CHECK bool pg_turn_to(struct pg *pg, const char *account_id, struct error *err);

/* Returns how many statements the place of the one that was begun has left without an answer, one
 * after the other. */
MUST_CHECK unsigned pg_turn_silent(const struct pg *pg);

/* Ends it, if one was begun.  ok: it did not fail; err: how it failed. */
void pg_turn_end(struct pg *pg, bool ok, const struct error *err);

/* Has the driver call goes_on(context) each time that a statement has waited for another 250 ms for
 * an answer: one place that does not answer must not keep all lanes.  If it returns false, the
 * statement fails like one that met its deadline, and a read is not sent again. */
void pg_ask_patience(struct pg *pg, bool (*goes_on)(void *context), void *context);

struct pg_outage;

/* Has requests wait while the database is away for a moment, as it says itself (pg/outage.h).  All
 * drivers of a thread share *outage, which must outlive them.  Without this call, or with NULL, a
 * statement fails at once if there is no session for it. */
void pg_share_outage(struct pg *pg, struct pg_outage *outage);

struct pg_pipeline;

/* Runs short reads on the pipeline's shared session while that works.  The pipeline must outlive
 * the driver. */
void pg_use_pipeline(struct pg *pg, struct pg_pipeline *pipeline);

/* Counts waits, failures and sessions in *counts, which must outlive the driver. */
void pg_count_in(struct pg *pg, struct metrics_slot *counts);

/* Closes the driver's own session and frees the driver.  NULL is fine. */
void pg_free(struct pg *pg);

/* Returns whether libpq can parse the conninfo, and no part of a password is where the messages at
 * connecting would quote it: in its port, host or database. */
MUST_CHECK bool pg_conninfo_valid(const char *conninfo);

/* Returns whether a valid conninfo holds a password: of the role, or of the client's key. */
MUST_CHECK bool pg_conninfo_has_password(const char *conninfo);

/* Returns a valid conninfo as it is or, if it holds a password, as a URI without that.  The caller
 * frees it.  Returns NULL if memory runs out. */
MUST_CHECK char *pg_conninfo_without_password(const char *conninfo);

/* Writes what is wrong with an invalid conninfo.  The text holds no part of a password. */
void pg_conninfo_reason(const char *conninfo, char *reason, size_t size);

/* Calls seen() with each file that libpq may read when it connects: files that the conninfo, its
 * service and the environment name, and existing files in the home folder.  The path is valid
 * during the call. */
typedef void pg_file_seen(void *context, const char *path);
void pg_see_files(const char *conninfo, pg_file_seen *seen, void *context);

/* Sets how long later requests, and statements without a request, may take, in milliseconds,
 * instead of 4 s.  It also bounds connecting. */
void pg_set_timeout(struct pg *pg, int timeout_ms);

/* Starts a request: all statements until the next call share one deadline of 4 s.  Without a
 * request, each statement has its own.  No write is sent once peer_gone(peer) returns true.
 * NULL: the peer is always there. */
void pg_start_request(struct pg *pg, bool (*peer_gone)(void *peer), void *peer);

/* Tells callers of requests apart, by a number; 0 until it is called.  A write that waits too long
 * for a lock has later ones of its caller refused, see pg/shed.h. */
void pg_tell_caller(struct pg *pg, uint32_t caller);

/* Runs a statement.  Connects and prepares as needed, and runs the statement again after a passing
 * failure that had no effect; a read and a repeatable write also after a loss.  Returns true and
 * sets *result, which the caller frees with pg_result_free().  Or returns false with *err:
 *   - the statement's on_unique, on_slow or that of a limit
 *   - ERR_DATABASE_UNAVAILABLE, ERR_DATABASE_READ_ONLY, ERR_DATABASE_TIMEOUT, ERR_OUT_OF_MEMORY
 *   - ERR_SCHEMA_MISMATCH: the schema is another, or the columns are not those declared
 *   - ERR_OUTCOME_UNKNOWN: a write was sent, and nobody knows whether it took effect
 *   - ERR_CLIENT_GONE: a write was not sent, because its peer is gone
 *   - ERR_INTERNAL: a bug
 * Waits at most 4 s in all.  Connecting to a host takes at most connect_timeout, or 2 s.  After a
 * write that timed out, or lost its connection, it waits up to 0.7 s more to end that session, so
 * that the write cannot take effect later.  After a read that timed out, the next statement does
 * that in its own time. */
MUST_CHECK bool pg_run(struct pg *pg, const struct pg_statement *statement,
                       const struct pg_params *params, struct pg_result **result,
                       struct error *err);

/* Estimates the database's clock, in milliseconds since 1970.  A session reads that clock when it
 * is set up, and the steady clock tells the time since.  Connects where no session was set up yet;
 * otherwise it costs no round trip.  Returns false with *err as pg_run() does. */
MUST_CHECK bool pg_clock(struct pg *pg, int64_t *ms, struct error *err);

/* Corrects that estimate: the database's clock showed database_us (microseconds since 1970) while
 * the latest statement ran. */
void pg_note_time(struct pg *pg, int64_t database_us);

/* Returns how many own sessions the driver has opened.  While the number stays, the server neither
 * crashed nor failed over; a pooler may hide that. */
int64_t pg_n_opened(const struct pg *pg);

/* Runs SQL of one or more statements, without parameters, once, with a deadline of its own.
 * Returns false with *err as pg_run() does; a transaction that the SQL began may then be open. */
MUST_CHECK bool pg_script(struct pg *pg, const char *sql, int timeout_ms, struct error *err);

/* Begins a transaction of several statements: sql is "BEGIN ..." and may set limits with SET LOCAL.
 * Until pg_commit() or pg_rollback(), pg_run() and pg_script() send each statement once and on the
 * session of the transaction.  If that session is lost, or a statement has failed, every later one
 * fails too, and nothing takes effect.  Returns false with *err as pg_run() does; then there is no
 * transaction. */
MUST_CHECK bool pg_begin(struct pg *pg, const char *sql, struct error *err);

/* Commits it.  Returns false with *err; ERR_OUTCOME_UNKNOWN: nobody knows whether it took effect.
 * With any other code nothing has. */
MUST_CHECK bool pg_commit(struct pg *pg, struct error *err);

/* Commits it if all went well, else rolls it back and leaves *err.  Unless it is committed, frees
 * *result, if there is one (result may be NULL), and returns false. */
MUST_CHECK bool pg_end(struct pg *pg, bool ok, struct pg_result **result, struct error *err);

/* Ends the transaction, or one that a failed script may have left open.  Waits at most 1 s; where
 * that fails, the session is closed, which ends the transaction too. */
void pg_rollback(struct pg *pg);

/* Returns whether a write of this driver has taken effect: alone, or in a transaction that was
 * committed.  Does not know of scripts. */
bool pg_has_written(const struct pg *pg);

/* Frees a result.  NULL is fine. */
void pg_result_free(struct pg_result *result);

/* Returns the number of rows. */
int pg_rows(const struct pg_result *result);

/* Returns the bytes of memory that a result takes. */
size_t pg_result_bytes(const struct pg_result *result);

/* Return the value in a row and a column, from 0.  The result owns it.  NULL in SQL is an absent
 * text, false or 0.  The column must have that type; pg_text() returns the bytes of any. */
struct text pg_text(const struct pg_result *result, int row, int column);
bool pg_bool(const struct pg_result *result, int row, int column);
int64_t pg_int(const struct pg_result *result, int row, int column);
int64_t pg_time(const struct pg_result *result, int row, int column);    /* seconds since 1970 */
int64_t pg_time_us(const struct pg_result *result, int row, int column); /* microseconds */
/* Returns whether a value is NULL in SQL. */
bool pg_is_null(const struct pg_result *result, int row, int column);

/* Copies the bytes of a value, whatever its type, into the arena: *out outlives the result.  NULL
 * in SQL is an absent text.  Returns false where memory is short. */
MUST_CHECK bool pg_copy(const struct pg_result *result, int row, int column, struct arena *arena,
                        struct text *out);

/* Reads a one-dimensional text[] into *out, whose items are allocated in the arena.  Returns false
 * where memory is short or the value is no such array. */
MUST_CHECK bool pg_texts(const struct pg_result *result, int row, int column, struct arena *arena,
                         struct text_list *out);

#endif
