/* SPDX-License-Identifier: MIT */
/* The command line: options and the argument after them. */
#ifndef ADIT_CTL_OPTIONS_H
#define ADIT_CTL_OPTIONS_H

#include "ctl/verbs.h"

/* Refuses an API key in any word of a command line: no command takes one, and messages and the
 * database would repeat it.  Returns CTL_OK, or CTL_USAGE after a message. */
MUST_CHECK int options_refuse_keys(char *const *words);

/* Reads the options of the verb or, for NULL, those before the verb into *options.  words[-1] must
 * exist, since getopt expects the name of the program there.  Ignores faults after --help and
 * --version.  Returns CTL_OK with *words after the words that it read, or CTL_USAGE after a
 * message. Values belong to the words. */
MUST_CHECK int options_read(struct ctl_options *options, const struct verb *verb, char ***words);

/* Reads the verb's argument, or two, from the remaining words.  Returns CTL_OK, or CTL_USAGE after
 * a message.
 */
MUST_CHECK int options_read_argument(struct ctl_options *options, const struct verb *verb,
                                     char *const *words);

#endif
