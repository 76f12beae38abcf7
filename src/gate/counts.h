/* SPDX-License-Identifier: MIT */
/* What the gate counts, in memory that its workers share, and the text that Prometheus reads. */
#ifndef ADIT_GATE_COUNTS_H
#define ADIT_GATE_COUNTS_H

#include "base/buf.h"
#include "base/metrics.h"
#include "base/must_check.h"
#include "gate/html_page.h"
#include "gate/provider.h"

/* How a check or a login ended. */
enum counts_outcome {
    COUNTS_PASSED,  /* a visitor whom the lists let in */
    COUNTS_OPEN,    /* the module is off, or lets this method pass */
    COUNTS_UNASKED, /* it passed because the route has no module */
    COUNTS_SENT,    /* to the provider, or to where it belongs */
    COUNTS_SIGNED_IN,
    COUNTS_PAGES, /* it got a page, from here on in the order of enum html_page */
    COUNTS_N_OUTCOMES = COUNTS_PAGES + HTML_PAGE_N
};

/* The outcome that is a page.  Outcomes are numbers: those of the pages have no names here. */
#define COUNTS_PAGE(page) ((size_t)COUNTS_PAGES + (size_t)(page))

/* All numbers of one worker, and nothing else: counts_write() takes it for an array. */
struct counts {
    uint64_t checks[COUNTS_N_OUTCOMES];
    uint64_t logins[COUNTS_N_OUTCOMES];
    uint64_t questions[PROVIDER_N_OUTCOMES];
    struct metrics_histogram question_time;
};

/* What the workers share.  A worker writes its own slot alone, and its successor goes on in it, as
 * in base/metrics.h. */
struct counts_of_all {
    size_t n;
    int64_t started_ms; /* since 1970 */
    struct counts of[];
};

/* Returns memory for so many workers, all zero, or NULL with errno set.  The caller frees it with
 * counts_free(). */
MUST_CHECK struct counts_of_all *counts_new(size_t n);

/* n is that of counts_new(), since workers may have written there.  NULL is fine. */
void counts_free(struct counts_of_all *all, size_t n);

/* Counts one.  counts: NULL: nothing is counted. */
void counts_check(struct counts *counts, size_t outcome);
void counts_login(struct counts *counts, size_t outcome);

/* Counts what a provider was asked about a visitor, from that time on the steady clock until now.
 */
void counts_question(struct counts *counts, enum provider_outcome outcome, int64_t begun_us);

/* Appends the sums of all workers in Prometheus' format.  A lack of memory sets out->failed. */
void counts_write(struct buf *out, const struct counts_of_all *all);

#endif
