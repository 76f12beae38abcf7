/* SPDX-License-Identifier: MIT */
/* Tests of every route that accepts an Idempotency-Key. */
#include <check.h>
#include <stdio.h>
#include <string.h>

#include "api/client.h"
#include "suites.h"

/* Two requests to a route that succeed and differ in their bodies. */
static const struct sample {
    const char *method;
    const char *template;
    const char *path;
    const char *body;
    const char *other_body;
} samples[] = {
    {"POST", "/ssh_credentials", "/ssh_credentials", CLIENT_CREDENTIAL,
     "{\"description\":\"other\",\"public_key\":\"" CLIENT_KEY "\"}"},
};

static struct client client;

static void set_up(void)
{
    client_open(&client);
}

static void tear_down(void)
{
    client_close(&client);
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
    client_prepare(&client, sample->method, sample->path, body);
    client.request.idempotency_key = key;
    return client_send(&client);
}

static bool is_replay(void)
{
    return client_has_header(&client, "Idempotent-Replayed: true");
}

/* Reads the entity tag of the answer, or "". */
static void read_etag(char out[32])
{
    const char *etag = strstr(client.response.headers.data, "\r\nETag: ");

    snprintf(out, 32, "%.*s", etag ? (int)strcspn(etag + 8, "\r") : 0, etag ? etag + 8 : "");
}

static void expect_first_answer_again(const struct sample *sample, const char *key)
{
    int status = ask(sample, sample->body, key);
    char first[4096];
    char etag[32];
    char etag_again[32];

    ck_assert_msg(status >= 200 && status < 300, "%s", client_body(&client));
    ck_assert(!is_replay());
    ck_assert_int_lt(snprintf(first, sizeof first, "%s", client_body(&client)), (int)sizeof first);
    read_etag(etag);
    ck_assert_int_eq(ask(sample, sample->body, key), status);
    ck_assert_msg(is_replay(), "%s %s ignores the key", sample->method, sample->template);
    ck_assert_str_eq(client_body(&client), first);
    read_etag(etag_again);
    ck_assert_str_eq(etag_again, etag);
}

static void expect_conflict(const struct sample *sample, const char *key)
{
    const struct error_row *row = error_row(ERR_IDEMPOTENCY_KEY_REUSED);

    ck_assert_msg(ask(sample, sample->other_body, key) == row->status, "%s %s: %s", sample->method,
                  sample->template, client_body(&client));
    ck_assert_int_eq(client_error(&client), row->number);
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
    Suite *suite = suite_create("api/idempotency");
    TCase *tcase = tcase_create("idempotency");

    client_add(tcase, set_up, tear_down);
    tcase_add_test(tcase, routes_that_take_a_key);
    suite_add_tcase(suite, tcase);
    return suite;
}
