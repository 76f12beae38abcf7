/* SPDX-License-Identifier: MIT */
/* Tests of how many rows a page asks for, on a real PostgreSQL. */
#include "store/page_rows.h"

#include <check.h>
#include <string.h>

#include "store/tried.h"
#include "suites.h"

#define PAGE_BYTES ((size_t)100000)

static struct page_rows rows;

static void set_up(void)
{
    memset(&rows, 0, sizeof rows);
    tried_set_up();
    store_share_page_rows(tried.store, &rows);
}

static const struct {
    unsigned char most;
    int asked, n_rows;
    size_t bytes;
    unsigned char after;
} afters[] = {
    {0, 100, 101, 2 * PAGE_BYTES, 0}, /* half of what was read is no reason */
    {0, 100, 101, 10 * PAGE_BYTES, 11},
    {11, 11, 12, 10 * PAGE_BYTES, 2},
    {0, 100, 2, 1000 * PAGE_BYTES, 1},
    {0, 1, 1, 1000 * PAGE_BYTES, 0}, /* it takes one row at least */
    {11, 11, 12, PAGE_BYTES, 11},
    {11, 11, 12, PAGE_BYTES / 4, 22},
    {11, 11, 11, PAGE_BYTES / 4, 11}, /* the list ends there */
    {127, 100, 101, PAGE_BYTES / 4, 254},
    {128, 100, 101, PAGE_BYTES / 4, 0},
    {0, 1000, 1001, 3 * PAGE_BYTES, 0}, /* more than it can note */
};

START_TEST(the_number_follows_the_size)
{
    ck_assert_int_eq(page_rows_after(afters[_i].most, afters[_i].asked, afters[_i].n_rows,
                                     afters[_i].bytes, PAGE_BYTES),
                     afters[_i].after);
}
END_TEST

/* Reads all pages of the admin's credentials.  Returns the most rows that PostgreSQL sent for one
 * of them behind the first. */
static int read_pages(const struct store_request *request, int limit, int *n_read)
{
    struct ssh_credential_page page = {.limit = limit, .most_bytes = PAGE_BYTES};
    struct ssh_credential_list list = {0};
    char last[IDENT_SIZE];
    int most = 0;

    for (*n_read = 0;; page.before_id = text_of(last)) {
        ck_assert_msg(store_ssh_credential_list(tried.store, request, &page, &list, &tried.err),
                      "%s", tried.err.cause);
        ck_assert_uint_gt(list.n, 0);
        if (*n_read > 0 && pg_rows(list.result) > most)
            most = pg_rows(list.result);
        *n_read += (int)list.n;
        if (!list.more)
            break;
        memcpy(last, list.items[list.n - 1].id.s, list.items[list.n - 1].id.len + 1);
        ssh_credential_list_free(&list);
    }
    ssh_credential_list_free(&list);
    return most;
}

START_TEST(large_rows_are_not_read_in_vain)
{
    int n;

    tried_have_many(60, TRIED_FINGERPRINT("0"),
                    "array_fill('bind:' || repeat(md5(i::text), 60), ARRAY[10])");
    ck_assert_int_le(read_pages(&tried.admin, 50, &n), 10);
    ck_assert_int_eq(n, 60);
    /* Another caller has learnt nothing. */
    ck_assert_int_eq(page_rows_most(tried.store, &tried.other, PAGE_OF_CREDENTIALS, 50), 50);
    ck_assert_int_lt(page_rows_most(tried.store, &tried.admin, PAGE_OF_CREDENTIALS, 50), 10);
    ck_assert_int_eq(page_rows_most(tried.store, &tried.admin, PAGE_OF_EVENTS, 50), 50);
    database_run(tried.owner, "UPDATE adit.ssh_credential SET acl = '{}'");
    read_pages(&tried.admin, 50, &n);
    ck_assert_int_eq(n, 60);
    ck_assert_int_ge(page_rows_most(tried.store, &tried.admin, PAGE_OF_CREDENTIALS, 50), 32);
}
END_TEST

/* Returns a request of a key whose digest begins with the same byte as the admin's. */
static struct store_request neighbour(void)
{
    struct store_request request = tried.other;

    memset(request.caller.digest, ~tried.admin.caller.digest[0], sizeof request.caller.digest);
    request.caller.digest[0] = tried.admin.caller.digest[0];
    return request;
}

/* Keys that share a place teach each other nothing. */
START_TEST(no_key_learns_from_another)
{
    const struct store_request other = neighbour();
    const struct ssh_credential_page page = {.limit = 50, .most_bytes = PAGE_BYTES};
    struct ssh_credential_list list = {0};

    tried_have_many(20, TRIED_FINGERPRINT("0"), "'{}'");
    ck_assert(store_ssh_credential_list(tried.store, &tried.admin, &page, &list, &tried.err));
    page_rows_learn(tried.store, &tried.admin, PAGE_OF_CREDENTIALS, list.result,
                    (struct page_asked){50, 100});
    page_rows_learn(tried.store, &tried.admin, PAGE_OF_EVENTS, list.result,
                    (struct page_asked){50, 100});
    ck_assert_int_lt(page_rows_most(tried.store, &tried.admin, PAGE_OF_CREDENTIALS, 50), 50);
    ck_assert_int_eq(page_rows_most(tried.store, &other, PAGE_OF_CREDENTIALS, 50), 50);
    /* One whose rows are small leaves the place as it is. */
    page_rows_learn(tried.store, &other, PAGE_OF_CREDENTIALS, list.result,
                    (struct page_asked){50, PAGE_BYTES});
    ck_assert_int_lt(page_rows_most(tried.store, &tried.admin, PAGE_OF_CREDENTIALS, 50), 50);
    /* One whose rows are large takes it, for every list. */
    page_rows_learn(tried.store, &other, PAGE_OF_CREDENTIALS, list.result,
                    (struct page_asked){50, 100});
    ck_assert_int_lt(page_rows_most(tried.store, &other, PAGE_OF_CREDENTIALS, 50), 50);
    ck_assert_int_eq(page_rows_most(tried.store, &other, PAGE_OF_EVENTS, 50), 50);
    ck_assert_int_eq(page_rows_most(tried.store, &tried.admin, PAGE_OF_CREDENTIALS, 50), 50);
    ssh_credential_list_free(&list);
}
END_TEST

Suite *page_rows_suite(void)
{
    Suite *suite = suite_create("store/page_rows");
    TCase *tcase = tcase_create("page_rows");

    tcase_add_checked_fixture(tcase, set_up, tried_tear_down);
    tcase_set_timeout(tcase, 60);
    tcase_add_loop_test(tcase, the_number_follows_the_size, 0,
                        (int)(sizeof afters / sizeof afters[0]));
    tcase_add_test(tcase, large_rows_are_not_read_in_vain);
    tcase_add_test(tcase, no_key_learns_from_another);
    suite_add_tcase(suite, tcase);
    return suite;
}
