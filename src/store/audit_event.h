/* SPDX-License-Identifier: MIT */
/* Audit events for callers, who must be admins.  Every function returns false with *err: as
 * executor_run(), with ERR_AUDIT_NOT_ADMIN, or with the error named beside it.  A list that a
 * function was given is to be freed also after it failed. */
#ifndef ADIT_STORE_AUDIT_EVENT_H
#define ADIT_STORE_AUDIT_EVENT_H

#include "base/must_check.h"
#include "filter/filter.h"
#include "model/audit_event.h"
#include "store/store.h"

extern const struct filter_member audit_event_filter_members[];

/* The part of the list that a request asks for. */
struct audit_event_page {
    int64_t before; /* older than the event of this number; INT64_MAX: from the newest on */
    int limit;
    size_t most_bytes;                /* stop after the event whose text reaches this sum */
    const struct filter_node *filter; /* NULL: there is none */
};

/* Events from one answer of the database.  All zero: none. */
struct audit_event_list {
    struct audit_event *items; /* in the request's arena */
    size_t n;
    bool more;                /* there are older ones */
    struct pg_result *result; /* owns the text */
};

/* Frees the text of a list and empties it.  An empty list is fine. */
void audit_event_list_free(struct audit_event_list *list);

/* Reads a page of the account's events, newest first.  ERR_FILTER_TOO_SLOW. */
MUST_CHECK bool store_audit_event_list(struct store *store, const struct store_request *request,
                                       const struct audit_event_page *page,
                                       struct audit_event_list *list, struct error *err);

/* Reads the event of that number, which may be 0 for none.  ERR_AUDIT_EVENT_NOT_FOUND. */
MUST_CHECK bool store_audit_event_get(struct store *store, const struct store_request *request,
                                      int64_t number, struct audit_event_list *list,
                                      struct error *err);

#endif
