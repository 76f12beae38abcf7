/* SPDX-License-Identifier: MIT */
/* Keys, and what was found about them: whoever offers one again and again, with or without its
 * private half, has its rules read once.  Those that have much have a table of their own. */
#ifndef ADIT_GATEWAY_HEAVY_KEYS_H
#define ADIT_GATEWAY_HEAVY_KEYS_H

#include "gateway/grant.h"
#include "gateway/session.h"

/* Reading one takes the daemon as long as a hundred others, so whoever has some hundred must not
 * push out what is known of them. */
#define HEAVY_KEYS_MAX 1024

/* So many grants of keys that have much are kept, each of up to 4096 rules. */
#define HEAVY_GRANTS_MAX 64

/* A key with fewer credentials and rules together has little. */
#define HEAVY_KEY_LEAST 100

struct heavy_key {
    char account_id[IDENT_SIZE]; /* "": the only one */
    char fingerprint[PUBLIC_KEY_FINGERPRINT_SIZE];
    char digest[SESSION_DIGEST_SIZE]; /* of the glance that what follows holds for; "": of none */
    char payer_id[IDENT_SIZE];        /* for whom reading it counts; "": not known */
    const char *why;                  /* why it is refused, static; NULL: it is granted this: */
    struct judge_grant grant;         /* without its rules */
    struct arena arena;               /* holds the grant */
    int64_t
        late_until_ms; /* no statement is made for it before (steady clock); 0: it was in time */
    uint64_t used;
};

/* All zero: none. */
struct heavy_keys {
    struct heavy_key items[HEAVY_KEYS_MAX];
    uint64_t n_used;
};

/* Returns what is known of a key, or NULL. */
struct heavy_key *heavy_keys_find(struct heavy_keys *keys, const struct gateway_key *key);

/* Returns what is known of a key after it was read: with the digest of a glance before that, or
 * "", and nothing else.  It takes the place of the one that was not used for the longest time. */
struct heavy_key *heavy_keys_renew(struct heavy_keys *keys, const struct gateway_key *key,
                                   struct text digest);

/* Keeps a copy of the grant; of `most` that are kept, the one that was not used for the longest
 * time goes for it.  Returns false, and knows nothing of the key any more, if memory runs out. */
bool heavy_key_grant(struct heavy_keys *keys, size_t most, struct heavy_key *known,
                     const struct judge_grant *grant);

void heavy_key_forget(struct heavy_key *known);

void heavy_keys_free(struct heavy_keys *keys);

#endif
