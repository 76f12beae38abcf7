/* SPDX-License-Identifier: MIT */
/* What the files plan*.c look at, and which item of a document wants which row. */
#ifndef ADIT_CTL_DOCUMENT_PLAN_MATCH_H
#define ADIT_CTL_DOCUMENT_PLAN_MATCH_H

#include "ctl/document/plan.h"

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

/* Sorts looking->items by their keys, and tells which are there twice.  Returns false after a
 * message. */
MUST_CHECK bool plan_sort_items(struct plan_looking *looking);

/* Adds the keys of some items to the lists, which have room. */
void plan_fill_keys(struct document_keys *keys, struct document_item *const *items, size_t n);

/* Returns the item that may want a row, or NULL.  A credential of another owner is never meant:
 * whoever may only write their own could put it in the place of the file's. */
struct document_item *plan_item_of_row(const struct plan_looking *looking,
                                       const struct document_row *row);

/* Returns an item with the key and description of a credential, of whatever owner; or NULL. */
struct document_item *plan_item_like_row(const struct plan_looking *looking,
                                         const struct document_row *row);

/* Returns the item that wants a row of looking->kind, whose items were found; or NULL. */
const struct document_item *plan_find_wanting(const struct plan_looking *looking,
                                              const struct document_row *row);

/* Returns whether a row is, or belongs to, one of the account's owners in the document. */
bool plan_is_of_owners(const struct plan_looking *looking, const struct document_row *row);

/* Returns whether a row of looking->kind that no item wants is deleted. */
bool plan_prunes_row(const struct plan_looking *looking, const struct document_row *row);

/* Tells of a fault in an item. */
void plan_tell(const struct plan_looking *looking, const struct document_item *item,
               const struct error *err);

/* Orders two struct text by their bytes, for qsort() and bsearch(). */
int plan_text_order(const void *a, const void *b);

#endif
