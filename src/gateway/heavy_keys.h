/* SPDX-License-Identifier: MIT */
/* Keys, and what was found about them: whoever offers one again and again, with or without its
 * private half, has its rules read once.  Those that have much have a table of their own. */
#ifndef ADIT_GATEWAY_HEAVY_KEYS_H
#define ADIT_GATEWAY_HEAVY_KEYS_H

#include "gateway/grant.h"
#include "gateway/shared.h"
#include "gateway/ssh_session.h"

/* Reading one takes the daemon as long as a hundred others, so whoever has some thousand must not
 * push out what is known of them. */
#define HEAVY_KEYS_MAX 4096

/* What is kept of those that may log in takes so many bytes at most, and one grant more while it is
 * noted: of 1000 different lists of 1000 rules.  Keys with equal rules keep them once, as a fleet
 * does. */
#define HEAVY_KEYS_BYTES_MAX ((size_t)128 * 1024 * 1024)

/* A key with fewer credentials and rules together has little. */
#define HEAVY_KEY_LEAST 100

struct heavy_key {
    char account_id[IDENT_SIZE]; /* "": the only one */
    char fingerprint[PUBLIC_KEY_FINGERPRINT_SIZE];
    char digest[SSH_SESSION_DIGEST_SIZE]; /* of the glance that what follows holds for; "": of none
                                           */
    char payer_id[IDENT_SIZE];            /* for whom reading it counts; "": not known */
    const char *why;                      /* why it is refused, static; NULL: it is granted this: */
    struct shared *ids;                   /* of the account, its credentials and their owners */
    struct shared *rules;                 /* what sshd is told; other keys may hold it, too */
    int64_t
        late_until_ms; /* no statement is made for it before (steady clock); 0: it was in time */
    uint64_t used;
};

/* All zero: none. */
struct heavy_keys {
    struct heavy_key items[HEAVY_KEYS_MAX];
    uint64_t n_used;
    size_t bytes; /* of what is kept */
};

/* Returns what is known of a key, or NULL. */
struct heavy_key *heavy_keys_find(struct heavy_keys *keys, const struct gateway_key *key);

/* Returns what is known of a key after it was read: with the digest of a glance before that, or
 * "", and nothing else.  If there are as many as may be, it takes the place of one of the owner
 * whose keys take most: of the one that was not used for the longest time. */
struct heavy_key *heavy_keys_renew(struct heavy_keys *keys, const struct gateway_key *key,
                                   struct text digest);

/* Keeps a copy of the grant.  If there is no room, others go for it as above.  Returns false, and
 * knows nothing of the key any more, if memory runs out. */
bool heavy_key_grant(struct heavy_keys *keys, struct heavy_key *known,
                     const struct judge_grant *grant);

/* Returns the grant of a key that has one, without `rules`. */
struct judge_grant heavy_key_granted(const struct heavy_key *known);

void heavy_key_forget(struct heavy_keys *keys, struct heavy_key *known);

void heavy_keys_free(struct heavy_keys *keys);

#endif
