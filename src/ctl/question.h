/* SPDX-License-Identifier: MIT */
/* Questions to the operator. */
#ifndef ADIT_CTL_QUESTION_H
#define ADIT_CTL_QUESTION_H

#include "ctl/ctl.h"

/* Returns whether there is a terminal to ask on: standard input and standard error are one. */
bool ctl_may_ask(void);

/* Asks on the terminal whether to go on, unless --yes was given.  Returns CTL_OK for yes, or the
 * exit status after a message: standard input or error is no terminal, or the answer was not "yes".
 */
MUST_CHECK int ctl_confirm(const struct ctl *ctl, const char *question);

#endif
