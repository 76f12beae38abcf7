/* SPDX-License-Identifier: MIT */
/* Tests of answers, byte for byte. */
#include "http/response.h"

#include <check.h>
#include <stdio.h>

#include "json/check.h"
#include "suites.h"

static struct http_names names;
static struct response response;

static void set_up(void)
{
    names_fill(&names, "service");
    response = (struct response){0};
    response_start(&response, &names, "op_1");
}

static void tear_down(void)
{
    buf_free(&response.headers);
    buf_free(&response.body);
}

#define COMMON "Service-Operation-Id: op_1\r\nCache-Control: no-store\r\n"
#define JSON "Content-Type: application/json\r\n"

static void expect(int status, const char *headers, const char *body)
{
    ck_assert_int_eq(response.status, status);
    ck_assert_str_eq(response.headers.data, headers);
    ck_assert_str_eq(buf_text(&response.body).s, body);
}

START_TEST(success)
{
    buf_puts(&response.body, "{}");
    response_finish(&response, 200);
    expect(200, COMMON JSON, "{}");
}
END_TEST

START_TEST(no_content)
{
    response_finish(&response, 204);
    expect(204, COMMON, "");
}
END_TEST

START_TEST(further_headers)
{
    response_header(&response, "Allow", "GET, HEAD");
    response_finish(&response, 204);
    expect(204, COMMON "Allow: GET, HEAD\r\n", "");
}
END_TEST

/* No part of an answer is in the next one. */
START_TEST(start_empties)
{
    buf_puts(&response.body, "left over");
    response_header(&response, "Left", "over");
    response.omit_body = true;
    response.status = 500;
    response_start(&response, &names, "op_2");
    ck_assert(!response.omit_body);
    expect(0, "Service-Operation-Id: op_2\r\nCache-Control: no-store\r\n", "");
}
END_TEST

START_TEST(error_with_the_catalogues_text)
{
    struct error err;

    error_set(&err, ERR_PATH_UNKNOWN);
    ck_assert(response_error(&response, &names, "op_1", &err));
    expect(404, COMMON JSON,
           "{\"error_code\":\"ERR_SERVICE_9000\",\"status_code\":404,"
           "\"msg\":\"There is nothing at this path.\",\"details\":{\"operation_id\":\"op_1\"}}");
}
END_TEST

START_TEST(error_in_a_member)
{
    struct error err;

    error_field(&err, ERR_ACL_RULE, "acl[1]", "acl[1] is '%s'", "\"x\"\n\xC3\xA9");
    ck_assert(response_error(&response, &names, "op_1", &err));
    expect(400, COMMON JSON,
           "{\"error_code\":\"ERR_SERVICE_600\",\"status_code\":400,"
           "\"msg\":\"acl[1] is '\\\"x\\\"\\n\xC3\xA9'\","
           "\"details\":{\"operation_id\":\"op_1\",\"field\":\"acl[1]\"}}");
}
END_TEST

/* All details are strings: clients break on other types. */
START_TEST(error_with_an_offset)
{
    struct error err;

    error_say(&err, ERR_BODY_NOT_JSON, "no");
    err.has_offset = true;
    err.offset = 65535;
    ck_assert(response_error(&response, &names, "op_1", &err));
    expect(400, COMMON JSON,
           "{\"error_code\":\"ERR_SERVICE_213\",\"status_code\":400,\"msg\":\"no\","
           "\"details\":{\"operation_id\":\"op_1\",\"offset\":\"65535\"}}");
}
END_TEST

START_TEST(error_replaces_what_was_there)
{
    struct error err;

    buf_puts(&response.body, "{\"half\":");
    response_header(&response, "Left", "over");
    response.omit_body = true;
    error_set(&err, ERR_PATH_UNKNOWN);
    ck_assert(response_error(&response, &names, "op_1", &err));
    ck_assert(response.omit_body);
    ck_assert_str_eq(response.headers.data, COMMON JSON);
    ck_assert_ptr_null(strstr(response.body.data, "half"));
}
END_TEST

START_TEST(error_after_a_lack_of_memory)
{
    struct error err;

    response.body.failed = true;
    response.headers.failed = true;
    error_set(&err, ERR_OUT_OF_MEMORY);
    ck_assert(response_error(&response, &names, "op_1", &err));
    ck_assert_int_eq(response.status, 503);
}
END_TEST

START_TEST(cause_stays_inside)
{
    struct error err;

    error_cause(&err, ERR_INTERNAL, "database: 42601 at host db.example");
    ck_assert(response_error(&response, &names, "op_1", &err));
    ck_assert_ptr_null(strstr(response.body.data, "42601"));
    ck_assert_ptr_null(strstr(response.body.data, "db.example"));
}
END_TEST

static const char *challenge_of(enum error_code code)
{
    switch (code) {
    case ERR_AUTH_MISSING:
    case ERR_AUTH_NOT_BEARER:
        return "\r\nWWW-Authenticate: Bearer\r\n";
    default:
        return "\r\nWWW-Authenticate: Bearer error=\"invalid_token\"\r\n";
    }
}

/* Each row of the catalogue gives its own number, its headers and a valid JSON object. */
START_TEST(every_error)
{
    int n_cases = 0;

    for (enum error_code code = ERR_NONE + 1; code < ERR_N_CODES; code++) {
        const struct error_row *row = error_row(code);
        char number[64];
        struct error err;
        struct error fault;

        error_set(&err, code);
        ck_assert(response_error(&response, &names, "op_1", &err));
        ck_assert_int_eq(response.status, row->status);
        snprintf(number, sizeof number, "{\"error_code\":\"ERR_SERVICE_%d\",\"status_code\":%d,",
                 row->number, row->status);
        ck_assert_msg(strncmp(response.body.data, number, strlen(number)) == 0, "%s",
                      response.body.data);
        ck_assert_msg(json_check(response.body.data, response.body.len, &fault), "%s: %s",
                      row->symbol, fault.msg);
        ck_assert_msg(strncmp(response.headers.data, COMMON, strlen(COMMON)) == 0, "%s",
                      response.headers.data);
        ck_assert(strstr(response.headers.data, "\r\n" JSON) != NULL);
        ck_assert_msg((strstr(response.headers.data, "\r\nRetry-After: ") != NULL) ==
                          (row->status == 503),
                      "%s: %s", row->symbol, response.headers.data);
        ck_assert_msg((strstr(response.headers.data, "\r\nWWW-Authenticate: ") != NULL) ==
                          (row->status == 401),
                      "%s: %s", row->symbol, response.headers.data);
        if (row->status == 401)
            ck_assert_msg(strstr(response.headers.data, challenge_of(code)) != NULL, "%s: %s",
                          row->symbol, response.headers.data);
        n_cases++;
    }
    printf("errors: %d cases\n", n_cases);
    ck_assert_int_gt(n_cases, 0);
}
END_TEST

Suite *response_suite(void)
{
    Suite *suite = suite_create("http/response");
    TCase *tcase = tcase_create("response");

    tcase_add_checked_fixture(tcase, set_up, tear_down);
    tcase_add_test(tcase, success);
    tcase_add_test(tcase, no_content);
    tcase_add_test(tcase, further_headers);
    tcase_add_test(tcase, start_empties);
    tcase_add_test(tcase, error_with_the_catalogues_text);
    tcase_add_test(tcase, error_in_a_member);
    tcase_add_test(tcase, error_with_an_offset);
    tcase_add_test(tcase, error_replaces_what_was_there);
    tcase_add_test(tcase, error_after_a_lack_of_memory);
    tcase_add_test(tcase, cause_stays_inside);
    tcase_add_test(tcase, every_error);
    suite_add_tcase(suite, tcase);
    return suite;
}
