/* SPDX-License-Identifier: MIT */
/* For the files plan*.c: what they look at. */
#ifndef ADIT_CTL_DOCUMENT_PLAN_KIND_H
#define ADIT_CTL_DOCUMENT_PLAN_KIND_H

#include "ctl/document/plan_change.h"

/* What is looked at: the items of a kind in an account. */
struct plan_looking {
    struct plan *plan;
    struct document_account_items *account;
    enum document_kind kind;
    struct text account_id;
    bool is_new;         /* the account is created */
    size_t first_change; /* of the account, in the plan */
    struct document_items *items;
    struct document_item **sorted; /* by their keys */
};

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

/* Returns the item that wants a row of looking->kind, whose items were found; or NULL. */
const struct document_item *plan_find_wanting(const struct plan_looking *looking,
                                              const struct document_row *row);

/* Returns whether a row of looking->kind that no item wants is deleted. */
bool plan_prunes_row(const struct plan_looking *looking, const struct document_row *row);

/* Orders two struct text by their bytes, for qsort() and bsearch(). */
int plan_text_order(const void *a, const void *b);

/* Settles the client secret of a module for a change.  row is the stored module, or NULL.  Seals a
 * new secret.  Sets *is_changed.  Returns false if there is no such secret, with a fault of the
 * document in *fault; or after a message, with ERR_NONE there. */
MUST_CHECK bool plan_secret(struct plan *plan, const struct document_item *item,
                            const struct document_row *row, struct document_change *change,
                            bool *is_changed, struct error *fault);

/* Keeps the values of the members that an update changes.  Returns false after a message. */
MUST_CHECK bool plan_show_values(struct plan *plan, struct plan_change *change,
                                 const struct document_changes *changes, bool has_secret_changed);

/* Keeps where the client secret of a module that is created comes from.  Returns false after a
 * message. */
MUST_CHECK bool plan_show_secret(struct plan *plan, struct plan_change *change);

/* Tells of a fault in an item. */
void plan_tell(const struct plan_looking *looking, const struct document_item *item,
               const struct error *err);

#endif
