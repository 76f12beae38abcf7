/* SPDX-License-Identifier: MIT */
/* What a bind rule names: a domain, an address or a label. */
#ifndef ADIT_MODEL_ACL_TARGET_H
#define ADIT_MODEL_ACL_TARGET_H

#include <stdbool.h>

#include "base/must_check.h"
#include "base/text.h"
#include "model/domain.h"

/* The kinds of targets.  Only a rule names everything. */
enum acl_kind { ACL_EVERYTHING, ACL_DOMAIN, ACL_ADDRESS, ACL_LABEL };

/* A target.  Its texts are parts of the text that was read: no NUL follows them. */
struct acl_target {
    enum acl_kind kind;
    bool any_below;      /* domain: "*." is in front of name */
    bool is_ipv6;        /* address: name is an IPv6 address, and ipv6 its value */
    unsigned short port; /* address */
    struct text name;    /* domain without "*.", host without brackets, key */
    struct text value;   /* label */
    unsigned char ipv6[IPV6_SIZE];
};

/* Reads a target.  A text with '=' is a label, one that ends in ":<port>" an address, any other a
 * domain.  Returns false with the reason in *why, as the words after a colon; static. */
MUST_CHECK bool acl_target_read(struct text text, struct acl_target *target, const char **why);

/* Returns whether a rule that names the first target permits the second. */
MUST_CHECK bool acl_target_permits(const struct acl_target *rule, const struct acl_target *asked);

#endif
