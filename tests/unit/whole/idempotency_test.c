/* SPDX-License-Identifier: MIT */
/* Tests of every route that accepts an Idempotency-Key, over a real PostgreSQL. */
#include <check.h>
#include <stdio.h>
#include <string.h>

#include "api/api.h"
#include "http/response.h"
#include "store/api_key.h"
#include "store/database.h"
#include "suites.h"

/* Two requests to a route that succeed and differ in their bodies. */
static const struct sample {
    const char *method;
    const char *template;
    const char *path;
    const char *body;
    const char *other_body;
} samples[] = {
    {"POST", "/ssh_credentials", "/ssh_credentials",
     "{\"public_key\":\"ssh-ed25519"
     " AAAAC3NzaC1lZDI1NTE5AAAAID5SbIpVnFfJIc9McVvd+X81MKSG/SHWfskTzyZTpF9R\"}",
     "{\"description\":\"other\",\"public_key\":\"ssh-ed25519"
     " AAAAC3NzaC1lZDI1NTE5AAAAID5SbIpVnFfJIc9McVvd+X81MKSG/SHWfskTzyZTpF9R\"}"},
};

static struct pg *pg;
static struct store *store;
static struct api_settings settings;
static struct arena arena;
static struct response response;
static char authorization[16 + API_KEY_SIZE];

static void set_up(void)
{
    struct accounts accounts;
    struct api_key_order order = {.description = text_of("test")};
    struct api_key_issued issued;
    struct error err;

    pg = database_create("idempotency");
    database_migrate(pg);
    database_fill(pg, &accounts);
    order.principal_id = text_of(accounts.admin);
    ck_assert_msg(api_key_issue(pg, &order, &issued, &err), "%s", err.cause);
    snprintf(authorization, sizeof authorization, "Bearer %s", issued.key);
    store = store_new(pg, NULL);
    ck_assert_ptr_nonnull(store);
    names_fill(&settings.names, "service");
    settings.base_url = "https://adit.example";
}

static void tear_down(void)
{
    arena_free(&arena);
    buf_free(&response.headers);
    buf_free(&response.body);
    store_free(store);
    pg_free(pg);
}

static const struct sample *find_sample(const struct route *route)
{
    for (size_t i = 0; i < sizeof samples / sizeof samples[0]; i++) {
        if (strcmp(samples[i].method, route->method) == 0 &&
            strcmp(samples[i].template, route->path) == 0)
            return &samples[i];
    }
    ck_abort_msg("%s %s takes an Idempotency-Key: add a sample", route->method, route->path);
}

/* Returns the status. */
static int ask(const struct sample *sample, const char *body, const char *key)
{
    const struct request request = {
        .method = sample->method,
        .path = sample->path,
        .query = "",
        .script_name = "",
        .scheme = "https",
        .host = "adit.example",
        .server_name = "",
        .server_port = "443",
        .authorization = authorization,
        .version = "2",
        .content_type = "application/json",
        .body = text_of(body),
        .idempotency_key = key,
    };

    api_answer(&settings, store, &arena, &request, &response);
    return response.status;
}

static const char *answered(void)
{
    return buf_text(&response.body).s;
}

static bool is_replay(void)
{
    return strstr(response.headers.data, "\r\nIdempotent-Replayed: true\r\n") != NULL;
}

/* Reads the entity tag of the answer, or "". */
static void read_etag(char out[32])
{
    const char *etag = strstr(response.headers.data, "\r\nETag: ");

    snprintf(out, 32, "%.*s", etag ? (int)strcspn(etag + 8, "\r") : 0, etag ? etag + 8 : "");
}

static void expect_first_answer_again(const struct sample *sample, const char *key)
{
    int status = ask(sample, sample->body, key);
    char first[4096];
    char etag[32];
    char etag_again[32];

    ck_assert_msg(status >= 200 && status < 300, "%s", answered());
    ck_assert(!is_replay());
    ck_assert_int_lt(snprintf(first, sizeof first, "%s", answered()), (int)sizeof first);
    read_etag(etag);
    ck_assert_int_eq(ask(sample, sample->body, key), status);
    ck_assert_msg(is_replay(), "%s %s ignores the key", sample->method, sample->template);
    ck_assert_str_eq(answered(), first);
    read_etag(etag_again);
    ck_assert_str_eq(etag_again, etag);
}

static void expect_conflict(const struct sample *sample, const char *key)
{
    const struct error_row *row = error_row(ERR_IDEMPOTENCY_KEY_REUSED);
    char wanted[64];

    snprintf(wanted, sizeof wanted, "\"error_code\":\"ERR_SERVICE_%d\"", row->number);
    ck_assert_msg(ask(sample, sample->other_body, key) == row->status, "%s %s: %s", sample->method,
                  sample->template, answered());
    ck_assert_msg(strstr(answered(), wanted) != NULL, "%s", answered());
}

START_TEST(routes_that_take_a_key)
{
    int n = 0;

    for (const struct route *route = api_routes; route->method; route++) {
        char key[32];

        if (!route->takes_idempotency_key)
            continue;
        snprintf(key, sizeof key, "key %d", n++);
        expect_first_answer_again(find_sample(route), key);
        expect_conflict(find_sample(route), key);
        /* Another key is another request. */
        snprintf(key, sizeof key, "key %d", n++);
        expect_first_answer_again(find_sample(route), key);
    }
    ck_assert_int_gt(n, 0);
}
END_TEST

Suite *idempotency_suite(void)
{
    Suite *suite = suite_create("whole/idempotency");
    TCase *tcase = tcase_create("idempotency");

    tcase_set_timeout(tcase, 60);
    tcase_add_checked_fixture(tcase, set_up, tear_down);
    tcase_add_test(tcase, routes_that_take_a_key);
    suite_add_tcase(suite, tcase);
    return suite;
}
