/* SPDX-License-Identifier: MIT */
/* Keys that several logins ask about at once, glanced at in one statement: a stranger offers many
 * keys on many connections, and nobody is to wait for a round trip for each of them. */
#ifndef ADIT_GATEWAY_GLANCED_H
#define ADIT_GATEWAY_GLANCED_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "store/gateway.h"

/* Keys that one statement glances at. */
#define GLANCED_MAX 64

struct gateway;

/* All zero: none. */
struct glanced {
    struct gateway_key keys[GLANCED_MAX];
    size_t n;
    const struct gateway_glance *seen; /* of each key; NULL: nothing was read */
    uint64_t n_polls;                  /* that there had been then */
    size_t most;                       /* keys of the next statement: fewer after one that was late;
                                        * 0: GLANCED_MAX */
    struct arena arena;                /* holds all of it */
};

/* Adds a key, as far as there is room.  Not if gateway->by_account is set: a statement
 * is for one account, and one that is late is the fault of its place. */
void glanced_add(struct gateway *gateway, const struct gateway_key *key);

/* Glances at the keys, if there are any. */
void glanced_read(struct gateway *gateway);

/* Returns what was seen of a key, or NULL if nobody knows.  What somebody has counts until the next
 * poll only: that may have read a change which was not seen. */
const struct gateway_glance *glanced_find(const struct gateway *gateway,
                                          const struct gateway_key *key);

/* Returns whether there was a poll since. */
bool glanced_is_old(const struct gateway *gateway);

void glanced_forget(struct gateway *gateway);

#endif
