/* SPDX-License-Identifier: MIT */
/* Filters of lists in SQL.  A filter becomes a condition of the list's statement.  Its literals
 * become parameters, so nothing of its text reaches the statement's. */
#ifndef ADIT_STORE_FILTER_H
#define ADIT_STORE_FILTER_H

#include "base/buf.h"
#include "base/must_check.h"
#include "filter/filter.h"
#include "model/member_table.h"
#include "store/store.h"

/* A row of a table of what filters may name, from a row of model/member_table.h. */
/* clang-format off */
#define FILTER_MEMBER(alias, name, kind, use, fixed, shown, filter, ...)                           \
    FILTER_MEMBER_##filter(alias, name, kind)
#define FILTER_MEMBER_FILTERED(alias, name, kind) {#name, FILTER_OF_##kind, alias "." #name},
#define FILTER_MEMBER_UNFILTERED(alias, name, kind)
#define FILTER_OF_TEXT FILTER_STRING
#define FILTER_OF_TEXTS FILTER_STRINGS
#define FILTER_OF_BOOL FILTER_BOOL
#define FILTER_OF_TIME FILTER_TIME
/* clang-format on */

/* Appends the filter to sql as a condition in brackets, which is true or false and never NULL, and
 * its literals to the parameters.  The members' expressions must not be NULL, but for those of type
 * FILTER_OBJECT.  The parameters' bytes belong to the filter and to the arena.  Returns false if
 * memory runs out, which sql or params remembers. */
MUST_CHECK bool filter_write_sql(const struct filter_node *root, struct buf *sql,
                                 struct pg_params *params, struct arena *arena);

/* What a time must be: from <= time < until, in microseconds since 1970. */
struct filter_range {
    bool has_from;
    bool has_until;
    int64_t from_us;
    int64_t until_us;
};

/* Finds the range that the member of that name must be in, so that the filter can be true.  It
 * looks only at comparisons that are joined by &&. */
void filter_find_range(const struct filter_node *root, const char *member,
                       struct filter_range *range);

/* Returns the text that the member of that name must equal, if the filter says nothing else: it
 * belongs to the filter.  Otherwise returns an absent value. */
MUST_CHECK struct text filter_only_equal(const struct filter_node *root, const char *member);

/* A list's statement under a filter. */
struct filter_statement {
    const char *name;
    const char *types;           /* as in struct pg_statement */
    const char *fast;            /* what to filter by, for the message of ERR_FILTER_TOO_SLOW */
    const char *head;            /* the text before " AND " and the filter, */
    const char *end;             /* and the text after it */
    const char *head_by_account; /* the head for .by_account */
};

/* A statement, and its text as far as it is written. */
struct filter_query {
    const struct filter_statement *statement; /* the caller's */
    struct buf sql;                           /* for filter_run(), which frees it */
};

/* Returns a query whose text is the statement's head for the store's database. */
struct filter_query filter_begin(const struct store *store,
                                 const struct filter_statement *statement);

/* Ends the text of a query that a filter was written into, runs it, and frees the text.  Returns as
 * executor_run(), and false with ERR_FILTER_TOO_SLOW after 3 s, or with ERR_BUSY at once if too
 * many filters run (store_share_filters()). */
MUST_CHECK bool filter_run(struct store *store, struct filter_query *query,
                           const struct store_request *request, const struct pg_params *params,
                           struct pg_result **result, struct error *err);

/* A list's statement, and the filter that belongs between its head and its end: the caller's. */
struct filtered_list {
    const struct filter_statement *statement;
    const struct filter_node *filter;
};

/* Writes the statement with the filter in it, and runs it.  Returns as filter_run(). */
MUST_CHECK bool filter_run_list(struct store *store, const struct filtered_list *list,
                                const struct store_request *request, struct pg_params *params,
                                struct pg_result **result, struct error *err);

#endif
