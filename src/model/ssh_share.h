/* SPDX-License-Identifier: MIT */
/* Who is left out where the credentials of one key are too many.
 *
 * A public key is public, so several owners of an account may have credentials with the same one.
 * None of them must decide about the others.  So who is too much alone is left out; or else the
 * owner who came last, by the oldest credential, of those who take much, and the rest is judged.
 * Whoever comes later pushes nobody out who was there, and whoever was there with much pushes
 * nobody out who comes with little: see NEWCOMERS_SHARE. */
#ifndef ADIT_MODEL_SSH_SHARE_H
#define ADIT_MODEL_SSH_SHARE_H

#include <stdint.h>

#include "base/must_check.h"
#include "model/ssh_decision.h"

/* The first credential beyond a limit, whose rules were not read. */
struct ssh_beyond {
    struct text owner_id; /* absent: there is none */
    uint64_t n_rules;     /* its rules, and those of all that were read */
    uint64_t n_bytes;     /* of them */
    uint64_t most_rules;  /* the limit of rules; 0: SSH_GRANT_RULES_MAX */
};

enum ssh_share_outcome {
    SSH_SHARE_LEFT_OUT, /* one owner more is left out */
    SSH_SHARE_NOBODY,   /* as many as may be are left out, or there is only one owner */
    SSH_SHARE_NO_MEMORY
};

/* Sets *share to how much of a limit the grants of one owner take; 1: all.  Returns false if memory
 * runs out. */
typedef bool ssh_share_measure(void *context, struct arena *arena, struct ssh_grant *grants,
                               size_t n, double *share);

/* After the grants of a key, oldest first, were read up to a limit of model/ssh_decision.h: leaves
 * out one owner, by what was read and the one beyond.  The owner's id is copied into the arena. */
MUST_CHECK enum ssh_share_outcome ssh_share_read(const struct ssh_grant *grants, size_t n,
                                                 const struct ssh_beyond *beyond,
                                                 struct arena *arena,
                                                 struct ssh_left_out *left_out);

/* Sets *owner_id to the owner who takes most of a limit by what was read and the one beyond, if
 * there is one.  It is absent if there is nothing.  Returns false if memory runs out. */
MUST_CHECK bool ssh_share_most(const struct ssh_grant *grants, size_t n,
                               const struct ssh_beyond *beyond, struct arena *arena,
                               struct text *owner_id);

/* After the grants, oldest first, turned out to be too much together: leaves out one owner by that
 * measure.  Takes the owner's grants out of the list, whose order stays.  The owner's id is
 * copied into the arena. */
MUST_CHECK enum ssh_share_outcome ssh_share_fit(struct ssh_grant *grants, size_t *n,
                                                ssh_share_measure *measure, void *context,
                                                struct arena *arena, struct ssh_left_out *left_out);

#endif
