/* SPDX-License-Identifier: MIT */
/* A document that is read from a file: its entries, and the faults in it. */
#ifndef ADIT_CTL_DOCUMENT_DOCUMENT_H
#define ADIT_CTL_DOCUMENT_DOCUMENT_H

#include "ctl/ctl.h"
#include "model/document.h"

struct plan_change;

/* An entry, and what was found out about it. */
struct document_item {
    struct document_entry entry;
    struct text found_id; /* DOCUMENT_CREDENTIAL: the row that it is; absent: none yet */
    bool is_found;        /* there is a row */
    bool is_like_another; /* DOCUMENT_CREDENTIAL: a warning told of a row that it does not want */
    struct plan_change *change; /* ctl/document/plan.h; NULL: none */
};

/* The items of one kind in an account, in the order of the file. */
struct document_items {
    struct document_item **items;
    size_t n;
    size_t cap;
};

struct document_account_items {
    struct document_item *account;
    struct document_items kinds[DOCUMENT_N_KINDS]; /* from DOCUMENT_PRINCIPAL on */
};

/* A file that was read. */
struct document {
    const char *path;
    const struct ctl *ctl;
    struct buf file;
    struct text text;   /* of the file */
    struct arena arena; /* of the items and all that they hold */
    struct document_account_items *accounts;
    size_t n_accounts;
    size_t cap_accounts;
    size_t n_items; /* of all accounts and kinds, without the accounts */
    size_t n_faults;
};

/* Reads the file, or standard input for "-".  Prints its faults but those of values, which a row
 * may have; if there are others, all.  Prints at most DOCUMENT_MAX_FAULTS_SHOWN
 * of them, with their line and place.  Returns false after them, or after another message.
 * document_free() is due in either case. */
MUST_CHECK bool document_load(struct document *document, const struct ctl *ctl, const char *path);

#define DOCUMENT_MAX_FAULTS_SHOWN 20

/* Forgets what was found out about the items of a document that was loaded: all are as the file has
 * them.  Returns false after a message. */
MUST_CHECK bool document_forget(struct document *document);

/* Prints a fault in an entry (NULL: in the file), and counts it. */
void document_tell(struct document *document, const struct document_entry *entry,
                   const struct error *err);

/* Prints the faults of an entry's values: of those that changes has (NULL: of all), since the row
 * that is stored has the others.  Returns whether there are any. */
bool document_tell_values(struct document *document, const struct document_entry *entry,
                          const struct document_changes *changes);

/* Prints how many more faults there are than were shown.  Returns whether there is no fault. */
MUST_CHECK bool document_is_good(const struct document *document);

/* Wipes and frees what was read. */
void document_free(struct document *document);

#endif
