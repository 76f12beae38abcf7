/* SPDX-License-Identifier: MIT */
/* How many rows a page asks the database for. */
#include "store/page_rows.h"

#include <limits.h>
#include <string.h>

#include "store/executor.h"

static struct page_place *place_of_caller(struct page_rows *rows,
                                          const struct store_request *request)
{
    return &rows->places[request->caller.digest[0] % PAGE_N_PLACES];
}

/* Returns what the caller's own pages have taught; 0: nothing. */
static unsigned char own_most(const struct page_place *place, const struct store_request *request,
                              int kind)
{
    bool is_own = memcmp(place->owner, request->caller.digest, sizeof place->owner) == 0;

    return is_own ? place->most[kind] : 0;
}

int page_rows_most(const struct store *store, const struct store_request *request, int kind,
                   int limit)
{
    int most = 0;

    if (store->page_rows)
        most = own_most(place_of_caller(store->page_rows, request), request, kind);
    return most > 0 && most < limit ? most : limit;
}

unsigned char page_rows_after(unsigned char most, int asked, int n_rows, size_t bytes,
                              size_t most_bytes)
{
    if (n_rows > 1 && bytes / 2 > most_bytes) {
        size_t fit = (size_t)n_rows * most_bytes / bytes + 1;

        return fit < UCHAR_MAX ? (unsigned char)fit : 0;
    }
    if (most > 0 && n_rows > asked && bytes < most_bytes / 2)
        return most <= UCHAR_MAX / 2 ? (unsigned char)(2 * most) : 0;
    return most;
}

void page_rows_learn(struct store *store, const struct store_request *request, int kind,
                     const struct pg_result *result, struct page_asked asked)
{
    struct page_place *place;
    unsigned char before, after;

    if (!store->page_rows)
        return;
    place = place_of_caller(store->page_rows, request);
    before = own_most(place, request, kind);
    after = page_rows_after(before, asked.limit, pg_rows(result), pg_result_bytes(result),
                            asked.most_bytes);
    /* A caller whose rows are small leaves the place to the key that has it. */
    if (before == 0 && after == 0)
        return;
    if (memcmp(place->owner, request->caller.digest, sizeof place->owner) != 0) {
        *place = (struct page_place){.owner = {0}};
        memcpy(place->owner, request->caller.digest, sizeof place->owner);
    }
    place->most[kind] = after;
}
