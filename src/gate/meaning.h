/* SPDX-License-Identifier: MIT */
/* What a provider's answer means: one table of provider, endpoint, status and shape. */
#ifndef ADIT_GATE_MEANING_H
#define ADIT_GATE_MEANING_H

#include "base/must_check.h"
#include "gate/fetch.h"
#include "gate/provider.h"
#include "json/tree.h"

/* Endpoints, as bits. */
enum meaning_endpoint {
    MEANING_TOKEN = 1,
    MEANING_USER = 2,
    MEANING_LIST = 4 /* addresses, organizations, teams */
};

/* Returns what an answer of a provider's endpoint means.  top: its JSON; all zero: it has none.
 * PROVIDER_ANSWERED: the answer is to be read.  *why: the reason for any other outcome, static. */
MUST_CHECK enum provider_outcome meaning_of(int provider, enum meaning_endpoint endpoint,
                                            const struct fetch_answer *answer,
                                            const struct json_node *top, const char **why);

/* Returns what a provider means that sends the visitor back with an error in place of a code (RFC
 * 6749, 4.1.2.1).  *why: the error's name if it is a known one: a name that anybody may have
 * written into the URL is not repeated. */
MUST_CHECK enum provider_outcome meaning_of_error(struct text error, const char **why);

#endif
