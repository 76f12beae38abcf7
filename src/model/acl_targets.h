/* SPDX-License-Identifier: MIT */
/* The targets of a list of rules, sorted, so that one is found without a look at all. */
#ifndef ADIT_MODEL_ACL_TARGETS_H
#define ADIT_MODEL_ACL_TARGETS_H

#include "model/acl.h"

/* Domains and addresses in the order of acl_target_order(); IPv6 addresses with equal values in the
 * order of their texts.  The owner calls acl_targets_free(). */
struct acl_targets {
    struct acl_target *items;
    size_t n;
};

/* Reads what the rules name, with repetitions.  Labels, malformed rules and rules for everything
 * are left out.  The texts stay the rules'.  Returns false if memory runs out. */
MUST_CHECK bool acl_targets_read(struct text_list rules, struct acl_targets *out);

/* Removes the wildcards that another wildcard covers. */
void acl_targets_narrow(struct acl_targets *targets);

/* Returns whether one of the targets is the same as the target. */
MUST_CHECK bool acl_targets_have(const struct acl_targets *targets,
                                 const struct acl_target *target);

/* Returns whether a rule with one of the targets permits the target.  acl_targets_narrow() was
 * called before. */
MUST_CHECK bool acl_targets_permit(const struct acl_targets *targets,
                                   const struct acl_target *asked);

void acl_targets_free(struct acl_targets *targets);

#endif
