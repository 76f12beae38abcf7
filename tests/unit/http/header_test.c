/* SPDX-License-Identifier: MIT */
/* Tests of reading headers. */
#include "http/header.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "cases.h"
#include "suites.h"

#define KEY "adit_00000000000000000000000000000000000000000002CZclj"
#define KEY_OF_ACCOUNT                                                                             \
    "adit_0000000000000000000000000000000000000000"                                                \
    "0000000000000000000000000000000T20xp"

static const struct request empty_request = {.method = "GET",
                                             .path = "",
                                             .query = "",
                                             .script_name = "",
                                             .scheme = "http",
                                             .host = "",
                                             .server_name = "",
                                             .server_port = "",
                                             .authorization = "",
                                             .version = "",
                                             .content_type = ""};

/* Compares the condition if the header was refused (ok is NULL). */
static void expect_symbol(const struct test_case *test, const char *ok, const struct error *err)
{
    const char *symbol = ok ? ok : error_row(err->code)->symbol;

    ck_assert_msg(strcmp(symbol, test->expected) == 0, "%s:%d: %s (%s)", test->file, test->line,
                  symbol, test->why);
}

static void expect(const struct test_case *test, bool ok, const struct error *err)
{
    expect_symbol(test, ok ? "ok" : NULL, err);
}

static void check_authorization(const struct test_case *test)
{
    struct request request = empty_request;
    struct text key = {0};
    struct error err = {.code = ERR_NONE};
    bool is_of_account = strcmp(test->expected, "account") == 0;
    const char *wanted = is_of_account ? KEY_OF_ACCOUNT : KEY;
    bool ok;

    request.authorization = test->input;
    ok = header_bearer(&request, &key, &err);
    expect_symbol(test, !ok ? NULL : is_of_account ? "account" : "ok", &err);
    if (ok)
        ck_assert_msg(text_eq(key, text_of(wanted)), "%s:%d: %.*s", test->file, test->line,
                      (int)key.len, key.s);
    else
        ck_assert_int_eq(error_row(err.code)->status, 401);
    /* A repeated header is never accepted. */
    request.authorization_repeated = true;
    ck_assert_msg(!header_bearer(&request, &key, &err), "%s:%d: repeated", test->file, test->line);
    ck_assert_int_eq(error_row(err.code)->status, 401);
}

START_TEST(authorization_of_case_file)
{
    cases_run("authorization.cases", check_authorization);
}
END_TEST

static void check_content_type(const struct test_case *test)
{
    struct request request = empty_request;
    struct error err = {.code = ERR_NONE};
    bool ok;

    request.content_type = test->input;
    ok = header_content_type(&request, &err);
    expect(test, ok, &err);
    ck_assert(ok || error_row(err.code)->status == 415);
}

START_TEST(content_types_of_case_file)
{
    cases_run("content_type.cases", check_content_type);
}
END_TEST

START_TEST(versions)
{
    static const struct {
        const char *version;
        bool repeated;
        enum error_code code;
    } cases[] = {
        {"2", false, ERR_NONE},
        {"", false, ERR_VERSION_MISSING},
        {"", true, ERR_VERSION_UNSUPPORTED},
        {"2", true, ERR_VERSION_UNSUPPORTED},
        {"1", false, ERR_VERSION_UNSUPPORTED},
        {"3", false, ERR_VERSION_UNSUPPORTED},
        {"0", false, ERR_VERSION_UNSUPPORTED},
        {"02", false, ERR_VERSION_UNSUPPORTED},
        {"2.0", false, ERR_VERSION_UNSUPPORTED},
        {"2 ", false, ERR_VERSION_UNSUPPORTED},
        {" 2", false, ERR_VERSION_UNSUPPORTED},
        {"22", false, ERR_VERSION_UNSUPPORTED},
        {"v2", false, ERR_VERSION_UNSUPPORTED},
        {"2, 2", false, ERR_VERSION_UNSUPPORTED},
        {"\xEF\xBC\x92", false, ERR_VERSION_UNSUPPORTED},
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct request request = empty_request;
        struct error err = {.code = ERR_NONE};
        bool ok;

        request.version = cases[i].version;
        request.version_repeated = cases[i].repeated;
        ok = header_version(&request, "Service-Version", &err);
        ck_assert_msg(ok == (cases[i].code == ERR_NONE) && err.code == cases[i].code, "'%s'",
                      cases[i].version);
        ck_assert(ok || strstr(err.msg, "Service-Version") != NULL);
        ck_assert(ok || error_row(err.code)->status == 400);
    }
}
END_TEST

/* Splits a copy of the input at '|' into the n fields. */
static void split(char *copy, const char **fields, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        fields[i] = copy;
        copy += strcspn(copy, "|");
        if (*copy)
            *copy++ = '\0';
        else
            ck_assert_uint_eq(i, n - 1);
    }
}

START_TEST(client_addresses)
{
    static const char *const good[] = {"192.0.2.1", "2001:db8::1", "::ffff:192.0.2.1"};
    static const char *const bad[] = {
        NULL,           "",      "unix:",   "192.0.2.1 x", "192.0.2.1:80", "192.0.2.256",
        "fe80::1%eth0", "[::1]", "example", "192.0.2.1\n", "0x7f.1"};

    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
        struct request request = {.remote_addr = good[i]};

        ck_assert_ptr_eq(header_client_address(&request), good[i]);
    }
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        struct request request = {.remote_addr = bad[i]};

        ck_assert_ptr_null(header_client_address(&request));
    }
}
END_TEST

static void check_host(const struct test_case *test)
{
    struct request request = empty_request;
    const char *fields[5];
    char *copy = strdup(test->input);
    struct buf url = {0};
    struct buf wanted = {0};
    struct error err = {.code = ERR_NONE};
    bool bad = strcmp(test->expected, "bad") == 0;

    split(copy, fields, 5);
    request.scheme = fields[0];
    request.host = fields[1];
    request.server_name = fields[2];
    request.server_port = fields[3];
    request.script_name = fields[4];
    ck_assert_msg(header_base_url(&request, &url, &err) != bad, "%s:%d: %s (%s)", test->file,
                  test->line, buf_text(&url).s, test->why);
    if (bad)
        ck_assert_int_eq(err.code, ERR_HOST_MALFORMED);
    cases_unescape(&wanted, test->expected);
    ck_assert_msg(bad || text_eq(buf_text(&url), buf_text(&wanted)), "%s:%d: %s (%s)", test->file,
                  test->line, buf_text(&url).s, test->why);
    buf_free(&url);
    buf_free(&wanted);
    free(copy);
}

START_TEST(base_urls_of_case_file)
{
    cases_run("host.cases", check_host);
}
END_TEST

Suite *header_suite(void)
{
    Suite *suite = suite_create("http/header");
    TCase *tcase = tcase_create("header");

    tcase_add_test(tcase, authorization_of_case_file);
    tcase_add_test(tcase, content_types_of_case_file);
    tcase_add_test(tcase, versions);
    tcase_add_test(tcase, client_addresses);
    tcase_add_test(tcase, base_urls_of_case_file);
    suite_add_tcase(suite, tcase);
    return suite;
}
