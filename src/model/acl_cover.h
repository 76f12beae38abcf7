/* SPDX-License-Identifier: MIT */
/* What a list of rules covers of other lists.  It is read once, and many lists are compared. */
#ifndef ADIT_MODEL_ACL_COVER_H
#define ADIT_MODEL_ACL_COVER_H

#include "model/acl_targets.h"

/* The owner calls acl_cover_free(). */
struct acl_cover {
    bool is_everything;
    struct acl_targets targets; /* narrowed */
};

/* Reads the list.  One without rules covers everything.  Returns false if memory runs out;
 * acl_cover_free() is due all the same. */
MUST_CHECK bool acl_cover_read(struct text_list rules, struct acl_cover *out);

/* Returns whether the list that was read permits the domains, addresses and wildcards that `before`
 * named.  Labels and malformed rules do not count.  If `before` permitted everything, the list has
 * to.  Returns false also if memory runs out. */
MUST_CHECK bool acl_cover_includes(const struct acl_cover *cover, struct text_list before);

void acl_cover_free(struct acl_cover *cover);

#endif
