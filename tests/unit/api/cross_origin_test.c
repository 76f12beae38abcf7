/* SPDX-License-Identifier: MIT */
/* Tests of answers to pages of other origins. */
#include <check.h>
#include <string.h>

#include "api/operations.h"
#include "suites.h"

static struct client client;

static void set_up(void)
{
    operations_open(&client);
}

static void tear_down(void)
{
    client_close(&client);
}

static const char listed[] = "https://a.example";

static bool mentions(const char *name)
{
    return strstr(client.response.headers.data, name) != NULL;
}

/* Sends the request as a page of an origin does. */
static int send_from(const char *origin)
{
    client.request.origin = origin;
    client.request.preflight_method = "POST";
    return client_send(&client);
}

/* The headers are in every answer, whatever it is. */
START_TEST(every_answer)
{
    static const struct {
        const char *method, *path, *body;
        int status;
    } cases[] = {
        {"GET", "/ssh_credentials", "", 200},
        {"GET", "/ssh_credentials/x", "", 404},
        {"PATCH", "/ssh_credentials", "", 405},
        {"POST", "/ssh_credentials", "{}", 400},
        {"GET", "/livez", "", 200},
        {"HEAD", "/ssh_credentials/x", "", 404},
        {"OPTIONS", "/ssh_credentials", "", 204},
        {"OPTIONS", "/nothing", "", 404},
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        client_prepare(&client, cases[i].method, cases[i].path, cases[i].body);
        client.settings.allowed_origins = listed;
        ck_assert_int_eq(send_from(listed), cases[i].status);
        ck_assert(client_has_header(&client, "Access-Control-Allow-Origin: https://a.example"));
        ck_assert(client_has_header(&client, "Vary: Origin"));
        ck_assert_int_eq(client_has_header(&client, "Access-Control-Max-Age: 600"),
                         cases[i].status == 204);
        ck_assert_int_eq(send_from("https://b.example"), cases[i].status);
        ck_assert(!mentions("Access-Control"));
        ck_assert(client_has_header(&client, "Vary: Origin"));
        client.settings.allowed_origins = NULL;
        ck_assert_int_eq(send_from(listed), cases[i].status);
        ck_assert(!mentions("Access-Control") && !mentions("Vary"));
    }
}
END_TEST

START_TEST(preflight_needs_no_key)
{
    client.settings.allowed_origins = "*";
    client_prepare(&client, "OPTIONS", CLIENT_OAUTH, "");
    fault_no_key(&client.request);
    fault_no_version(&client.request);
    ck_assert_int_eq(send_from(listed), 204);
    ck_assert(client_has_header(&client, "Access-Control-Allow-Origin: *"));
    ck_assert(client_has_header(&client,
                                "Access-Control-Allow-Methods: PUT, GET, HEAD, DELETE, OPTIONS"));
    ck_assert(!mentions("Credentials"));
    client.request.method = "GET";
    ck_assert_int_eq(send_from(listed), 401);
    ck_assert(client_has_header(&client, "Access-Control-Allow-Origin: *"));
}
END_TEST

Suite *cross_origin_suite(void)
{
    Suite *suite = suite_create("api/cross_origin");
    TCase *tcase = tcase_create("answers");

    client_add(tcase, set_up, tear_down);
    tcase_add_test(tcase, every_answer);
    tcase_add_test(tcase, preflight_needs_no_key);
    suite_add_tcase(suite, tcase);
    return suite;
}
