/* SPDX-License-Identifier: MIT */
/* Tests of what all lists share. */
#include "api/page.h"

#include <check.h>
#include <stdio.h>
#include <string.h>

#include "base/percent.h"
#include "suites.h"

static const struct query_param query[] = {
    {.name = "limit"}, {.name = "after_id"}, {.name = "filter"}, {.name = NULL}};
static const struct filter_member members[] = {{.name = "id", .type = FILTER_STRING},
                                               {.name = NULL}};
static const struct route route = {.path = "/things", .query = query};

static struct arena arena;
static struct response response;
static struct call call;
static struct api_page page;
static struct error err;

/* The list has n items of len bytes each, named by letters. */
static size_t item_len;

static void set_up(void)
{
    response = (struct response){.status = 0};
    item_len = 1;
    call = (struct call){.arena = &arena,
                         .response = &response,
                         .match = {.route = &route},
                         .base_url = text_of("https://h/a")};
}

static void tear_down(void)
{
    buf_free(&response.body);
    buf_free(&response.headers);
    arena_free(&arena);
}

static void write_thing(struct call *to, const void *list, size_t i)
{
    (void)list, (void)i;
    buf_puts(&to->response->body,
             to->response->body.data[to->response->body.len - 1] == '[' ? "\"" : ",\"");
    for (size_t n = 0; n < item_len; n++)
        buf_puts(&to->response->body, "x");
    buf_puts(&to->response->body, "\"");
}

static void write_thing_place(struct buf *out, const void *list, size_t i)
{
    (void)list;
    percent_encode(out, text_of("a/"));
    buf_printf(out, "%zu", i);
}

static const char *body_of(size_t n, bool more)
{
    const struct api_page_items items = {
        .n = n, .more = more, .write = write_thing, .write_place = write_thing_place};

    buf_clear(&response.body);
    api_page_write(&call, &page, &items);
    return buf_text(&response.body).s;
}

START_TEST(whole_list)
{
    ck_assert(api_page_read(&call, members, &page, &err));
    ck_assert_int_eq(page.limit, API_PAGE_ITEMS_MAX);
    ck_assert_ptr_null(page.filter);
    ck_assert_str_eq(body_of(0, false),
                     "{\"things\":[],\"uri\":\"https://h/a/things\",\"next_page_uri\":null}");
    ck_assert_str_eq(
        body_of(2, false),
        "{\"things\":[\"x\",\"x\"],\"uri\":\"https://h/a/things\",\"next_page_uri\":null}");
}
END_TEST

/* The next page gets the same limit and the same filter. */
START_TEST(link_repeats_the_query)
{
    call.query[API_PAGE_LIMIT] = text_of("007");
    call.query[API_PAGE_PLACE] = text_of("");
    call.query[API_PAGE_FILTER] = text_of("obj.id == \"\xC3\xA9&#+\"");
    ck_assert_msg(api_page_read(&call, members, &page, &err), "%s", err.msg);
    ck_assert_ptr_null(page.place.s);
    ck_assert_ptr_nonnull(page.filter);
    ck_assert_ptr_nonnull(strstr(body_of(2, true),
                                 "\"next_page_uri\":\"https://h/a/things?after_id=a%2F1&limit=7"
                                 "&filter=obj.id%20%3D%3D%20%22%C3%A9%26%23%2B%22\"}"));
    call.query[API_PAGE_FILTER] = text_of("");
    ck_assert(api_page_read(&call, members, &page, &err));
    ck_assert_ptr_null(page.filter);
    ck_assert_ptr_null(strstr(body_of(2, true), "filter"));
}
END_TEST

START_TEST(filter_that_is_wrong)
{
    call.query[API_PAGE_FILTER] = text_of("obj.other == 1");
    ck_assert(!api_page_read(&call, members, &page, &err));
    ck_assert_int_eq(err.code, ERR_FILTER);
    ck_assert(err.has_offset);
}
END_TEST

/* A body never exceeds the most, also with the longest filter; but one item always fits. */
START_TEST(page_ends_early)
{
    static char filter[FILTER_MAX_BYTES + 1];

    snprintf(filter, sizeof filter, "%-*s", FILTER_MAX_BYTES, "obj.id == ''");
    call.query[API_PAGE_FILTER] = text_of(filter);
    ck_assert_msg(api_page_read(&call, members, &page, &err), "%s", err.msg);
    item_len = API_PAGE_MAX / 40;
    body_of(100, false);
    ck_assert_uint_le(response.body.len, API_PAGE_MAX);
    ck_assert_uint_gt(response.body.len, API_PAGE_MAX - 2 * item_len);
    ck_assert_ptr_nonnull(strstr(response.body.data, "after_id=a%2F38&filter="));
    item_len = API_PAGE_MAX;
    body_of(2, false);
    ck_assert_ptr_nonnull(strstr(response.body.data, "after_id=a%2F0&filter="));
}
END_TEST

START_TEST(places_before)
{
    static const struct {
        const char *place;
        bool ok;
    } cases[] = {{NULL, true}, {"a", true}, {"~", true}, {"a b", false}, {"..", false}};

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        page.place = text_of(cases[i].place);
        ck_assert_int_eq(api_page_check_before_id(&page, &err), cases[i].ok);
    }
}
END_TEST

Suite *page_suite(void)
{
    Suite *suite = suite_create("api/page");
    TCase *tcase = tcase_create("page");

    tcase_add_checked_fixture(tcase, set_up, tear_down);
    tcase_add_test(tcase, whole_list);
    tcase_add_test(tcase, link_repeats_the_query);
    tcase_add_test(tcase, filter_that_is_wrong);
    tcase_add_test(tcase, page_ends_early);
    tcase_add_test(tcase, places_before);
    suite_add_tcase(suite, tcase);
    return suite;
}
