/* SPDX-License-Identifier: MIT */
/* Shared by the files of aditctl: its options, and the function of each verb. */
#ifndef ADIT_CTL_CTL_H
#define ADIT_CTL_CTL_H

#include <stdio.h>

#include "base/must_check.h"
#include "conf/conf.h"
#include "ctl/message.h"
#include "pg/pg.h"
#include "store/oauth_secret.h"

/* The options of a command line, one member per row of verb_table.h.  NULL or false: absent. */
struct ctl_options {
#define TEXT_OPTION(letter, name, value, member, help) const char *member;
#define FLAG_OPTION(letter, name, member, help) bool member;
#include "ctl/verb_table.h"
    const char *argument; /* the word after the options, and the word after that */
    const char *second_argument;
};

struct progress_line;
struct schema_spread;

struct ctl {
    struct conf conf;
    struct pg *pg; /* with the verb's role; connects on first use */
    struct ctl_options options;
    struct progress_line *line; /* ctl/progress.h */
    bool lost_output;           /* ctl_flush() has failed, and said so */
};

/* Tells a driver where the rows are, as the settings say. */
void ctl_place(struct pg *pg, const struct conf *conf);

/* Returns how migrations run where accounts are spread. */
const struct schema_spread *ctl_spread(void);

/* Fails a verb that does not work where each account has a place of its own; instead says what
 * does.  Returns CTL_OK elsewhere. */
int ctl_refuse_by_account(const struct ctl *ctl, const char *verb, const char *instead);

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

/* The verbs.  Each returns the exit status, and prints a message if that is not CTL_OK. */
#define VERB(words, handler, options, argument, role, summary) int handler(struct ctl *ctl);
#include "ctl/verb_table.h"

#endif
