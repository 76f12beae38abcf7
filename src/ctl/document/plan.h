/* SPDX-License-Identifier: MIT */
/* What has to be written so that the database is as a document says. */
#ifndef ADIT_CTL_DOCUMENT_PLAN_H
#define ADIT_CTL_DOCUMENT_PLAN_H

#include "ctl/document/document.h"
#include "ctl/progress.h"
#include "store/document_write.h"
#include "keyring/keyring.h"

/* Items that one statement looks for, or writes. */
#define PLAN_BATCH 500

/* One resource that is created, updated or deleted. */
struct plan_change {
    enum document_verb verb;
    struct document_change write;
    bool loses_rules;     /* a credential whose last ACL rules go */
    bool is_given;        /* a credential that is created, or given to another owner */
    bool sets_secret;     /* a module whose client secret is another one then, or gone */
    bool goes_with_owner; /* a credential that is deleted, as its owner is */
    struct text members;  /* of an update: the names of those that differ, with ',' between */
    struct text values;   /* of an update, for people: "name: old -> new; ..." */
    struct text before; /* of an update, for programs: objects of these members, without secrets */
    struct text after;
    struct text
        secret_from; /* of a new client secret, for programs: {"env": NAME} or {"file": PATH} */
};

struct plan {
    struct ctl *ctl;
    struct document *document;
    bool prunes;  /* delete what the document does not have */
    bool enables; /* give credentials to Users and Bots that are disabled, too */
    struct oauth_names names;
    struct keyring *keyring; /* NULL: not needed so far */
    struct arena arena;      /* of the changes */
    struct progress progress;
    struct buf warnings;          /* for the operator, a line each */
    struct plan_change **changes; /* by account, kind and place in the file; deletions last */
    size_t n_changes;
    size_t n_left; /* more of them, behind these, that are not written: plan_locks_heed() */
    size_t cap_changes;
    size_t n_looked_at;
    bool makes_account; /* at least one */
    bool makes_second;  /* beside the only one that there is */
};

/* Compares the document with the database, in the transaction that document_begin() began, and
 * fills in the changes.  The caller fills in the first four members.  Returns false after a
 * message; plan_free() is due in either case. */
MUST_CHECK bool plan_make(struct plan *plan);

/* Warns of modules that the changes write or delete and that let in anyone or nobody, and of
 * credentials that lose their rules.  To be called once it is known which changes stay. */
void plan_warn_admissions(struct plan *plan);

/* Returns how many changes there are of a verb. */
size_t plan_count(const struct plan *plan, enum document_verb verb);

/* Writes the changes.  Returns false with *err as document_write(), document_hold_owners() or
 * store_make_ident(). */
MUST_CHECK bool plan_write(struct plan *plan, struct error *err);

/* Wipes and frees the plan.  The document stays. */
void plan_free(struct plan *plan);

#endif
