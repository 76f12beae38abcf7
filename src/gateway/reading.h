/* SPDX-License-Identifier: MIT */
/* How long the daemon may read the keys of one owner.
 *
 * It answers one question at a time, and whoever offers a key has proved nothing yet.  Reading a
 * key with many rules takes as long as a hundred others, so whoever stores many such keys, or
 * changes them all the time, must not keep the logins of others waiting. */
#ifndef ADIT_GATEWAY_READING_H
#define ADIT_GATEWAY_READING_H

#include <stdbool.h>
#include <stdint.h>

#include "base/ident.h"
#include "base/text.h"
#include "store/gateway.h"

/* A key with so many rules, or more than may be read, counts for the owner of most of them. */
#define READING_LEAST 1000

/* An owner has this much at once, and from then on a tenth of the time. */
#define READING_AT_ONCE_MS 1000
#define READING_SHARE 10

/* So many owners are remembered: those who have to wait longest. */
#define READING_OWNERS_MAX 64

/* All zero: nothing was read. */
struct readings {
    struct {
        char owner_id[IDENT_SIZE];
        int64_t paid_ms; /* when the time that was taken is made up for (steady clock) */
    } items[READING_OWNERS_MAX];
};

/* Copies an owner's id. */
void reading_name(char payer_id[IDENT_SIZE], struct text owner_id);

/* Names for whom the reading of a key counts: the owner of most, by what was read while nobody was
 * left out.  payer_id stays if there is none. */
void reading_find_payer(const struct gateway_credentials *found, struct arena *arena,
                        char payer_id[IDENT_SIZE]);

/* Returns whether keys may be read of which this owner has most.  If not, the owner is left out of
 * them. */
bool reading_is_due(const struct readings *readings, struct text owner_id, int64_t now_ms);

/* Notes that reading one took this long. */
void reading_note(struct readings *readings, struct text owner_id, int64_t took_ms, int64_t now_ms);

#endif
