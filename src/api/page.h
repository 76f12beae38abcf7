/* SPDX-License-Identifier: MIT */
/* What all lists share: the query of a page, and the page itself. */
#ifndef ADIT_API_PAGE_H
#define ADIT_API_PAGE_H

#include "api/call.h"
#include "filter/filter.h"

/* A page's size: most items, which is also the default, and most bytes in its body.  The OpenAPI
 * document, the manual and the tests take the first from here. */
#define API_PAGE_ITEMS_MAX 100
#define API_PAGE_MAX ((size_t)1024 * 1024)

/* The query parameters of every list.  The second names the item that the page follows. */
enum api_page_query { API_PAGE_LIMIT, API_PAGE_PLACE, API_PAGE_FILTER };

/* What a request asks of a list. */
struct api_page {
    int limit;
    bool limit_given;
    struct text place;  /* before_id or after_id, not checked; absent: from the start */
    struct text source; /* of the filter; absent: there is none */
    const struct filter_node *filter; /* NULL: there is none */
};

/* Reads the query of a list, whose table of parameters is in the order of enum api_page_query.
 * members: what a filter may name.  The filter belongs to the request's arena.  Returns false with
 * ERR_LIMIT_NOT_NUMBER, ERR_LIMIT_RANGE or as filter_parse(). */
MUST_CHECK bool api_page_read(const struct call *call, const struct filter_member *members,
                              struct api_page *page, struct error *err);

/* Returns false with ERR_BEFORE_ID_MALFORMED if the page has a place that is not an identifier. */
MUST_CHECK bool api_page_check_before_id(const struct api_page *page, struct error *err);

/* The items that the database returned for a page. */
struct api_page_items {
    size_t n;
    bool more; /* there are others after these */
    const void *list;
    /* Writes item i of the list as JSON. */
    void (*write)(struct call *call, const void *list, size_t i);
    /* Appends item i as the place of a page, encoded for a query. */
    void (*write_place)(struct buf *out, const void *list, size_t i);
};

/* Writes the body of a list: the items that fit, at least one if there is one, the list's URI, and
 * the URI of the next page.  The list's name is its path. */
void api_page_write(struct call *call, const struct api_page *page,
                    const struct api_page_items *items);

#endif
