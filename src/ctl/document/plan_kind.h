/* SPDX-License-Identifier: MIT */
/* Comparing the items of one kind in an account with their rows, in steps. */
#ifndef ADIT_CTL_DOCUMENT_PLAN_KIND_H
#define ADIT_CTL_DOCUMENT_PLAN_KIND_H

#include "ctl/document/plan_change.h"
#include "ctl/document/plan_match.h"

/* Compares the items of looking->kind with their rows, and adds the changes.  The caller fills in
 * all members but the last two.  Returns false after a message. */
MUST_CHECK bool plan_kind(struct plan_looking *looking);

/* Sets *owner to the only User or Bot that the account has, or will have, of which credentials of
 * the account are that have no owner_id; else leaves it absent.  Returns false after a message. */
MUST_CHECK bool plan_find_only_owner(const struct plan_looking *looking, struct text *owner);

/* Gives every credential that is written an owner, and tells which owners there are not.  Returns
 * false after a message. */
MUST_CHECK bool plan_settle_owners(const struct plan_looking *looking);

/* Tells which credentials would be created for, or given to, Users and Bots that are disabled, once
 * the credentials have owners.  Returns false after a message. */
MUST_CHECK bool plan_check_disabled(const struct plan_looking *looking);

/* Warns of each User or Bot that is created, though the record of changes says that it was deleted
 * in the account.  Returns false after a message. */
MUST_CHECK bool plan_warn_deleted(const struct plan_looking *looking);

/* Warns if the plan takes the account its last enabled admin, once its Users and Bots were looked
 * at. Returns false after a message. */
MUST_CHECK bool plan_warn_last_admin(const struct plan_looking *looking);

/* Tells which credentials would stay though the plan deletes their owner, once the account's
 * credentials were looked at.  Returns false after a message. */
MUST_CHECK bool plan_check_leavers(const struct plan_looking *looking);

/* Tells which credentials would be created though another has their public key, if the database
 * permits a key once in an account; after the deletions were planned.  Returns false after a
 * message. */
MUST_CHECK bool plan_check_keys(const struct plan_looking *looking);

/* Settles the client secret of a module for a change.  row is the stored module, or NULL.  Seals a
 * new secret.  Sets change->sets_secret.  Returns false if there is no such secret, with a fault of
 * the document in *fault; or after a message, with ERR_NONE there. */
MUST_CHECK bool plan_secret(struct plan *plan, const struct document_item *item,
                            const struct document_row *row, struct plan_change *change,
                            struct error *fault);

/* Keeps the values of the members that an update changes.  Returns false after a message. */
MUST_CHECK bool plan_show_values(struct plan *plan, struct plan_change *change,
                                 const struct document_changes *changes);

/* Keeps where the client secret of a module that is created comes from.  Returns false after a
 * message. */
MUST_CHECK bool plan_show_secret(struct plan *plan, struct plan_change *change);

#endif
