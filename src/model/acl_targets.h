/* SPDX-License-Identifier: MIT */
/* The targets of a list of rules, sorted: one is found without a look at every rule. */
#ifndef ADIT_MODEL_ACL_TARGETS_H
#define ADIT_MODEL_ACL_TARGETS_H

#include "base/arena.h"
#include "model/acl.h"

/* A domain or an address.  Its name is in lower case; no NUL follows it. */
struct acl_sorted_target {
    struct text key; /* equal for equal targets: bytes, which are no text */
    struct acl_target target;
};

/* Sorted by their keys: domains, wildcards, addresses, and IPv6 addresses, which come by port,
 * value and name.  The owner calls acl_targets_free(). */
struct acl_targets {
    struct acl_sorted_target *items;
    size_t n;
    struct arena arena;
};

/* Reads what the rules name, with repetitions.  Leaves out labels, malformed rules and rules for
 * everything.  Returns false if memory runs out; acl_targets_free() is due all the same. */
MUST_CHECK bool acl_targets_read(struct text_list rules, struct acl_targets *out);

/* Removes repetitions, and wildcards that another wildcard covers. */
void acl_targets_narrow(struct acl_targets *targets);

/* Returns whether one of the targets is the domain, which is in lower case, without a wildcard. */
MUST_CHECK bool acl_targets_have_domain(const struct acl_targets *targets, struct text domain);

/* Returns whether a rule with one of the targets permits the other target.  acl_targets_narrow()
 * was called before. */
MUST_CHECK bool acl_targets_permit(const struct acl_targets *targets,
                                   const struct acl_sorted_target *asked);

void acl_targets_free(struct acl_targets *targets);

#endif
