/* SPDX-License-Identifier: MIT */
/* A database of keys, for tests that judge sessions of many, or keys that are offered. */
#ifndef ADIT_TESTS_GATEWAY_FAKE_KEYS_H
#define ADIT_TESTS_GATEWAY_FAKE_KEYS_H

#include "gateway/gateway.h"

#define A "ac_000000000000000000000000001"
#define B "ac_000000000000000000000000002"
#define N_KEYS 100
#define REST_ID "sshcr_rest"
#define N_ACCOUNTS 2

/* What a key has, and how the database fares with it. */
struct fake_key {
    char account_id[IDENT_SIZE];
    char fingerprint[PUBLIC_KEY_FINGERPRINT_SIZE];
    char credential_id[32];
    char digest[SSH_SESSION_DIGEST_SIZE];
    const char *owner_id;
    const char *seen_owner_id; /* of most, as a glance tells; NULL: the same */
    size_t n;                  /* its credentials */
    bool is_over;              /* they have too many rules */
    bool is_late;              /* a statement that names it is not answered */
    bool own_is_late;          /* none that names its credentials is */
    bool whole_is_late;        /* none that names all of them is */
    size_t n_rules;            /* of each, all the same */
    const char *rule;          /* as far as they are read; NULL: not even the first */
    const char *own;           /* of those that are named; NULL: the same */
    const char *rest;          /* of others, when the owner is left out; NULL: there are none */
    bool rest_is_hidden;       /* no glance tells of the rest */
    bool rest_is_much;         /* for a look-up of fewer rules than may be */
    const char *rest_owner_id; /* who has so much of it, and can be left out, too; NULL: nobody */
    int n_look_ups;            /* of all that it has */
};

extern struct fake_key fake_keys[N_KEYS];

/* What it does, and what it was asked. */
struct fake_database {
    bool table_is_late; /* no statement for keys is answered */
    bool feed_is_late;  /* polls are not */
    bool lock_is_held;  /* nor here, until it is asked for nobody's key */
    bool takes_a_turn;  /* each statement for keys does, by the steady clock */
    int n_polls;
    const char *snapshot;
    bool is_complete;
    struct fake_key *named; /* by the next poll */
    int n_glances;
};

extern struct fake_database fake_database;

/* Gives each key a credential, and the gateway this database.  The steady clock stands, but for
 * what statements take: no test depends on how busy the machine is. */
void fake_keys_start(struct gateway *gateway);

/* Lets that time pass. */
void fake_clock_go(int64_t ms);

/* Adds a session of a key.  It has a process if it is to end; at most 8 have one. */
struct ssh_session *fake_keys_add_session(struct gateway *gateway, size_t i, bool ends);

/* Frees what the gateway has, ends the processes and lets the clock go. */
void fake_keys_stop(struct gateway *gateway);

/* Puts a key over a limit: that of credentials, or of rules. */
void fake_key_exceed(struct fake_key *key, bool has_many);

#endif
