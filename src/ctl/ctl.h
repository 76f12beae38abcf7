/* SPDX-License-Identifier: MIT */
/* Shared by the files of aditctl: options, messages, lists, and the function of each verb. */
#ifndef ADIT_CTL_CTL_H
#define ADIT_CTL_CTL_H

#include "base/must_check.h"
#include "conf/conf.h"
#include "pg/pg.h"
#include "store/oauth_secret.h"

/* Exit statuses.  A verb that answers yes or no exits with CTL_NO for no.  Where it cannot tell, it
 * exits with CTL_CANNOT_TELL instead of CTL_FAILED. */
enum { CTL_OK = 0, CTL_FAILED = 1, CTL_NO = 1, CTL_USAGE = 2, CTL_CANNOT_TELL = 3 };

/* The options of a command line, one member per row of verb_table.h.  NULL or false: absent. */
struct ctl_options {
#define TEXT_OPTION(letter, name, value, member, help) const char *member;
#define FLAG_OPTION(letter, name, member, help) bool member;
#include "ctl/verb_table.h"
    const char *argument; /* the word after the options, and the word after that */
    const char *second_argument;
};

struct progress_line;

struct ctl {
    struct conf conf;
    struct pg *pg; /* with the verb's role; connects on first use */
    struct ctl_options options;
    struct progress_line *line; /* ctl/progress.h */
    bool lost_output;           /* ctl_flush() has failed, and said so */
};

/* Print "aditctl: ..." and a newline on standard error, as plain_put_message() shows it.  Return
 * nothing, CTL_FAILED and CTL_USAGE. */
void ctl_note(const char *format, ...) __attribute__((format(printf, 1, 2)));
int ctl_fail(const char *format, ...) __attribute__((format(printf, 1, 2)));
int ctl_misuse(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Prints the error and, if known, what to do about it.  Returns CTL_FAILED. */
int ctl_fail_error(const struct error *err);

/* Returns the cause of the error, or without a cause the text of its code, as one line: libpq's
 * messages have several.  The text is static and changes with the next call. */
const char *ctl_reason(const struct error *err);

/* Returns whether the value of --OPTION is UTF-8 of at most 255 bytes, without control characters
 * and with one that shows.  Prints a message if not.  NULL is valid. */
MUST_CHECK bool ctl_text_valid(const char *option, const char *value);

/* Reads the value of --OPTION, a whole number and a unit such as 90d, into *seconds: 1 second to
 * 3660 days.  Returns false after a message if it is invalid. */
MUST_CHECK bool ctl_read_duration(const char *option, const char *value, int64_t *seconds);

/* Reads the value of --OPTION, a time in the past, into *us, in microseconds since 1970: RFC 3339,
 * a day or a day and a time in UTC, or how long ago, such as 2h.  Returns false after a message if
 * it is invalid. */
MUST_CHECK bool ctl_read_time(const char *option, const char *value, int64_t *us);

/* Opens a file to read, without waiting for the writer of a FIFO: one without a writer is empty.
 * Returns the descriptor, which the caller closes, or -1 with errno. */
MUST_CHECK int ctl_open_file(const char *path);

/* Returns whether there is a terminal to ask on: standard input and standard error are one. */
bool ctl_may_ask(void);

/* Asks on the terminal whether to go on, unless --yes was given.  Returns CTL_OK for yes, or the
 * exit status after a message: standard input or error is no terminal, or the answer was not "yes".
 */
MUST_CHECK int ctl_confirm(const struct ctl *ctl, const char *question);

/* Returns whether a transaction failed because another session was quicker: it changed the same
 * rows, or created or deleted what these refer to.  Nothing has taken effect. */
bool ctl_is_beaten(const struct error *err);

/* Sets *err as if another session had been quicker.  Returns false. */
bool ctl_set_beaten(struct error *err);

/* Returns whether to run such a transaction again, of which n_tries have failed.  Counts this one,
 * and waits: 50 ms after the first, then twice as long each time.  The fifth is the last.  err is
 * NULL if no statement failed, but a row was not as expected. */
MUST_CHECK bool ctl_try_again(const struct error *err, int *n_tries);

/* Writes to standard output what was printed so far, before a change.  Returns CTL_OK, or
 * CTL_FAILED after a message that nothing was changed. */
MUST_CHECK int ctl_flush(struct ctl *ctl);

/* Does ctl_flush() and commits the transaction, or rolls it back.  Returns CTL_OK, or CTL_FAILED
 * after a message. */
MUST_CHECK int ctl_commit(struct ctl *ctl);

/* Calls lost with a line of text for each key that seals secrets but is missing from the keyring. A
 * NULL keyring has no keys.  lost must not keep the line.  Returns how many of the counted secrets
 * are sealed under keys of the keyring. */
int64_t ctl_lost_keys(const struct ctl *ctl, const struct oauth_secret_counts *counts,
                      const struct keyring *keyring, void (*lost)(void *context, const char *what),
                      void *context);

/* Room for the reason of ctl_ask_gateway(). */
#define CTL_ASK_REASON_SIZE 512

enum ctl_answer { CTL_NO_ANSWER, CTL_ANSWER_OK, CTL_ANSWER_NONE };

/* Asks the adit-gateway of this machine (see ask/ask.h): the lines, up to the first NULL.  Appends
 * its answer to *answer, which the caller frees.  After CTL_ANSWER_OK, *rest has the lines after
 * the first.  Returns CTL_NO_ANSWER with the reason also if the daemon refuses to answer. */
MUST_CHECK enum ctl_answer ctl_ask_gateway(const struct ctl *ctl, const char *const *lines,
                                           struct buf *answer, struct text *rest,
                                           char reason[CTL_ASK_REASON_SIZE]);

/* Returns the ending of a noun after a number: "" for 1, else "s". */
const char *ctl_plural(int64_t n);

/* Returns the name of the system user that the process runs as, or its number; static. */
const char *ctl_user_name(void);

/* The verbs.  Each returns the exit status, and prints a message if that is not CTL_OK. */
#define VERB(words, handler, options, argument, role, summary) int handler(struct ctl *ctl);
#include "ctl/verb_table.h"

#endif
