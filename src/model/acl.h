/* SPDX-License-Identifier: MIT */
/* ACL rules: their grammar, and what a list of them permits. */
#ifndef ADIT_MODEL_ACL_H
#define ADIT_MODEL_ACL_H

#include <stdbool.h>

#include "base/must_check.h"
#include "base/text.h"

/* What a rule's target, or an action to be judged, names. */
enum acl_kind { ACL_DOMAIN, ACL_ADDRESS, ACL_LABEL };

/* Returns whether the text is a rule: "*", or "bind:" and a target, which is a label if it contains
 * '=', else an address if it ends in ":<port>", else a domain; "bind:*" means every target.  If
 * not, *why says what is wrong, as what may follow a colon, and what a rule looks like; it is
 * static. */
MUST_CHECK bool acl_rule_valid(struct text rule, const char **why);

/* Returns whether the rules permit to bind the target, which is a domain ("a.example"), an address
 * ("a.example:22", "[::1]:22") or a label ("key=value"), told apart as in rules.  A list without
 * rules permits everything, as do "*" and "bind:*".  Domains and hosts are compared without case,
 * labels byte by byte; "bind:*.s" permits any name with one or more labels before ".s", also the
 * name "*.s" itself, but not "s".  Addresses are compared by host and port; IPv6 hosts by value.
 * A target that is malformed is permitted by nothing but those that permit everything. */
MUST_CHECK bool acl_permits(struct text_list rules, struct text target);

#endif
