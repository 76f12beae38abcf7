/* SPDX-License-Identifier: MIT */
/* Tests of the metrics: what is counted for a request, and how it is shown. */
#include <check.h>
#include <string.h>

#include "api/metrics.h"
#include "api/operations.h"
#include "base/clock.h"
#include "suites.h"

static struct client client;
static struct metrics *metrics;

static void set_up(void)
{
    operations_open(&client);
    metrics = metrics_new(2);
    ck_assert_ptr_nonnull(metrics);
    client.settings.metrics = metrics;
    client.settings.counts = &metrics->slots[1];
}

static void tear_down(void)
{
    metrics_free(metrics, 2);
    client_close(&client);
}

static void expect(const char *line)
{
    client_prepare(&client, "GET", "/metrics", "");
    ck_assert_int_eq(client_send(&client), 200);
    ck_assert_msg(strstr(client_body(&client), line), "%s is missing", line);
}

START_TEST(requests)
{
    client_ask(&client, "GET", "/ssh_credentials/x", "");
    client_ask(&client, "HEAD", "/ssh_credentials/x", "");
    client_ask(&client, "PUT", "/ssh_credentials", "{}");
    client_ask(&client, "BREW", "/coffee\"} 1", "");
    expect("\nadit_http_requests_total{route=\"/ssh_credentials/{id}\",method=\"GET\","
           "status=\"404\"} 1\n");
    expect("\nadit_http_requests_total{route=\"/ssh_credentials/{id}\",method=\"HEAD\","
           "status=\"404\"} 1\n");
    expect("\nadit_http_requests_total{route=\"/ssh_credentials\",method=\"PUT\","
           "status=\"405\"} 1\n");
    expect("\nadit_http_requests_total{route=\"none\",method=\"other\",status=\"404\"} 1\n");
    ck_assert_ptr_null(strstr(client_body(&client), "coffee"));
}
END_TEST

START_TEST(errors_and_refusals)
{
    client_ask(&client, "GET", "/ssh_credentials/x", "");
    client_ask(&client, "PUT", CLIENT_MUTUAL_TLS, "{\"x\":1}");
    client_fail(ERR_DATABASE_READ_ONLY);
    client_ask(&client, "PUT", CLIENT_MUTUAL_TLS, "{}");
    client_fail(ERR_OUTCOME_UNKNOWN);
    client_ask(&client, "PUT", CLIENT_MUTUAL_TLS, "{}");
    client_fail(ERR_NONE);
    expect("\nadit_errors_total{number=\"9002\",error=\"CREDENTIAL_NOT_FOUND\",status=\"404\"} "
           "1\n");
    expect("\nadit_errors_total{number=\"9033\",error=\"OUTCOME_UNKNOWN\",status=\"503\"} 1\n");
    expect("\nadit_writes_refused_total{reason=\"input\"} 1\n");
    expect("\nadit_writes_refused_total{reason=\"service\"} 1\n");
    expect("\nadit_writes_refused_total{reason=\"key\"} 0\n");
}
END_TEST

START_TEST(reasons_of_refused_writes)
{
    static const int statuses[] = {401, 403, 403, 404, 412, 500, 503};
    struct call call = {
        .settings = &client.settings, .request = &client.request, .response = &client.response};

    client_ask(&client, "PUT", CLIENT_MUTUAL_TLS, "{}");
    for (call.match.route = api_routes; strcmp(call.match.route->method, "PUT") != 0;)
        call.match.route++;
    for (size_t i = 0; i < sizeof statuses / sizeof statuses[0]; i++) {
        client.response.status = statuses[i];
        api_metrics_count(&call, ERR_INTERNAL);
    }
    expect("\nadit_writes_refused_total{reason=\"key\"} 3\n");
    expect("\nadit_writes_refused_total{reason=\"input\"} 1\n");
    expect("\nadit_writes_refused_total{reason=\"condition\"} 1\n");
    expect("\nadit_writes_refused_total{reason=\"service\"} 2\n");
}
END_TEST

/* The time in the line counts too. */
START_TEST(latency)
{
    client_prepare(&client, "GET", "/livez", "");
    client.request.arrived_us = clock_steady_us() - 3000000;
    ck_assert_int_eq(client_send(&client), 200);
    expect("{route=\"/livez\",method=\"GET\",le=\"2.048\"} 0\n");
    expect("{route=\"/livez\",method=\"GET\",le=\"4.096\"} 1\n");
    expect("{route=\"/livez\",method=\"GET\",le=\"+Inf\"} 1\n");
    expect("_sum{route=\"/livez\",method=\"GET\"} 3.");
    expect("_count{route=\"/livez\",method=\"GET\"} 1\n");
}
END_TEST

START_TEST(seconds_without_zeros)
{
    metrics->slots[0].database_wait[true].sum_us = 12000000;
    expect("\nadit_database_wait_seconds_sum{kind=\"write\"} 12.0\n");
    metrics->slots[0].database_wait[true].sum_us = 10500;
    expect("\nadit_database_wait_seconds_sum{kind=\"write\"} 0.0105\n");
    expect(",le=\"0.00025\"}");
}
END_TEST

START_TEST(an_old_look_says_nothing)
{
    client_ask(&client, "GET", "/metrics", "");
    ck_assert_ptr_null(strstr(client_body(&client), "\nadit_database_up "));
    metrics_put_look(metrics, true);
    expect("\nadit_database_up 1\n");
    metrics->looked_ms -= 3600 * 1000;
    expect("\nadit_database_up 0\n");
    metrics_put_look(metrics, false);
    expect("\nadit_database_up 0\n");
}
END_TEST

START_TEST(alone)
{
    client.settings.metrics = NULL;
    client.settings.counts = NULL;
    ck_assert_int_eq(client_ask(&client, "GET", "/metrics", ""), 404);
    ck_assert_int_eq(client_error(&client), 9000);
}
END_TEST

Suite *api_metrics_suite(void)
{
    Suite *suite = suite_create("api/metrics");
    TCase *tcase = tcase_create("metrics");

    client_add(tcase, set_up, tear_down);
    tcase_add_test(tcase, requests);
    tcase_add_test(tcase, errors_and_refusals);
    tcase_add_test(tcase, reasons_of_refused_writes);
    tcase_add_test(tcase, latency);
    tcase_add_test(tcase, seconds_without_zeros);
    tcase_add_test(tcase, an_old_look_says_nothing);
    tcase_add_test(tcase, alone);
    suite_add_tcase(suite, tcase);
    return suite;
}
