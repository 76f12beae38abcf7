/* SPDX-License-Identifier: MIT */
/* Tests of cookies: hostile Cookie headers, what the application sees, and Set-Cookie. */
#include "gate/cookie.h"

#include <check.h>
#include <stdio.h>

#include "cases.h"
#include "suites.h"

/* ---- reading ---- */

/* The input is a header; expected: the values of all cookies "a", each in brackets. */
static void expect_values(const struct test_case *test)
{
    struct arena arena = {0};
    struct cookies cookies;
    size_t place = 0;
    struct buf found = {0};
    struct text value;

    cookies_read((struct text){test->input, test->input_len}, &arena, &cookies);
    buf_add(&found, "", 0);
    while ((value = cookie_next(&cookies, &place, text_of("a"))).s) {
        buf_puts(&found, "[");
        buf_add(&found, value.s, value.len);
        buf_puts(&found, "]");
    }
    ck_assert_msg(text_eq(buf_text(&found), text_of(test->expected)), "%s:%d: \"%s\" (%s)",
                  test->file, test->line, buf_text(&found).s, test->why);
    ck_assert_uint_eq(place, cookies.n);
    buf_free(&found);
    arena_free(&arena);
}

START_TEST(values_of_a_name)
{
    cases_run("cookies.cases", expect_values);
}
END_TEST

START_TEST(names_that_end_so)
{
    struct text header = text_of("session=1; a.session=2; session.a=3; a.sessions=4; ession=5; "
                                 "xsession=6; Session=7; =session=8; session");
    struct arena arena = {0};
    struct cookies cookies;
    size_t place = 0;

    cookies_read(header, &arena, &cookies);
    for (const char *wanted = "126"; *wanted; wanted++) {
        struct text value = cookie_next_ending(&cookies, &place, text_of("session"));

        ck_assert(text_eq(value, (struct text){.s = wanted, .len = 1}));
    }
    ck_assert_ptr_null(cookie_next_ending(&cookies, &place, text_of("session")).s);
    arena_free(&arena);
}
END_TEST

START_TEST(no_header)
{
    struct text header = {.s = NULL};
    struct arena arena = {0};
    struct cookies cookies;
    size_t place = 0;
    struct buf out = {0};

    cookies_read(header, &arena, &cookies);
    ck_assert_ptr_null(cookie_next(&cookies, &place, text_of("a")).s);
    ck_assert(!arena.failed);
    cookie_without(&out, header, &(struct cookie_own){.prefix = text_of("a.")});
    ck_assert_uint_eq(out.len, 0);
    ck_assert(!out.failed);
    arena_free(&arena);
}
END_TEST

/* ---- for the application ---- */

/* The context is the value of a session. */
static bool is_that_session(void *context, struct text value)
{
    return text_eq(value, text_of(context));
}

static char session_elsewhere[] =
    "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";

static void expect_without(const char *prefix, const char *header, const char *wanted)
{
    const struct cookie_own own = {text_of(prefix), is_that_session, session_elsewhere};
    struct buf out = {0};

    cookie_without(&out, text_of(header), &own);
    ck_assert(!out.failed);
    ck_assert_str_eq(buf_text(&out).s, wanted);
    buf_free(&out);
}

START_TEST(own_cookies_are_removed)
{
    expect_without("adit.", "adit.session=x", "");
    expect_without("adit.", "a=1; adit.session=x; b=2", "a=1; b=2");
    expect_without("adit.", "adit.session=x; a=1; adit.session=y", "a=1");
    expect_without("adit.", "a=1;adit.state.abcdefgh=x;b=2", "a=1;b=2");
    expect_without("adit.", "a=1; \t adit.session \t = x ; b=2", "a=1; b=2");
    expect_without("adit.", "a=\"x; adit.session=x; y\"; b=2", "a=\"x; y\"; b=2");
    expect_without("adit.", "adit.session=", "");
    expect_without("adit.", "adit.session", "");
    expect_without("adit.", "adit.session=x=y", "");
    expect_without("", "session=x; state.abcdefgh=y; a=1", "a=1");
}
END_TEST

#define SEALED "AbCdEfGhIjKlMnOpQrStUvWxYz0123456789-_AbCdEfGhIjKlMnOpQrStUvWxYz01"

/* Apache makes one header of several, with a comma and a blank. */
START_TEST(joined_headers)
{
    struct text sessions = text_of("b=1, adit.session=" SEALED ", adit.session=2; c=3");
    struct text states =
        text_of("b=1, adit.state.abcdefgh=" SEALED "; adit.state.abc=2; adit.state.12345678=3");
    struct text prefix = text_of("adit.");
    struct arena arena = {0};
    struct cookies cookies;
    const struct cookie_read *state;
    size_t place = 0;

    cookies_read(sessions, &arena, &cookies);
    ck_assert(text_eq(cookie_next(&cookies, &place, text_of("adit.session")), text_of(SEALED)));
    ck_assert(text_eq(cookie_next(&cookies, &place, text_of("adit.session")), text_of("2")));
    ck_assert_ptr_null(cookie_next(&cookies, &place, text_of("adit.session")).s);
    cookies_read(states, &arena, &cookies);
    place = 0;
    ck_assert_ptr_nonnull(state = cookie_next_state(&cookies, &place, prefix));
    ck_assert(text_eq(state->name, text_of("adit.state.abcdefgh")));
    ck_assert(text_eq(state->value, text_of(SEALED)));
    ck_assert_ptr_nonnull(state = cookie_next_state(&cookies, &place, prefix));
    ck_assert(text_eq(state->value, text_of("3")));
    ck_assert_ptr_null(cookie_next_state(&cookies, &place, prefix));
    arena_free(&arena);
    expect_without("adit.", "a=\"1, 2\", adit.session=" SEALED, "a=\"1, 2\"");
    expect_without("adit.", "adit.session=" SEALED ", a=1; b=2", "a=1; b=2");
    expect_without("adit.", "a=1; adit.session=" SEALED ", b=2, c", "a=1;b=2, c");
    expect_without("adit.", "a=1, adit.session=" SEALED ", b=2; c=3", "a=1, b=2; c=3");
    expect_without("adit.", "adit.session=" SEALED ", adit.state.abcdefgh=" SEALED, "");
    expect_without("adit.", "adit.session=" SEALED ", adit.state.abcdefgh=" SEALED "; a=1", "a=1");
    /* What does not look sealed is the application's, whatever its value holds. */
    expect_without("adit.", "a=1, adit.session=x, 2; b=3", "a=1, adit.session=x, 2; b=3");
    expect_without("adit.", "a=1,adit.session=" SEALED, "a=1,adit.session=" SEALED);
    expect_without("adit.", "a=, ; b=,", "a=, ; b=,");
    expect_without("adit.", "adit.session=x, a=1; b=2", "b=2");
}
END_TEST

START_TEST(other_cookies_stay)
{
    expect_without("adit.", "", "");
    expect_without("adit.", " ; ;; \t", " ; ;; \t");
    expect_without("adit.", "a=1;;b=2;", "a=1;;b=2;");
    expect_without("adit.", "a=\"1 2\"; =3; b; c==", "a=\"1 2\"; =3; b; c==");
    expect_without("adit.", "a=\xC3\xBC\xFF", "a=\xC3\xBC\xFF");
    expect_without("adit.", "adit.sessions=1; adit.session.a=2; adit.=3; adit.state.=4",
                   "adit.sessions=1; adit.session.a=2; adit.=3; adit.state.=4");
    expect_without("adit.", "adit.state.abcdefg=1; adit.state.abcdefghi=2; Adit.session=3",
                   "adit.state.abcdefg=1; adit.state.abcdefghi=2; Adit.session=3");
    expect_without("adit.", "adit.session=x; \t a=1 ;; b = 2 ;", "a=1 ;; b = 2 ;");
    expect_without("adit.", "a=1 ;adit.session=x;; b=2", "a=1 ;; b=2");
    expect_without("my", "myapp=1; mystate=2; mysession=3; sessionmy=4",
                   "myapp=1; mystate=2; sessionmy=4");
}
END_TEST

/* A browser sends the sessions of all routes of a host, whatever their prefixes. */
START_TEST(sessions_of_other_prefixes_are_removed)
{
    char header[256], wanted[256];

    for (int i = 0; i < 3; i++) {
        static const char *const names[] = {"two.session", "session", "my_session"};

        snprintf(header, sizeof header, "a=1; %s=%s; b=2", names[i], session_elsewhere);
        expect_without("adit.", header, "a=1; b=2");
        snprintf(header, sizeof header, "a=1, %s=%s, b=2", names[i], session_elsewhere);
        expect_without("adit.", header, "a=1, b=2");
    }
    snprintf(header, sizeof header, "session=%sx; two.sessions=%s; b=2", session_elsewhere,
             session_elsewhere);
    snprintf(wanted, sizeof wanted, "%s", header);
    expect_without("adit.", header, wanted);
}
END_TEST

START_TEST(ends_of_headers_do_not_pass)
{
    static const char nul[] = "a=1; b=\0; c=3";
    struct buf out = {0};

    expect_without("adit.", "a=1\r\nX: y; b=2", "b=2");
    expect_without("adit.", "a=\x7F; b=\x1B; c=3; d=4\n", "a=\x7F; b=\x1B; c=3");
    expect_without("adit.", "a=1\t2;\tb=3", "a=1\t2;\tb=3");
    cookie_without(&out, (struct text){.s = nul, .len = sizeof nul - 1},
                   &(struct cookie_own){.prefix = text_of("adit.")});
    ck_assert_str_eq(buf_text(&out).s, "a=1; c=3");
    buf_free(&out);
}
END_TEST

/* ---- writing ---- */

/* NULL: refused. */
static void expect_written(const struct cookie *cookie, const char *wanted)
{
    struct buf out = {0};

    cookie_write(&out, cookie);
    ck_assert_int_eq(out.failed, !wanted);
    ck_assert_str_eq(buf_text(&out).s, wanted ? wanted : "");
    buf_free(&out);
}

START_TEST(attributes)
{
    struct cookie cookie = {.name = text_of("adit.session"),
                            .value = text_of("a-_Z09"),
                            .path = "/",
                            .max_age_s = -1,
                            .is_secure = true};

    expect_written(&cookie, "adit.session=a-_Z09; Path=/; HttpOnly; SameSite=Lax; Secure");
    cookie.is_secure = false;
    cookie.max_age_s = 600;
    cookie.path = "/_adit/";
    expect_written(&cookie,
                   "adit.session=a-_Z09; Path=/_adit/; Max-Age=600; HttpOnly; SameSite=Lax");
    cookie.value = text_of("");
    cookie.max_age_s = 0;
    expect_written(&cookie, "adit.session=; Path=/_adit/; Max-Age=0; HttpOnly; SameSite=Lax");
}
END_TEST

/* Browsers take such a cookie only with the path "/" and Secure, and without a domain. */
START_TEST(names_that_browsers_judge)
{
    struct cookie cookie = {
        .value = text_of("b"), .path = "/_adit/", .max_age_s = -1, .is_secure = true};

    cookie.name = text_of("__Host-adit.state.x");
    expect_written(&cookie, "__Host-adit.state.x=b; Path=/; HttpOnly; SameSite=Lax; Secure");
    cookie.name = text_of("__hOST-s");
    expect_written(&cookie, "__hOST-s=b; Path=/; HttpOnly; SameSite=Lax; Secure");
    cookie.name = text_of("__Secure-s");
    expect_written(&cookie, "__Secure-s=b; Path=/_adit/; HttpOnly; SameSite=Lax; Secure");
    cookie.name = text_of("__Hos");
    expect_written(&cookie, "__Hos=b; Path=/_adit/; HttpOnly; SameSite=Lax; Secure");
    for (int is_secure = 0; is_secure < 2; is_secure++) {
        ck_assert(cookie_prefix_works(text_of(""), is_secure));
        ck_assert(cookie_prefix_works(text_of("service."), is_secure));
        ck_assert(cookie_prefix_works(text_of("_Host-"), is_secure));
        ck_assert(cookie_prefix_works(text_of("__Host-"), is_secure) == is_secure);
        ck_assert(cookie_prefix_works(text_of("__hOsT-a."), is_secure) == is_secure);
        ck_assert(cookie_prefix_works(text_of("__secure-"), is_secure) == is_secure);
        ck_assert(cookie_prefix_works(text_of("__Http-"), is_secure) == is_secure);
    }
}
END_TEST

START_TEST(malformed_names_and_values)
{
    static const char *const names[] = {"",     "a b", "a;b",   "a=b",       "a,b",
                                        "a\nb", "a\t", "\"a\"", "a\r\nX: y", "\xC3\xBC"};
    static const char *const values[] = {"a b", "a;b", "a,b", "\"a\"", "a\\", "a\r\nX: y", "\xFF"};
    struct cookie cookie = {.name = text_of("a"), .value = text_of("b"), .path = "/"};

    for (size_t i = 0; i < sizeof values / sizeof values[0]; i++) {
        cookie.value = text_of(values[i]);
        expect_written(&cookie, NULL);
    }
    cookie.value = text_of("b");
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        cookie.name = text_of(names[i]);
        expect_written(&cookie, NULL);
    }
    cookie.name = (struct text){.s = "a\0b", .len = 3};
    expect_written(&cookie, NULL);
    cookie.name = text_of("!#$%&'*+-.^_`|~aZ9");
    expect_written(&cookie, "!#$%&'*+-.^_`|~aZ9=b; Path=/; Max-Age=0; HttpOnly; SameSite=Lax");
}
END_TEST

Suite *gate_cookie_suite(void)
{
    Suite *suite = suite_create("gate/cookie");
    TCase *tcase = tcase_create("cookie");

    tcase_add_test(tcase, values_of_a_name);
    tcase_add_test(tcase, names_that_end_so);
    tcase_add_test(tcase, no_header);
    tcase_add_test(tcase, own_cookies_are_removed);
    tcase_add_test(tcase, joined_headers);
    tcase_add_test(tcase, other_cookies_stay);
    tcase_add_test(tcase, sessions_of_other_prefixes_are_removed);
    tcase_add_test(tcase, ends_of_headers_do_not_pass);
    tcase_add_test(tcase, attributes);
    tcase_add_test(tcase, names_that_browsers_judge);
    tcase_add_test(tcase, malformed_names_and_values);
    suite_add_tcase(suite, tcase);
    return suite;
}
