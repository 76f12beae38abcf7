/* SPDX-License-Identifier: MIT */
/* Texts that several may hold: the keys of a fleet mostly have one list of rules. */
#ifndef ADIT_GATEWAY_SHARED_H
#define ADIT_GATEWAY_SHARED_H

#include <stdint.h>

#include "base/must_check.h"
#include "base/text.h"

/* A text and up to two lists, in one piece of memory. */
struct shared {
    size_t n_holders;
    size_t bytes;  /* that it takes */
    uint64_t hash; /* of the text */
    struct text text;
    struct text_list lists[2];
    struct text items[]; /* of the lists; what they say is behind them */
};

/* Copies a text and two lists, for one holder.  Returns NULL if memory runs out. */
MUST_CHECK struct shared *shared_new(struct text text, struct text_list first,
                                     struct text_list second);

/* Returns whether it is a copy of these.  The hash is that of the text. */
bool shared_is(const struct shared *shared, uint64_t hash, struct text text, struct text_list first,
               struct text_list second);

/* Takes a holder away.  Frees it after the last one, and returns how many bytes that were. */
size_t shared_drop(struct shared *shared);

#endif
