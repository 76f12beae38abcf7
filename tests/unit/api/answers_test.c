/* SPDX-License-Identifier: MIT */
/* Tests of all answers: methods without a body, challenges, faults, the log. */
#include <check.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "api/operations.h"
#include "base/clock.h"
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

/* ---- HEAD, OPTIONS ---- */

START_TEST(head_is_get_without_the_body)
{
    static const char *const paths[] = {
        "/ssh_credentials", operations_credential_path, CLIENT_OAUTH, CLIENT_MUTUAL_TLS, "/livez",
        "/readyz",          "/ssh_credentials/x",       "/nothing"};

    for (size_t i = 0; i < sizeof paths / sizeof paths[0]; i++) {
        int status = client_ask(&client, "GET", paths[i], "");

        ck_assert(!client.response.omit_body);
        ck_assert_int_eq(client_ask(&client, "HEAD", paths[i], ""), status);
        ck_assert_msg(client.response.omit_body, "HEAD %s has a body", paths[i]);
    }
}
END_TEST

START_TEST(options_needs_nothing)
{
    static const struct {
        const char *path;
        const char *allow;
    } cases[] = {
        {"/ssh_credentials", "Allow: POST, GET, HEAD, OPTIONS"},
        {operations_credential_path, "Allow: GET, HEAD, PATCH, DELETE, OPTIONS"},
        {"/ssh_credentials/x", "Allow: GET, HEAD, PATCH, DELETE, OPTIONS"},
        {CLIENT_OAUTH, "Allow: PUT, GET, HEAD, DELETE, OPTIONS"},
        {CLIENT_MUTUAL_TLS, "Allow: PUT, GET, HEAD, DELETE, OPTIONS"},
        {"/livez", "Allow: GET, HEAD, OPTIONS"},
        {"/readyz", "Allow: GET, HEAD, OPTIONS"},
    };

    client_fail(ERR_DATABASE_UNAVAILABLE);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        client_prepare(&client, "OPTIONS", cases[i].path, "");
        fault_no_key(&client.request);
        fault_no_version(&client.request);
        ck_assert_int_eq(client_send(&client), 204);
        ck_assert_msg(client_has_header(&client, cases[i].allow), "%s",
                      client.response.headers.data);
    }
    for (const struct route *route = api_routes; route->method; route++) {
        client_prepare(&client, "OPTIONS", route->path, "");
        fault_no_key(&client.request);
        ck_assert_int_eq(client_send(&client), 204);
    }
    ck_assert_int_eq(client_ask(&client, "OPTIONS", "/nothing", ""), 404);
}
END_TEST

START_TEST(allow_of_405)
{
    client_prepare(&client, "POST", operations_credential_path, "{}");
    fault_no_key(&client.request);
    ck_assert_int_eq(client_send(&client), 405);
    ck_assert(client_has_header(&client, "Allow: GET, HEAD, PATCH, DELETE, OPTIONS"));
}
END_TEST

START_TEST(root_names_the_reference)
{
    static const struct {
        const char *base_url, *script_name, *says;
    } cases[] = {
        {NULL, "", "is at /docs, "},
        {NULL, "/", "is at /docs, "},
        {NULL, "/a \"b", "is at /a%20%22b/docs, "},
        {"https://adit.example/api", "/x", "is at https://adit.example/api/docs, "},
    };
    char msg[200];

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        client.settings.base_url = cases[i].base_url;
        client_prepare(&client, "GET", "/", "");
        client.request.script_name = cases[i].script_name;
        ck_assert_int_eq(client_send(&client), 404);
        ck_assert_int_eq(client_error(&client), 9000);
        client_member(&client, "msg", msg, sizeof msg);
        ck_assert_msg(strstr(msg, cases[i].says) != NULL, "%s", msg);
    }
    ck_assert_int_eq(client_ask(&client, "GET", "/nothing", ""), 404);
    client_member(&client, "msg", msg, sizeof msg);
    ck_assert_str_eq(msg, "There is nothing at this path.");
}
END_TEST

/* ---- 401 ---- */

START_TEST(challenges)
{
    static const struct {
        void (*spoil)(struct request *request);
        const char *line;
    } cases[] = {
        {fault_no_key, "WWW-Authenticate: Bearer"},
        {fault_other_scheme, "WWW-Authenticate: Bearer"},
        {fault_malformed_key, "WWW-Authenticate: Bearer error=\"invalid_token\""},
        {fault_unknown_key, "WWW-Authenticate: Bearer error=\"invalid_token\""},
        {fault_revoked_key, "WWW-Authenticate: Bearer error=\"invalid_token\""},
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        client_prepare(&client, "GET", "/ssh_credentials", "");
        cases[i].spoil(&client.request);
        ck_assert_int_eq(client_send(&client), 401);
        ck_assert_msg(client_has_header(&client, cases[i].line), "%s",
                      client.response.headers.data);
    }
}
END_TEST

/* Closes standard error for this process.  Other tests check the log. */
static void drop_log(void)
{
    int null = open("/dev/null", O_WRONLY);

    ck_assert_int_ge(null, 0);
    ck_assert_int_ge(dup2(null, STDERR_FILENO), 0);
    close(null);
}

/* ---- faults of the store ---- */

START_TEST(every_fault_in_every_operation)
{
    static const enum error_code faults[] = {
        ERR_DATABASE_UNAVAILABLE, ERR_DATABASE_READ_ONLY, ERR_DATABASE_TIMEOUT,
        ERR_OUTCOME_UNKNOWN,      ERR_SCHEMA_MISMATCH,    ERR_OUT_OF_MEMORY,
        ERR_SECRET_UNREADABLE,    ERR_SECRET_NOT_SEALED,  ERR_INTERNAL,
    };
    int n_cases = 0;

    drop_log();
    for (size_t i = 0; i < sizeof faults / sizeof faults[0]; i++) {
        client_fail(faults[i]);
        for (size_t j = 0; j < operations_n; j++) {
            const struct operation *operation = &operations[j];

            ck_assert_int_eq(
                client_ask(&client, operation->method, operation->path, operation->body),
                error_row(faults[i])->status);
            ck_assert_int_eq(client_error(&client), error_row(faults[i])->number);
            ck_assert_ptr_null(strstr(client_body(&client), "fault:"));
            ck_assert_ptr_null(strstr(client_body(&client), "db.example"));
            ck_assert_ptr_null(strstr(client_body(&client), "42601"));
            n_cases++;
        }
    }
    printf("faults: %d cases\n", n_cases);
    ck_assert_int_gt(n_cases, 0);
}
END_TEST

/* Without the database, the caller is unknown, so an answer must not describe the body's fault. */
START_TEST(fault_comes_before_the_input)
{
    client.settings.log.level = LOG_LEVEL_ERROR;
    client_fail(ERR_DATABASE_UNAVAILABLE);
    drop_log();
    ck_assert_int_eq(client_ask(&client, "POST", "/ssh_credentials", "{"), 503);
    ck_assert_int_eq(client_ask(&client, "GET", "/ssh_credentials/a b", ""), 503);
}
END_TEST

START_TEST(health)
{
    client_prepare(&client, "GET", "/livez", "");
    fault_no_key(&client.request);
    fault_no_version(&client.request);
    ck_assert_int_eq(client_send(&client), 200);
    ck_assert_str_eq(client_body(&client), "{\"status\":\"live\"}");
    client.request.path = "/readyz";
    ck_assert_int_eq(client_send(&client), 200);
    ck_assert_str_eq(client_body(&client), "{\"status\":\"ready\"}");
    drop_log();
    client_fail(ERR_SCHEMA_MISMATCH);
    ck_assert_int_eq(client_send(&client), 503);
    ck_assert_int_eq(client_error(&client), 9034);
    ck_assert_ptr_null(strstr(client_body(&client), "db.example"));
    client.request.is_draining = true;
    ck_assert_int_eq(client_send(&client), 503);
    ck_assert_int_eq(client_error(&client), 9081);
    client.request.path = "/livez";
    ck_assert_int_eq(client_send(&client), 200);
}
END_TEST

/* ---- a peer that has gone ---- */

static bool say_gone(void *peer)
{
    return *(bool *)peer;
}

START_TEST(peer_that_has_gone)
{
    bool gone = true;

    drop_log();
    for (size_t i = 0; i < operations_n; i++) {
        const struct operation *operation = &operations[i];
        int64_t before = client_changes(&client);

        client_prepare(&client, operation->method, operation->path, operation->body);
        client.request.peer_gone = say_gone;
        client.request.peer = &gone;
        ck_assert_int_eq(client_send(&client), operation->writes ? 503 : 200);
        ck_assert_int_eq(client_error(&client), operation->writes ? 9037 : 0);
        ck_assert_int_eq(client_changes(&client), before);
    }
    gone = false;
    client_prepare(&client, "DELETE", operations_credential_path, "");
    client.request.peer_gone = say_gone;
    client.request.peer = &gone;
    ck_assert_int_eq(client_send(&client), 204);
}
END_TEST

/* ---- the log ---- */

static int pipe_ends[2];
static char logged[65536];

static void read_log(void)
{
    ssize_t n = read(pipe_ends[0], logged, sizeof logged - 1);

    logged[n > 0 ? n : 0] = '\0';
}

static int64_t opened_ms;

static void open_log(enum log_level level)
{
    opened_ms = clock_steady_ms();
    ck_assert_int_eq(pipe2(pipe_ends, O_NONBLOCK), 0);
    ck_assert_int_ge(dup2(pipe_ends[1], STDERR_FILENO), 0);
    client.settings.log.level = level;
}

START_TEST(faults_are_logged_with_their_cause)
{
    char id[64] = "";
    char pair[96];

    open_log(LOG_LEVEL_ERROR);
    client_ask(&client, "GET", "/ssh_credentials", "");
    client_ask(&client, "GET", "/nothing", "");
    read_log();
    ck_assert_str_eq(logged, "");
    client_fail(ERR_INTERNAL);
    ck_assert_int_eq(client_ask(&client, "GET", "/ssh_credentials/x", ""), 500);
    read_log();
    sscanf(client.response.headers.data, "Service-Operation-Id: %63s", id);
    snprintf(pair, sizeof pair, "\"operation_id\":\"%s\"", id);
    ck_assert_msg(strstr(logged, pair) != NULL, "%s", logged);
    ck_assert_msg(strstr(logged, "\"cause\":\"" CLIENT_CAUSE "\"") != NULL, "%s", logged);
    ck_assert_msg(strstr(logged, "\"route\":\"/ssh_credentials/{id}\"") != NULL, "%s", logged);
    ck_assert_msg(strstr(logged, "\"error\":\"INTERNAL\"") != NULL, "%s", logged);
    ck_assert_msg(strstr(logged, "\"status\":\"500\"") != NULL, "%s", logged);
}
END_TEST

static void expect_logged(const char *pair)
{
    ck_assert_msg(strstr(logged, pair) != NULL, "%s has not %s", logged, pair);
}

static void ask_as(const char *key, const char *method, const char *path, const char *body)
{
    client.remote_addr = "2001:db8::1";
    client_ask_as(&client, key, method, path, body);
    read_log();
}

START_TEST(who_asked_is_logged)
{
    static const struct {
        const char *key;
        const char *method;
        const char *path;
        const char *body;
        int error;
    } cases[] = {
        {CLIENT_MEMBER_KEY, "GET", "/ssh_credentials", "", 0},
        {CLIENT_MEMBER_KEY, "POST", "/ssh_credentials", CLIENT_CREDENTIAL, 0},
        {CLIENT_MEMBER_KEY, "PUT", CLIENT_OAUTH, "{}", 0},
        {CLIENT_MEMBER_KEY, "GET", CLIENT_MUTUAL_TLS, "", 0},
        {CLIENT_MEMBER_KEY, "GET", "/ssh_credentials/x", "", 9002},
        {CLIENT_MEMBER_KEY, "GET", "/ssh_credentials/a b", "", 9070},
        {CLIENT_MEMBER_KEY, "PATCH", "/ssh_credentials/x", "{", 213},
        {CLIENT_MEMBER_KEY, "POST", "/ssh_credentials",
         "{\"public_key\":\"" CLIENT_KEY "\",\"owner_id\":\"" CLIENT_ADMIN_ID "\"}", 630},
        {CLIENT_READ_ONLY_KEY, "GET", CLIENT_OAUTH, "", 0},
        {CLIENT_READ_ONLY_KEY, "PUT", CLIENT_OAUTH, "{}", 9005},
        {CLIENT_READ_ONLY_KEY, "DELETE", "/ssh_credentials/a b", "", 9005},
        {CLIENT_GATEWAY_KEY, "POST", "/ssh_decisions", CLIENT_DECISION, 0},
        {CLIENT_GATEWAY_KEY, "GET", CLIENT_OAUTH, "", 9071},
        {CLIENT_GATEWAY_KEY, "GET", "/ssh_credentials/a b", "", 9071},
        {CLIENT_OWN_KEY, "GET", CLIENT_OAUTH, "", 0},
        {CLIENT_OWN_KEY, "PUT", CLIENT_OAUTH, "{}", 9080},
        {CLIENT_OWN_KEY, "DELETE", CLIENT_MUTUAL_TLS, "", 9080},
        {CLIENT_OWN_KEY, "POST", "/ssh_credentials",
         "{\"public_key\":\"" CLIENT_OTHER_PUBLIC_KEY "\"}", 0},
        {CLIENT_OWN_KEY, "POST", "/ssh_credentials",
         "{\"public_key\":\"" CLIENT_KEY "\",\"owner_id\":\"" CLIENT_ADMIN_ID "\"}", 9080},
        {CLIENT_OWN_KEY, "DELETE", "/ssh_credentials/a b", "", 9070},
        {CLIENT_OTHER_KEY, "GET", CLIENT_OAUTH, "", 9003},
        {CLIENT_REVOKED_KEY, "GET", CLIENT_OAUTH, "", 203},
        {CLIENT_UNKNOWN_KEY, "GET", CLIENT_OAUTH, "", 203},
        {"x", "GET", CLIENT_OAUTH, "", 202},
        {CLIENT_ADMIN_KEY, "BREW", CLIENT_OAUTH, "", 9001},
    };

    open_log(LOG_LEVEL_DEBUG);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        bool is_known = cases[i].error != 202 && cases[i].error != 203 && cases[i].error != 9001;
        char pair[300];

        ask_as(cases[i].key, cases[i].method, cases[i].path, cases[i].body);
        ck_assert_int_eq(client_error(&client), cases[i].error);
        snprintf(pair, sizeof pair, "\"number\":\"%d\"", cases[i].error);
        ck_assert_msg((strstr(logged, pair) != NULL) == (cases[i].error != 0), "%s", logged);
        expect_logged("\"client_address\":\"2001:db8::1\"");
        ck_assert_msg((strstr(logged, "api_key_id") != NULL) == is_known, "%s", logged);
        ck_assert_msg((strstr(logged, "account_id") != NULL) == is_known, "%s", logged);
        if (!is_known)
            continue;
        snprintf(pair, sizeof pair, "\"api_key_id\":\"ak_%.27s\"", cases[i].key + 5);
        expect_logged(pair);
        snprintf(pair, sizeof pair, "\"account_id\":\"%s\"",
                 strcmp(cases[i].key, CLIENT_OTHER_KEY) == 0 ? CLIENT_OTHER_ACCOUNT_ID
                                                             : CLIENT_ACCOUNT_ID);
        expect_logged(pair);
    }
}
END_TEST

/* Some web servers are told to take REMOTE_ADDR from a header, which may hold any text. */
START_TEST(only_an_address_is_logged_as_one)
{
    static const char *const bad[] = {"",          "unix:",           "192.0.2.1:80",
                                      "localhost", CLIENT_MEMBER_KEY, "192.0.2.1, 192.0.2.2"};

    open_log(LOG_LEVEL_DEBUG);
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        client_prepare(&client, "GET", "/livez", "");
        client.request.remote_addr = bad[i];
        client_send(&client);
        read_log();
        ck_assert_ptr_null(strstr(logged, "client_address"));
    }
}
END_TEST

static bool wait_20_ms(void *peer)
{
    (void)peer;
    ck_assert_int_eq(usleep(20000), 0);
    return false;
}

START_TEST(duration_is_logged)
{
    const char *at;

    open_log(LOG_LEVEL_DEBUG);
    client_prepare(&client, "DELETE", operations_credential_path, "");
    client.request.peer_gone = wait_20_ms;
    ck_assert_int_eq(client_send(&client), 204);
    read_log();
    at = strstr(logged, "\"duration_ms\":\"");
    ck_assert_msg(at != NULL, "%s", logged);
    ck_assert_int_ge((int)strtol(at + 15, NULL, 10), 19);
    ck_assert_int_lt((int)strtol(at + 15, NULL, 10), 10000);
}
END_TEST

static int n_lines(void)
{
    int n = 0;

    read_log();
    for (const char *at = logged; (at = strchr(at, '\n')) != NULL; at++)
        n++;
    return n;
}

/* A limit lets one line more through each second. */
static void expect_lines(int n, int wanted)
{
    ck_assert_int_ge(n, wanted);
    ck_assert_int_le(n, wanted + (clock_steady_ms() - opened_ms) / 1000);
}

/* Refused keys are logged as warnings, other faults of a request only at level debug. */
START_TEST(refusals_are_warnings)
{
    open_log(LOG_LEVEL_WARNING);
    ask_as(CLIENT_UNKNOWN_KEY, "GET", "/ssh_credentials", "");
    expect_logged("\"level\":\"warning\",\"event\":\"request\"");
    expect_logged("\"error\":\"KEY_UNKNOWN\",\"number\":\"203\"");
    ask_as(CLIENT_READ_ONLY_KEY, "PUT", CLIENT_OAUTH, "{}");
    expect_logged("\"level\":\"warning\",\"event\":\"request\"");
    expect_logged("\"error\":\"KEY_READ_ONLY\",\"number\":\"9005\"");
    ask_as(CLIENT_ADMIN_KEY, "GET", "/ssh_credentials/x", "");
    ask_as(CLIENT_ADMIN_KEY, "PUT", CLIENT_OAUTH, "{");
    ask_as(CLIENT_ADMIN_KEY, "GET", CLIENT_OAUTH, "");
    ck_assert_str_eq(logged, "");
}
END_TEST

/* The log limits refusals to LOG_BURST lines.  Faults of the service have their own limit. */
START_TEST(refusals_are_limited)
{
    struct log_limit limit = {0};

    open_log(LOG_LEVEL_INFO);
    client.settings.log.limit = &limit;
    for (int i = 0; i < 100; i++) {
        client_prepare(&client, "GET", "/ssh_credentials", "");
        fault_unknown_key(&client.request);
        ck_assert_int_eq(client_send(&client), 401);
    }
    expect_lines(n_lines(), LOG_BURST);
    client_fail(ERR_DATABASE_UNAVAILABLE);
    for (int i = 0; i < 100; i++)
        ck_assert_int_eq(client_ask(&client, "GET", "/ssh_credentials", ""), 503);
    expect_lines(n_lines(), LOG_BURST);
}
END_TEST

static int count_logged(const char *key, const char *address, int status, int n)
{
    client.remote_addr = address;
    for (int i = 0; i < n; i++)
        ck_assert_int_eq(client_ask_as(&client, key, "PUT", CLIENT_OAUTH, "{}"), status);
    return n_lines();
}

/* Whoever guesses keys hides neither what callers are refused nor the guesses of others. */
START_TEST(refusals_are_limited_apart)
{
    struct log_limit limit = {0};

    open_log(LOG_LEVEL_INFO);
    client.settings.log.limit = &limit;
    expect_lines(count_logged(CLIENT_UNKNOWN_KEY, "2001:db8::1", 401, 100), LOG_BURST);
    expect_lines(count_logged(CLIENT_UNKNOWN_KEY, "2001:db8:0:1::1", 401, 100), 0);
    expect_lines(count_logged(CLIENT_READ_ONLY_KEY, "2001:db8::1", 403, 100), LOG_BURST);
    expect_lines(count_logged(CLIENT_UNKNOWN_KEY, "192.0.2.1", 401, 100), LOG_BURST);
    client_fail(ERR_DATABASE_UNAVAILABLE);
    expect_lines(count_logged(CLIENT_UNKNOWN_KEY, "192.0.2.1", 503, 100), LOG_BURST);
    expect_lines(count_logged(CLIENT_MEMBER_KEY, "192.0.2.2", 503, 100), LOG_BURST);
}
END_TEST

/* Requests have secrets in every place, and are accepted or refused.  The log has no secret. */
START_TEST(no_secret_is_logged)
{
    static const struct {
        const char *method;
        const char *path;
        const char *body;
    } cases[] = {
        {"PUT", CLIENT_OAUTH,
         "{\"provider\":{\"provider_a\":{\"client_id\":\"i\",\"client_secret\":\"hush\"}}}"},
        {"PUT", CLIENT_OAUTH, "{\"provider\":{\"provider_a\":{\"client_secret\":\"hush\"}}}"},
        {"PUT", CLIENT_OAUTH, "{\"provider\":{\"provider_a\":{\"client_secret\":[\"hush\"]}}}"},
        {"PUT", CLIENT_OAUTH, "{\"client_secret\":\"hush\"}"},
        {"PUT", CLIENT_OAUTH, "{\"hush\":1}"},
        {"PUT", CLIENT_OAUTH, "{\"client_secret\":\"hush"},
        {"POST", "/ssh_credentials",
         "{\"public_key\":\"-----BEGIN OPENSSH PRIVATE KEY-----\\nhush\"}"},
        {"POST", "/ssh_credentials", "{\"public_key\":\"hush\"}"},
        {"GET", "/ssh_credentials/hush", ""},
        {"GET", "/hush", ""},
        {"GET", CLIENT_OAUTH, ""},
    };

    for (int failing = 0; failing < 2; failing++) {
        for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
            open_log(LOG_LEVEL_DEBUG);
            client_ask(&client, cases[i].method, cases[i].path, cases[i].body);
            read_log();
            ck_assert_msg(strstr(logged, "\"event\":\"request\"") != NULL, "%s", logged);
            ck_assert_msg(!strstr(logged, "hush"), "%s", logged);
            ck_assert_msg(!strstr(logged, CLIENT_ADMIN_KEY), "%s", logged);
            close(pipe_ends[0]);
            close(pipe_ends[1]);
        }
        client_fail(ERR_INTERNAL);
    }
}
END_TEST

START_TEST(method_cannot_forge_a_line)
{
    open_log(LOG_LEVEL_DEBUG);
    client_ask(&client, "GET\"\n{\"event\":\"x", "/livez", "");
    read_log();
    ck_assert_ptr_eq(strchr(logged, '\n'), logged + strlen(logged) - 1);
}
END_TEST

Suite *answers_suite(void)
{
    Suite *suite = suite_create("api/answers");
    TCase *tcase = tcase_create("answers");

    client_add(tcase, set_up, tear_down);
    tcase_add_test(tcase, head_is_get_without_the_body);
    tcase_add_test(tcase, options_needs_nothing);
    tcase_add_test(tcase, allow_of_405);
    tcase_add_test(tcase, root_names_the_reference);
    tcase_add_test(tcase, challenges);
    tcase_add_test(tcase, every_fault_in_every_operation);
    tcase_add_test(tcase, fault_comes_before_the_input);
    tcase_add_test(tcase, health);
    tcase_add_test(tcase, peer_that_has_gone);
    tcase_add_test(tcase, faults_are_logged_with_their_cause);
    tcase_add_test(tcase, who_asked_is_logged);
    tcase_add_test(tcase, only_an_address_is_logged_as_one);
    tcase_add_test(tcase, duration_is_logged);
    tcase_add_test(tcase, refusals_are_warnings);
    tcase_add_test(tcase, refusals_are_limited);
    tcase_add_test(tcase, refusals_are_limited_apart);
    tcase_add_test(tcase, no_secret_is_logged);
    tcase_add_test(tcase, method_cannot_forge_a_line);
    suite_add_tcase(suite, tcase);
    return suite;
}
