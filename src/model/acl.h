/* SPDX-License-Identifier: MIT */
/* ACL rules: their grammar, and which targets a list of them permits. */
#ifndef ADIT_MODEL_ACL_H
#define ADIT_MODEL_ACL_H

#include <stdbool.h>

#include "base/must_check.h"
#include "base/text.h"

/* The kinds of targets. */
enum acl_kind { ACL_DOMAIN, ACL_ADDRESS, ACL_LABEL };

/* Returns whether the text is a rule: "*", or "bind:" and a target.  A target with '=' is a label,
 * one that ends in ":<port>" an address, any other a domain; "bind:*" means every target.  Returns
 * false with the reason and the forms of a rule in *why, as the words after a colon; static. */
MUST_CHECK bool acl_rule_valid(struct text rule, const char **why);

/* Returns whether the rules permit binding the target: a domain ("a.example"), an address
 * ("a.example:22", "[::1]:22") or a label ("key=value").  A list without rules permits everything,
 * and so do "*" and "bind:*".  Nothing else permits a malformed target.
 *   - Domains and hosts are compared without case, labels byte by byte.
 *   - "bind:*.s" permits the name "*.s" and names with one or more labels before ".s", but not "s".
 *   - Addresses are compared by host and port, IPv6 hosts by value. */
MUST_CHECK bool acl_permits(struct text_list rules, struct text target);

#endif
