/* SPDX-License-Identifier: MIT */
/* What a gateway reads: the record of changes as a feed, the credentials of keys, and mutual TLS
 * modules.  The role adit_gateway may run all of this.
 *
 * Every function takes one round trip.  Results are allocated in the arena.  An account that is
 * absent or empty means the only one there is.  Every function returns false with *err as pg_run(),
 * or ERR_OUT_OF_MEMORY. */
#ifndef ADIT_STORE_GATEWAY_H
#define ADIT_STORE_GATEWAY_H

#include "base/arena.h"
#include "base/error.h"
#include "base/must_check.h"
#include "model/ssh_share.h"
#include "pg/pg.h"

/* A key that somebody shows, and the account that it is looked up in. */
struct gateway_key {
    struct text account_id;
    struct text fingerprint;
    struct text_list credential_ids; /* given: only these are looked up, the smallest first */
    struct ssh_left_out left_out;    /* without credential_ids: the owners whose are not */
    size_t most_rules;               /* that are read; 0: SSH_GRANT_RULES_MAX */
};

struct gateway_keys {
    const struct gateway_key *items;
    size_t n;
};

/* What a key has, at a glance. */
struct gateway_glance {
    size_t n;             /* its credentials, counted up to SSH_GRANTS_MAX + 1 */
    struct text digest;   /* of their identifiers and revisions: equal if they are the same */
    struct text owner_id; /* of most bytes of rules, as they are stored; absent: n is 0 */
    int n_accounts;       /* that the key's account_id names: 0, 1, or 2 for several */
};

/* Looks at each of the keys without reading a rule.  A key that names no account, or several, has
 * nothing.  Where each account has a place of its own, all name the same.  *out has keys.n items.
 */
MUST_CHECK bool store_gateway_glance(struct pg *pg, struct arena *arena, struct gateway_keys keys,
                                     struct gateway_glance **out, struct error *err);

struct gateway_credentials {
    struct ssh_grant *items; /* ordered by identifier: the oldest first */
    size_t n;
    struct text account_id; /* of all of them; absent without one */
    /* Of the whole key when they were read, as of a glance.  Absent without a credential, and if a
     * glance may not show a change of each of them. */
    struct text digest;
    bool is_over;             /* more than a limit of model/ssh_decision.h: the items are a part */
    struct ssh_beyond beyond; /* if so */
    int n_accounts;           /* that the key's account_id names: 0, 1, or 2 for several */
};

/* Reads all credentials of a key, or those up to the limits of a decision: the oldest one of each
 * owner, then the second of each, and so on.  None is no failure, and a key that names no account,
 * or several, has none.  A key that is over the limits costs no more than one that reaches them.
 * Credentials of owners who are left out do not count for the limits.
 * If the key has credential_ids, it names its account, and only these are read, as far as they are
 * still the key's: those with the fewest bytes of rules first, so that rules added to one push no
 * smaller one out. */
MUST_CHECK bool store_gateway_look_up(struct pg *pg, struct arena *arena,
                                      const struct gateway_key *key,
                                      struct gateway_credentials *out, struct error *err);

struct gateway_change {
    struct text event; /* such as "ssh_credential_updated" */
    struct text account_id;
    struct text resource; /* id, edge_id, or edge_id/route_id */
};

/* With more changes than this, judging all sessions costs less than finding those concerned. */
#define GATEWAY_CHANGES_MAX 256

struct gateway_changes {
    struct text snapshot; /* for the next call; callers do not look inside */
    bool complete;        /* false: read everything anew; there are no items then */
    struct gateway_change *items;
    size_t n; /* at most GATEWAY_CHANGES_MAX + 1: the last then stands for all that follow */
};

/* Reads the changes since a snapshot that *pg got, oldest first; absent: begins.  Each change that
 * commits comes once, whatever order commits have.  Not complete also on a new connection: a server
 * that crashed or failed over may use numbers of transactions again. */
MUST_CHECK bool store_gateway_changes(struct pg *pg, struct arena *arena, struct text snapshot,
                                      struct gateway_changes *out, struct error *err);

/* The same for one account, where each has a place of its own, and so have snapshots.  The
 * mark takes the place of the snapshot.  Not complete also if the account's rows were moved, and if
 * its server was started again. */
MUST_CHECK bool store_gateway_account_changes(struct pg *pg, struct arena *arena,
                                              struct text account_id, struct text mark,
                                              struct gateway_changes *out, struct error *err);

/* Returns whether the server that the driver is connected to answers. */
MUST_CHECK bool store_gateway_ping(struct pg *pg, struct error *err);

struct gateway_edge {
    struct text edge_id;
    int64_t revision; /* changes whenever the module does */
    bool enabled;
    struct text_list certificate_authority_ids;
};

struct gateway_edges {
    struct gateway_edge *items; /* ordered by edge_id */
    size_t n;
    int n_accounts; /* that the account_id names: 0, 1, or 2 for several */
};

/* Reads which of these edges have a mutual TLS module, and its revision, without the other members.
 * An edge without a module is left out.  Unless n_accounts is 1, nobody knows whether an edge has a
 * module. */
MUST_CHECK bool store_gateway_edge_revisions(struct pg *pg, struct arena *arena,
                                             struct text account_id, struct text_list edge_ids,
                                             struct gateway_edges *out, struct error *err);

/* The same with all members. */
MUST_CHECK bool store_gateway_mutual_tls(struct pg *pg, struct arena *arena, struct text account_id,
                                         struct text_list edge_ids, struct gateway_edges *out,
                                         struct error *err);

#endif
