/* SPDX-License-Identifier: MIT */
/* How many rows a page asks the database for. */
#include "store/page_rows.h"

#include <limits.h>

#include "store/executor.h"

static size_t place_of_caller(const struct store_request *request)
{
    return request->caller.digest[0] % PAGE_N_PLACES;
}

int page_rows_most(const struct store *store, const struct store_request *request,
                   enum page_kind kind, int limit)
{
    int most = store->page_rows ? store->page_rows->most[kind][place_of_caller(request)] : 0;

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

void page_rows_learn(struct store *store, const struct store_request *request, enum page_kind kind,
                     const struct pg_result *result, int asked, size_t most_bytes)
{
    unsigned char *most;

    if (!store->page_rows)
        return;
    most = &store->page_rows->most[kind][place_of_caller(request)];
    *most = page_rows_after(*most, asked, pg_rows(result), pg_result_bytes(result), most_bytes);
}
