/* SPDX-License-Identifier: MIT */
/* For the files plan*.c: making changes, and saying what is wrong. */
#ifndef ADIT_CTL_DOCUMENT_PLAN_CHANGE_H
#define ADIT_CTL_DOCUMENT_PLAN_CHANGE_H

#include "ctl/document/plan.h"

/* Returns a change with the entry and the account, in the plan's arena.  The texts are not copied.
 * Returns NULL after a message. */
MUST_CHECK struct plan_change *plan_new_change(struct plan *plan, enum document_verb verb,
                                               const struct document_entry *entry,
                                               struct text account_id);

/* Appends a change to the plan.  Returns false after a message. */
MUST_CHECK bool plan_add_change(struct plan *plan, struct plan_change *change);

/* Returns a copy of a text in the plan's arena.  Sets *ok to false if memory runs out. */
struct text plan_keep(struct plan *plan, struct text text, bool *ok);

/* Adds a warning to those of the plan. */
void plan_warn(struct plan *plan, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Print a message.  Return false. */
bool plan_out_of_memory(void);
bool plan_fail(const struct error *err);

#endif
