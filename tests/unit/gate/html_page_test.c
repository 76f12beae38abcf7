/* SPDX-License-Identifier: MIT */
/* Tests of pages: words are escaped, cut and isolated, and the policy fits the page. */
#include "gate/html_page.h"

#include <check.h>
#include <stdio.h>
#include <string.h>

#include "base/utf8.h"
#include "crypt/crypt.h"
#include "crypt/key.h"
#include "suites.h"

#define PAGE_SIZE_MAX 8192
#define SIGN_OUT "<form method=\"post\" action=\"/_adit/logout\"><button>Sign out</button></form>"

static struct buf page;

static void free_page(void)
{
    buf_free(&page);
}

static const char *written(enum html_page which, struct html_page_words words)
{
    buf_clear(&page);
    html_page_write(&page, which, &words);
    ck_assert(!page.failed);
    ck_assert_uint_lt(page.len, PAGE_SIZE_MAX);
    ck_assert(utf8_valid(page.data, page.len));
    return page.data;
}

static void expect_part(const char *part)
{
    ck_assert_msg(strstr(page.data, part) != NULL, "no %s in %s", part, page.data);
}

static void expect_no_part(const char *part)
{
    ck_assert_msg(strstr(page.data, part) == NULL, "%s in %s", part, page.data);
}

static int count(const char *part)
{
    int n = 0;

    for (const char *at = page.data; (at = strstr(at, part)); at += strlen(part))
        n++;
    return n;
}

START_TEST(statuses_and_titles)
{
    static const struct {
        int status;
        const char *title;
    } wanted[HTML_PAGE_N] = {
        [HTML_PAGE_SIGN_OUT] = {200, "Sign out of this site?"},
        [HTML_PAGE_SIGNED_OUT] = {200, "Signed out"},
        [HTML_PAGE_NOT_ALLOWED] = {403, "Not allowed"},
        [HTML_PAGE_NO_PROVIDER] = {403, "Nobody is let in"},
        [HTML_PAGE_NO_MODULE] = {403, "Nobody is let in"},
        [HTML_PAGE_NOT_SET_UP] = {503, "Nobody can sign in"},
        [HTML_PAGE_CHECK_AWAY] = {503, "Your sign-in cannot be checked now"},
        [HTML_PAGE_PROVIDER_AWAY] = {503, "You cannot sign in now"},
        [HTML_PAGE_LOGIN_FAILED] = {403, "Sign-in failed"},
        [HTML_PAGE_NOT_READY] = {503, "Not ready"},
    };
    char part[64];

    for (int i = 0; i < HTML_PAGE_N; i++) {
        ck_assert_int_eq(html_page_status((enum html_page)i), wanted[i].status);
        written((enum html_page)i, (struct html_page_words){.who = {.s = NULL}});
        snprintf(part, sizeof part, "<title>%s</title>", wanted[i].title);
        expect_part(part);
        snprintf(part, sizeof part, "<main>\n<h1>%s</h1>\n<p>", wanted[i].title);
        expect_part(part);
        ck_assert_ptr_eq(strstr(page.data, "<!DOCTYPE html>\n<html lang=\"en\">"), page.data);
        expect_part("</html>\n");
        expect_no_part("<bdi>");
        expect_no_part("<a ");
        expect_no_part("<form");
        expect_no_part("<script");
        expect_no_part("://");
        expect_no_part("(null)");
    }
}
END_TEST

START_TEST(words_of_pages)
{
    struct html_page_words words = {.who = text_of("ann@example.com"),
                                    .provider = text_of("GitHub"),
                                    .again = text_of("/a?b&c"),
                                    .logout = text_of("/_adit/logout")};

    written(HTML_PAGE_NOT_ALLOWED, words);
    expect_part("<p>You are signed in as <bdi>ann@example.com</bdi>.</p>\n"
                "<p>This site does not let you in. Its operator decides who may pass.</p>\n"
                "<p><a href=\"/a?b&amp;c\">Try again</a></p>\n" SIGN_OUT "\n</main>");
    written(HTML_PAGE_SIGN_OUT, words);
    expect_part("<p>You are signed in as <bdi>ann@example.com</bdi>.</p>\n"
                "<p>You sign out with the button below.</p>\n"
                "<p><a href=\"/a?b&amp;c\">Stay signed in</a></p>\n" SIGN_OUT "\n</main>");
    words.who.s = NULL;
    words.logout.s = NULL;
    written(HTML_PAGE_SIGNED_OUT, words);
    expect_part("<p>You are signed out of this site.</p>\n"
                "<p>You may still be signed in at <bdi>GitHub</bdi>.</p>\n"
                "<p><a href=\"/a?b&amp;c\">Sign in</a></p>\n</main>");
    written(HTML_PAGE_PROVIDER_AWAY, words);
    expect_part("<p><bdi>GitHub</bdi> does not answer.</p>\n<p>Try again in a minute.</p>\n");
    written(HTML_PAGE_LOGIN_FAILED, words);
    expect_part("<p><bdi>GitHub</bdi> did not sign you in, or ");
    words.provider.s = NULL;
    written(HTML_PAGE_PROVIDER_AWAY, words);
    expect_part("<p>The service that you sign in with does not answer.</p>\n");
    written(HTML_PAGE_SIGNED_OUT, words);
    expect_no_part("still");
}
END_TEST

START_TEST(words_are_escaped)
{
    struct html_page_words words = {.who = text_of("</bdi><script>alert(\"1\" + '2') & </script>"),
                                    .provider = text_of("<b>"),
                                    .again = text_of("/\"><script>'&amp;"),
                                    .logout = text_of("/'\"<>")};

    written(HTML_PAGE_LOGIN_FAILED, words);
    expect_part("<bdi>&lt;/bdi&gt;&lt;script&gt;alert(&#34;1&#34; + &#39;2&#39;) &amp; "
                "&lt;/script&gt;</bdi>");
    expect_part("<bdi>&lt;b&gt;</bdi>");
    expect_part("<a href=\"/&#34;&gt;&lt;script&gt;&#39;&amp;amp;\">");
    expect_part("action=\"/&#39;&#34;&lt;&gt;\">");
    expect_no_part("<script");
}
END_TEST

START_TEST(odd_characters)
{
    struct html_page_words words = {.who = text_of("a\xE2\x80\xAE"
                                                   "b\nc\x1B\x7F\xC2\x85 \xD7\xA9\xFF\xC3")};

    written(HTML_PAGE_NOT_ALLOWED, words);
    expect_part("<bdi>a\xEF\xBF\xBD"
                "b\xEF\xBF\xBD"
                "c\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD "
                "\xD7\xA9\xEF\xBF\xBD\xEF\xBF\xBD</bdi>");
    words.who = (struct text){.s = "a\0b", .len = 3};
    written(HTML_PAGE_NOT_ALLOWED, words);
    expect_part("<bdi>a\xEF\xBF\xBD"
                "b</bdi>");
}
END_TEST

START_TEST(long_names_are_cut)
{
    char name[5 * HTML_PAGE_NAME_MAX];
    char wanted[5 * HTML_PAGE_NAME_MAX];

    memset(name, 'a', sizeof name);
    written(HTML_PAGE_NOT_ALLOWED,
            (struct html_page_words){.who = {.s = name, .len = HTML_PAGE_NAME_MAX}});
    snprintf(wanted, sizeof wanted, "<bdi>%.*s</bdi>", HTML_PAGE_NAME_MAX, name);
    expect_part(wanted);
    written(HTML_PAGE_NOT_ALLOWED,
            (struct html_page_words){.who = {.s = name, .len = HTML_PAGE_NAME_MAX + 1}});
    snprintf(wanted, sizeof wanted, "<bdi>%.*s\xE2\x80\xA6</bdi>", HTML_PAGE_NAME_MAX, name);
    expect_part(wanted);
    for (size_t i = 0; i < sizeof name; i++)
        name[i] = i % 2 == 0 ? '\xC3' : '\xBC';
    written(HTML_PAGE_NOT_ALLOWED,
            (struct html_page_words){.who = {.s = name, .len = sizeof name}});
    ck_assert_int_eq(count("\xC3\xBC"), HTML_PAGE_NAME_MAX);
}
END_TEST

START_TEST(links_that_are_none)
{
    static const char *const paths[] = {"",        "//evil.example", "https://evil.example/",
                                        "a",       "/\\evil",        "javascript:alert(1)",
                                        "/a\r\nb", "/..//evil",      "/\xC3\xBC"};
    char longest[HTML_PAGE_PATH_MAX + 2];

    for (size_t i = 0; i < sizeof paths / sizeof paths[0]; i++) {
        written(HTML_PAGE_NOT_ALLOWED,
                (struct html_page_words){.again = text_of(paths[i]), .logout = text_of(paths[i])});
        ck_assert_msg(!strstr(page.data, "href") && !strstr(page.data, "<form"), "%s", paths[i]);
    }
    memset(longest, 'a', sizeof longest - 1);
    longest[0] = '/';
    longest[sizeof longest - 1] = '\0';
    written(HTML_PAGE_NOT_ALLOWED, (struct html_page_words){.again = text_of(longest)});
    expect_no_part("href");
    longest[HTML_PAGE_PATH_MAX] = '\0';
    written(HTML_PAGE_NOT_ALLOWED, (struct html_page_words){.again = text_of(longest)});
    expect_part(longest);
}
END_TEST

/* The largest page: everything is as long as may be, and each character grows by most. */
START_TEST(size_of_the_largest_page)
{
    char name[HTML_PAGE_NAME_MAX + 50];
    char path[HTML_PAGE_PATH_MAX];
    struct html_page_words words = {.who = {.s = name, .len = sizeof name},
                                    .provider = {.s = name, .len = sizeof name},
                                    .again = {.s = path, .len = sizeof path},
                                    .logout = {.s = path, .len = sizeof path}};

    memset(name, '"', sizeof name);
    memset(path, '"', sizeof path);
    path[0] = '/';
    for (int i = 0; i < HTML_PAGE_N; i++) {
        written((enum html_page)i, words);
        ck_assert_int_ge(count("&#34;"), 2 * (HTML_PAGE_PATH_MAX - 1) + HTML_PAGE_NAME_MAX);
    }
}
END_TEST

START_TEST(policy_has_the_digest_of_the_style)
{
    const char *from = strstr(
        written(HTML_PAGE_SIGNED_OUT, (struct html_page_words){.who = {.s = NULL}}), "<style>");
    const char *to = from ? strstr(from, "</style>") : NULL;
    unsigned char digest[CRYPT_SHA256_LEN];
    char text[CRYPT_KEY_ENCODED_SIZE(CRYPT_SHA256_LEN)];
    char source[80];

    ck_assert_ptr_nonnull(to);
    from += strlen("<style>");
    ck_assert(crypt_sha256(from, (size_t)(to - from), digest));
    crypt_key_base64_encode(digest, sizeof digest, text);
    snprintf(source, sizeof source, "style-src 'sha256-%s'; ", text);
    ck_assert_msg(strstr(HTML_PAGE_POLICY, source) != NULL, "%s", source);
    ck_assert_int_eq(count("<style>"), 1);
    expect_no_part(" style=");
}
END_TEST

Suite *gate_html_page_suite(void)
{
    Suite *suite = suite_create("gate/html_page");
    TCase *tcase = tcase_create("page");

    tcase_add_checked_fixture(tcase, NULL, free_page);
    tcase_add_test(tcase, statuses_and_titles);
    tcase_add_test(tcase, words_of_pages);
    tcase_add_test(tcase, words_are_escaped);
    tcase_add_test(tcase, odd_characters);
    tcase_add_test(tcase, long_names_are_cut);
    tcase_add_test(tcase, links_that_are_none);
    tcase_add_test(tcase, size_of_the_largest_page);
    tcase_add_test(tcase, policy_has_the_digest_of_the_style);
    suite_add_tcase(suite, tcase);
    return suite;
}
