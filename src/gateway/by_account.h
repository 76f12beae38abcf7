/* SPDX-License-Identifier: MIT */
/* Asks for one account after the other, where each has a place of its own: one place may be away
 * while others answer, and each has a feed of its own changes.  Otherwise gateway->by_account is
 * NULL, and asking.c and judge.c ask for all accounts at once. */
#ifndef ADIT_GATEWAY_BY_ACCOUNT_H
#define ADIT_GATEWAY_BY_ACCOUNT_H

#include "gateway/asking.h"

struct by_account {
    /* asking_about(), of keys of one account. */
    bool (*ask_about)(struct gateway *gateway, struct arena *arena, struct gateway_keys keys,
                      asking_statement *statement, void *out, const char **why);
    /* judge_changes(). */
    bool (*judge)(struct gateway *gateway);
};

extern const struct by_account by_account;

#endif
