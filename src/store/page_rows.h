/* SPDX-License-Identifier: MIT */
/* How many rows a page asks the database for.
 *
 * A page ends where its text reaches a sum.  PostgreSQL knows nothing of that: for a caller whose
 * rows are large it would read ten times what the page takes.  So the next pages of such a caller
 * ask for as many rows as fitted, and for twice as many once these leave half of the page empty. */
#ifndef ADIT_STORE_PAGE_ROWS_H
#define ADIT_STORE_PAGE_ROWS_H

#include <stddef.h>

#include "model/resource.h"

struct pg_result;
struct store;
struct store_request;

/* Lists whose rows differ in size: the kind of a page. */
enum page_kind {
    PAGE_OF_CREDENTIALS,
    PAGE_OF_EVENTS,
    PAGE_OF_MODULES, /* and the kind's number */
    PAGE_N_KINDS = PAGE_OF_MODULES + (int)RESOURCE_N_KINDS
};

/* The first byte of a key's digest chooses its place.  A key whose rows are large takes its place
 * from the key before: no key gets what another has taught. */
#define PAGE_N_PLACES 64
#define PAGE_OWNER_LEN 8

struct page_rows {
    struct page_place {
        unsigned char owner[PAGE_OWNER_LEN]; /* the digest's first bytes */
        unsigned char most[PAGE_N_KINDS];    /* 0: any number */
    } places[PAGE_N_PLACES];
};

/* Returns the rows to ask for, at most limit, and at least one. */
int page_rows_most(const struct store *store, const struct store_request *request, int kind,
                   int limit);

/* What a page asked for. */
struct page_asked {
    int limit; /* rows, and one more */
    size_t most_bytes;
};

/* Learns from the result of a page. */
void page_rows_learn(struct store *store, const struct store_request *request, int kind,
                     const struct pg_result *result, struct page_asked asked);

/* Returns what takes the place of most (0: any number) after a page that asked for so many rows and
 * one more, and got n_rows of so many bytes. */
unsigned char page_rows_after(unsigned char most, int asked, int n_rows, size_t bytes,
                              size_t most_bytes);

#endif
