/* SPDX-License-Identifier: MIT */
/* The table of accounts whose node did not answer. */
#include "store/late.h"

#include <stdio.h>
#include <string.h>

/* An account is served again within a second after its node is back: this, and one statement. */
#define REFUSE_MS 500

/* FNV-1a. */
static size_t place_of_account(const char *account_id)
{
    uint32_t hash = UINT32_C(2166136261);

    for (; *account_id; account_id++)
        hash = (hash ^ (unsigned char)*account_id) * UINT32_C(16777619);
    return hash % LATE_N_PLACES;
}

void late_note(struct late_accounts *late, const char *account_id, int64_t now_ms)
{
    size_t i = place_of_account(account_id);

    snprintf(late->places[i].account_id, sizeof late->places[i].account_id, "%s", account_id);
    late->places[i].until_ms = now_ms + REFUSE_MS;
}

bool late_refuses(const struct late_accounts *late, const char *account_id, int64_t now_ms)
{
    size_t i = place_of_account(account_id);

    return now_ms < late->places[i].until_ms && strcmp(late->places[i].account_id, account_id) == 0;
}
