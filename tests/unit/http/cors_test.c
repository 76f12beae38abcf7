/* SPDX-License-Identifier: MIT */
/* Tests of cross-origin requests. */
#include "http/cors.h"

#include <check.h>
#include <string.h>

#include "http/response.h"
#include "suites.h"

#define LISTED "https://a.example"
#define SETTING LISTED "\t http://[::1]:8080"
#define ALLOW "Access-Control-Allow-Origin: "
#define EXPOSE                                                                                     \
    "Access-Control-Expose-Headers: ETag, Idempotent-Replayed, Retry-After, "                      \
    "Service-Operation-Id\r\n"
#define PREFLIGHT                                                                                  \
    "Access-Control-Allow-Methods: GET, HEAD\r\n"                                                  \
    "Access-Control-Allow-Headers: Authorization, Content-Type, Idempotency-Key, If-Match, "       \
    "If-None-Match, Service-Version\r\n"                                                           \
    "Access-Control-Max-Age: 600\r\n"

static struct http_names names;
static struct response response;

static void set_up(void)
{
    names_fill(&names, "service");
    response = (struct response){0};
}

static void tear_down(void)
{
    buf_free(&response.headers);
}

START_TEST(origins)
{
    static const char *const good[] = {
        "https://a.example",
        "http://a.example:8080",
        "http://localhost:3000",
        "https://a-b.c_d.example",
        "http://127.0.0.1",
        "https://[2001:db8::1]:8443",
        "http://a:443",
        "https://a:80",
        "chrome-extension://abcdefghij",
        "https://xn--bcher-kva.example",
    };
    static const char *const bad[] = {
        "",
        "a.example",
        "https:",
        "https://",
        "https:/a.example",
        "https://a.example/",
        "https://a.example/x",
        "https://a.example:",
        "https://a.example:0",
        "https://a.example:080",
        "https://a.example:65536",
        "https://a.example:443",
        "http://a.example:80",
        "https://A.example",
        "https://a.Example",
        "HTTPS://a.example",
        "https://u@a.example",
        "https://a.example?x",
        "https://a.example#x",
        "https://*.example",
        "https://[::1",
        "https://[]",
        "https://a.example\r\nX: 1",
        "null",
        "*",
        "://a.example",
        "1://a.example",
    };
    char longest[CORS_ORIGIN_MAX + 2] = "https://";

    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++)
        ck_assert_msg(!cors_origin_fault(text_of(good[i])), "%s", good[i]);
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        ck_assert_msg(cors_origin_fault(text_of(bad[i])), "%s", bad[i]);
    memset(longest + 8, 'a', sizeof longest - 8);
    ck_assert_ptr_null(cors_origin_fault((struct text){longest, CORS_ORIGIN_MAX}));
    ck_assert_ptr_nonnull(cors_origin_fault((struct text){longest, CORS_ORIGIN_MAX + 1}));
    ck_assert_ptr_nonnull(cors_origin_fault((struct text){"https://a\0b", 11}));
    ck_assert_ptr_nonnull(cors_origin_fault((struct text){"ht\0s://a", 8}));
}
END_TEST

static void expect(const char *setting, const char *origin, const char *headers)
{
    const struct request request = {.origin = origin, .preflight_method = ""};

    buf_clear(&response.headers);
    cors_answer(setting, &request, &names, &response);
    ck_assert_str_eq(buf_text(&response.headers).s, headers);
}

START_TEST(answers)
{
    expect(NULL, LISTED, "");
    expect("", LISTED, "");
    expect(SETTING, LISTED, "Vary: Origin\r\n" ALLOW LISTED "\r\n" EXPOSE);
    expect(SETTING, "http://[::1]:8080", "Vary: Origin\r\n" ALLOW "http://[::1]:8080\r\n" EXPOSE);
    expect("*", "https://any.example", "Vary: Origin\r\n" ALLOW "*\r\n" EXPOSE);
    expect("*", "null", "Vary: Origin\r\n" ALLOW "*\r\n" EXPOSE);
    expect("*", "", "Vary: Origin\r\n");
}
END_TEST

/* Nothing but the very bytes of an origin is that origin. */
START_TEST(origins_that_are_not_listed)
{
    static const char *const others[] = {"",
                                         "null",
                                         "*",
                                         "http://a.example",
                                         "https://a.example:443",
                                         "https://a.example/",
                                         "https://a.exampl",
                                         "https://a.example.b",
                                         "https://A.example",
                                         "https://x.a.example",
                                         SETTING,
                                         LISTED ", " LISTED,
                                         LISTED " "};

    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++)
        expect(SETTING, others[i], "Vary: Origin\r\n");
}
END_TEST

static void expect_preflight(const char *setting, const char *origin, const char *method,
                             const char *headers)
{
    const struct request request = {.origin = origin, .preflight_method = method};

    buf_clear(&response.headers);
    cors_preflight(setting, &request, &names, "GET, HEAD", &response);
    ck_assert_str_eq(buf_text(&response.headers).s, headers);
}

START_TEST(preflights)
{
    expect_preflight(SETTING, LISTED, "PATCH", PREFLIGHT);
    expect_preflight("*", "https://any.example", "PATCH", PREFLIGHT);
    expect_preflight(NULL, LISTED, "PATCH", "");
    expect_preflight("", LISTED, "PATCH", "");
    expect_preflight(SETTING, LISTED, "", "");
    expect_preflight(SETTING, "", "PATCH", "");
    expect_preflight(SETTING, "https://b.example", "PATCH", "");
}
END_TEST

Suite *cors_suite(void)
{
    Suite *suite = suite_create("http/cors");
    TCase *tcase = tcase_create("cors");

    tcase_add_checked_fixture(tcase, set_up, tear_down);
    tcase_add_test(tcase, origins);
    tcase_add_test(tcase, answers);
    tcase_add_test(tcase, origins_that_are_not_listed);
    tcase_add_test(tcase, preflights);
    suite_add_tcase(suite, tcase);
    return suite;
}
