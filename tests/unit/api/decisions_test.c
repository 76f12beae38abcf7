/* SPDX-License-Identifier: MIT */
/* Tests of decisions about SSH keys, and of the keys that may ask for them. */
#include <check.h>
#include <stdio.h>
#include <string.h>

#include "api/operations.h"
#include "suites.h"

#define PATH "/ssh_decisions"

static struct client client;

static void set_up(void)
{
    client_open(&client);
}

static void tear_down(void)
{
    client_close(&client);
}

static int ask_as(const char *key, const char *method, const char *path, const char *body)
{
    return client_ask_as(&client, key, method, path, body);
}

static void expect_in_body(const char *wanted)
{
    ck_assert_msg(strstr(client_body(&client), wanted) != NULL, "%s", client_body(&client));
}

static const char *const askers[] = {CLIENT_ADMIN_KEY, CLIENT_MEMBER_KEY, CLIENT_READ_ONLY_KEY,
                                     CLIENT_GATEWAY_KEY};

START_TEST(every_key_of_the_account_may_ask)
{
    int64_t before;

    ck_assert_int_eq(client_ask(&client, "POST", "/ssh_credentials", CLIENT_CREDENTIAL), 201);
    before = client_changes(&client);
    for (size_t i = 0; i < sizeof askers / sizeof askers[0]; i++) {
        ck_assert_int_eq(ask_as(askers[i], "POST", PATH, CLIENT_DECISION), 200);
        expect_in_body("{\"permitted\":true,\"credentials\":[{\"id\":\"sshcr_");
        expect_in_body("\"owner_id\":\"" CLIENT_ADMIN_ID "\"}],\"acl\":[\"*\"],\"rule\":null}");
        ck_assert_int_eq(ask_as(askers[i], "POST", PATH,
                                "{\"public_key\":\"" CLIENT_KEY "\",\"target\":\"a:22\"}"),
                         200);
        expect_in_body(",\"rule\":\"*\"}");
    }
    ck_assert_int_eq(client_changes(&client), before);
}
END_TEST

START_TEST(another_account_sees_nothing)
{
    ck_assert_int_eq(client_ask(&client, "POST", "/ssh_credentials", CLIENT_CREDENTIAL), 201);
    ck_assert_int_eq(ask_as(CLIENT_OTHER_KEY, "POST", PATH, CLIENT_DECISION), 200);
    ck_assert_str_eq(client_body(&client),
                     "{\"permitted\":false,\"credentials\":[],\"acl\":[],\"rule\":null}");
}
END_TEST

/* A gateway's key finds the health checks like everybody. */
START_TEST(gateway_key_does_nothing_else)
{
    static struct client others;
    int64_t before;

    operations_open(&others);
    before = client_changes(&others);
    for (size_t i = 0; i < operations_n; i++) {
        const struct operation *operation = &operations[i];

        client_prepare(&others, operation->method, operation->path, operation->body);
        others.request.authorization = "Bearer " CLIENT_GATEWAY_KEY;
        client_send(&others);
        ck_assert_msg(others.response.status == (strcmp(operation->path, PATH) == 0 ? 200 : 403),
                      "%s %s: %d", operation->method, operation->path, others.response.status);
        if (strcmp(operation->path, PATH) != 0 && strcmp(operation->method, "HEAD") != 0)
            ck_assert_int_eq(client_error(&others), 9071);
    }
    ck_assert_int_eq(client_changes(&others), before);
    client_close(&others);
    ck_assert_int_eq(ask_as(CLIENT_GATEWAY_KEY, "GET", "/livez", ""), 200);
    ck_assert_int_eq(ask_as(CLIENT_GATEWAY_KEY, "GET", "/readyz", ""), 200);
}
END_TEST

Suite *decisions_suite(void)
{
    Suite *suite = suite_create("api/decisions");
    TCase *tcase = tcase_create("decisions");

    client_add(tcase, set_up, tear_down);
    tcase_add_test(tcase, every_key_of_the_account_may_ask);
    tcase_add_test(tcase, another_account_sees_nothing);
    tcase_add_test(tcase, gateway_key_does_nothing_else);
    suite_add_tcase(suite, tcase);
    return suite;
}
