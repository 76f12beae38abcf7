/* SPDX-License-Identifier: MIT */
/* The list of API keys, for the verbs that show it. */
#ifndef ADIT_CTL_KEYS_H
#define ADIT_CTL_KEYS_H

#include "ctl/listing.h"

/* Prints the API keys of a User or Bot, or all if holder is absent, after the facts about it; NULL:
 * there are none.  Returns CTL_OK, or the exit status after a message. */
int ctl_print_keys(const struct ctl *ctl, struct text holder, const struct listing_fact *facts,
                   int n_facts);

#endif
