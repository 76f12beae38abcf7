/* SPDX-License-Identifier: MIT */
/* ACL rules: their grammar, and which targets a list of them permits. */
#ifndef ADIT_MODEL_ACL_H
#define ADIT_MODEL_ACL_H

#include "base/arena.h"
#include "model/acl_target.h"

/* Returns whether the text is a rule: "*", or "bind:" and a target; "bind:*" means every target.
 * Returns false with the reason in *why, as the words after a colon; static. */
MUST_CHECK bool acl_rule_valid(struct text rule, const char **why);

/* Reads what a rule names.  Returns false as acl_rule_valid() does, with a reason that is less
 * exact. */
MUST_CHECK bool acl_rule_read(struct text rule, struct acl_target *target, const char **why);

/* Returns whether the rules permit binding the target: a domain ("a.example"), an address
 * ("a.example:22", "[::1]:22") or a label ("key=value").  A list without rules permits everything,
 * and so do "*" and "bind:*".  Nothing else permits a malformed target.
 *   - Domains and hosts are compared without case, labels byte by byte.
 *   - "bind:*.s" permits the name "*.s" and names with one or more labels before ".s", but not "s".
 *   - Addresses are compared by host and port, IPv6 hosts by value. */
MUST_CHECK bool acl_permits(struct text_list rules, struct text target);

/* Does the same.  *rule is the first rule that permits the target.  It is absent if the list has no
 * rules, and if no rule permits the target. */
MUST_CHECK bool acl_permitting(struct text_list rules, struct text target, struct text *rule);

/* Returns whether the list has no rules, or one for everything. */
MUST_CHECK bool acl_permits_everything(struct text_list rules);

/* Unites n lists, at least one.  Each grants on its own, so one without rules grants everything.
 * *out has the distinct rules in the order of their first place, or the one rule "*" if they permit
 * everything.  Malformed and absent rules stay, so that *out always has rules.  The texts stay the
 * callers'; the items are in the arena.  Returns false if memory runs out. */
MUST_CHECK bool acl_unite(const struct text_list *lists, size_t n, struct arena *arena,
                          struct text_list *out);

#endif
