/* SPDX-License-Identifier: MIT */
/* Tests of HTTPS requests, and of all that must fail them. */
#include "gate/fetch.h"

#include <check.h>
#include <dirent.h>
#include <dlfcn.h>
#include <netdb.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "mock.h"
#include "suites.h"

/* No reason may have it. */
#define SECRET "hidden-word"

static struct authorities *authorities;
static struct turns turns;
static struct fetcher *fetcher;
static struct arena arena;

/* libcurl's look-ups come here.  The names of this file need no DNS. */
int getaddrinfo(const char *node, const char *service, const struct addrinfo *hints,
                struct addrinfo **result)
{
    int (*real)(const char *, const char *, const struct addrinfo *, struct addrinfo **);

    if (node && strcmp(node, "none.test") == 0)
        return EAI_NONAME;
    if (node && strcmp(node, "slow.test") == 0) {
        poll(NULL, 0, 30000);
        return EAI_NONAME;
    }
    *(void **)&real = dlsym(RTLD_NEXT, "getaddrinfo");
    return real(node, service, hints, result);
}

static void trust(const struct wait *wait, const char *ca_file)
{
    fetcher_free(fetcher);
    authorities_free(authorities);
    authorities = fetch_authorities(ca_file);
    ck_assert_ptr_nonnull(authorities);
    fetcher = fetcher_new(&(struct turn){.wait = wait}, &turns, authorities);
    ck_assert_ptr_nonnull(fetcher);
}

static void set_up(void)
{
    ck_assert(fetch_start());
    trust(&wait_alone, mock_value("ca"));
}

static void tear_down(void)
{
    fetcher_free(fetcher);
    authorities_free(authorities);
    arena_free(&arena);
}

static const char *url_at(const char *mock, const char *path)
{
    static char url[512];

    snprintf(url, sizeof url, "%s%s", mock_value(mock), path);
    return url;
}

static struct fetch_request get(const char *url)
{
    return (struct fetch_request){
        .url = url, .accept = "application/json", .deadline_ms = clock_steady_ms() + 30000};
}

static struct fetch_answer succeed(const struct fetch_request *request)
{
    struct fetch_answer answer;
    const char *why = "";

    ck_assert_msg(fetch(fetcher, request, &arena, &answer, &why), "%s: %s", request->url, why);
    return answer;
}

/* The request fails for a reason that has these words. */
static void fail_because(const struct fetch_request *request, const char *words)
{
    struct fetch_answer answer;
    const char *why = "";

    ck_assert_msg(!fetch(fetcher, request, &arena, &answer, &why), "%s: succeeded", request->url);
    ck_assert_msg(strstr(why, words), "%s: %s", request->url, why);
    ck_assert_msg(!strstr(why, SECRET), "%s: %s", request->url, why);
}

static struct fetch_request get_with_secrets(const char *url)
{
    struct fetch_request request = get(url);

    request.bearer = text_of(SECRET);
    request.form = text_of("client_secret=" SECRET);
    return request;
}

START_TEST(an_answer)
{
    struct fetch_request request = get(url_at("github", "/user"));
    struct fetch_answer answer = succeed(&request);

    ck_assert_int_eq(answer.status, 401);
    ck_assert(text_eq(answer.content_type, text_of("application/json; charset=utf-8")));
    ck_assert(text_begins(answer.body, "{\"message\": \"Bad credentials\""));
    ck_assert_ptr_null(answer.next.s);
    ck_assert_uint_eq(strlen(answer.body.s), answer.body.len);
}
END_TEST

START_TEST(a_form)
{
    struct fetch_request request = get(url_at("gitlab", "/oauth/token"));
    struct fetch_answer answer;

    request.form = text_of("client_id=client-of-gitlab&client_secret=secret%2Bof%2Fgitlab%3D");
    answer = succeed(&request);
    ck_assert_int_eq(answer.status, 400);
    ck_assert(text_begins(answer.body, "{\"error\": \"invalid_grant\""));
}
END_TEST

START_TEST(the_next_page)
{
    struct fetch_request request = get(url_at("github", "/!user:elsewhere/user"));
    struct fetch_answer answer = succeed(&request);

    ck_assert(text_eq(answer.next, text_of("https://localhost:1/teams?page=2")));
}
END_TEST

/* Descriptors of this process. */
static int n_descriptors(void)
{
    DIR *folder = opendir("/proc/self/fd");
    int n = 0;

    ck_assert_ptr_nonnull(folder);
    while (readdir(folder))
        n++;
    closedir(folder);
    return n;
}

/* A reference is resolved against the URL of the request, without the fragment. */
START_TEST(references_to_the_next_page)
{
    static const struct {
        const char *reference; /* encoded */
        const char *before;    /* of the URL: the mock's, or the request's without its query */
        const char *after;
    } cases[] = {
        {"%3Fpage=2", "request", "?page=2"},
        {"%2Fx%3Fpage=2", "mock", "/x?page=2"},
        {"..%2Fx", "mock", "/x"},
        {"%2Fa%2F..%2Fb%23c", "mock", "/b"},
        {"%2F%2Fother.test%2Fx", "", "https://other.test/x"},
        {"https:%2F%2Fother.test%2Fx", "", "https://other.test/x"},
    };
    struct fetch_request asked;
    struct fetch_answer answer;

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const char *mock = mock_value("github");
        char request[256], url[300], wanted[400];

        snprintf(request, sizeof request, "%s/!user:link:%%3C%s%%3E;rel=next/user", mock,
                 cases[i].reference);
        snprintf(url, sizeof url, "%s?per_page=1", request);
        snprintf(wanted, sizeof wanted, "%s%s",
                 strcmp(cases[i].before, "mock") == 0      ? mock
                 : strcmp(cases[i].before, "request") == 0 ? request
                                                           : "",
                 cases[i].after);
        asked = get(url);
        answer = succeed(&asked);
        ck_assert_msg(text_eq(answer.next, text_of(wanted)), "%s: %s", answer.next.s, wanted);
    }
}
END_TEST

START_TEST(origins)
{
    ck_assert(fetch_is_same_origin("https://a.test/x", "https://a.test/y?z"));
    ck_assert(fetch_is_same_origin("https://a.test/x", "HTTPS://A.Test:443"));
    ck_assert(fetch_is_same_origin("https://a.test:8443/x", "https://a.test:8443/"));
    ck_assert(!fetch_is_same_origin("https://a.test/x", "http://a.test/"));
    ck_assert(!fetch_is_same_origin("https://a.test/x", "https://a.test:8443/"));
    ck_assert(!fetch_is_same_origin("https://a.test/x", "https://a.test.b.test/"));
    ck_assert(!fetch_is_same_origin("https://a.test/x", "https://b.test/"));
    ck_assert(!fetch_is_same_origin("https://a.test/x", "https://u@a.test/"));
    ck_assert(!fetch_is_same_origin("https://a.test/x", "https://a.test@b.test/"));
    ck_assert(!fetch_is_same_origin("https://a.test/x", "/y"));
    ck_assert(!fetch_is_same_origin("https://a.test/x", ""));
}
END_TEST

START_TEST(a_connection_is_kept)
{
    struct fetch_request request = get(url_at("google", "/v1/userinfo"));
    int before = n_descriptors();
    int after;

    (void)succeed(&request);
    after = n_descriptors();
    ck_assert_int_gt(after, before);
    for (int i = 0; i < 5; i++)
        (void)succeed(&request);
    ck_assert_int_eq(n_descriptors(), after);
}
END_TEST

START_TEST(a_redirect_is_not_followed)
{
    struct fetch_request request = get(url_at("google", "/!user:redirect/v1/userinfo"));

    ck_assert_int_eq(succeed(&request).status, 302);
}
END_TEST

START_TEST(certificates)
{
    struct fetch_request stranger = get_with_secrets(url_at("stranger", "/token?code=" SECRET));
    struct fetch_request wrong_name;

    fail_because(&stranger, "certificate");
    wrong_name = get_with_secrets(url_at("wrong-name", "/token?code=" SECRET));
    fail_because(&wrong_name, "certificate");
}
END_TEST

START_TEST(the_systems_authorities)
{
    struct fetch_request request = get(url_at("google", "/v1/userinfo"));

    trust(&wait_alone, "");
    fail_because(&request, "certificate");
}
END_TEST

START_TEST(an_authority_that_is_missing)
{
    struct fetch_request request = get(url_at("google", "/v1/userinfo"));

    trust(&wait_alone, "/nonexistent/ca.pem");
    fail_because(&request, "the file of authorities cannot be read");
}
END_TEST

/* Replaces the file, as update-ca-certificates does, and asks by a new connection. */
static void replace_authorities(const char *file, const char *content)
{
    char new_file[80];
    FILE *out;

    snprintf(new_file, sizeof new_file, "%s.new", file);
    out = fopen(new_file, "w");
    ck_assert_ptr_nonnull(out);
    ck_assert_int_ge(fputs(content, out), 0);
    ck_assert_int_eq(fclose(out), 0);
    ck_assert_int_eq(rename(new_file, file), 0);
    fetcher_free(fetcher);
    fetcher = fetcher_new(&(struct turn){.wait = &wait_alone}, &turns, authorities);
    ck_assert_ptr_nonnull(fetcher);
}

START_TEST(a_file_of_authorities_that_changes)
{
    struct fetch_request request = get(url_at("google", "/v1/userinfo"));
    char file[] = "/tmp/adit-gate-authorities-XXXXXX";
    char pem[8192];
    FILE *known = fopen(mock_value("ca"), "r");
    int fd = mkstemp(file);
    size_t len;

    ck_assert_ptr_nonnull(known);
    len = fread(pem, 1, sizeof pem - 1, known);
    ck_assert(feof(known) && len > 0);
    pem[len] = '\0';
    fclose(known);
    ck_assert_int_ge(fd, 0);
    close(fd);
    trust(&wait_alone, file);
    fail_because(&request, "the file has none");
    replace_authorities(file, pem);
    ck_assert_int_eq(succeed(&request).status, 401);
    replace_authorities(file, "no certificate\n");
    fail_because(&request, "the file has none");
    replace_authorities(file, pem);
    ck_assert_int_eq(succeed(&request).status, 401);
    ck_assert_int_eq(unlink(file), 0);
    fail_because(&request, "cannot be read");
}
END_TEST

START_TEST(no_server)
{
    struct fetch_request request = get_with_secrets(url_at("closed", "/token?code=" SECRET));

    fail_because(&request, "no connection");
    request.url = "https://none.test/token?code=" SECRET;
    fail_because(&request, "none.test: the host name has no address");
    request.url = "https://user:" SECRET "@none.test?code=" SECRET;
    fail_because(&request, "none.test: the host name has no address");
    request.url = "http://localhost/token?code=" SECRET;
    fail_because(&request, "https://");
    request.url = "file:///etc/passwd?" SECRET;
    fail_because(&request, "https://");
    request.url = "https://localhost:port/" SECRET;
    fail_because(&request, "localhost:port: ");
}
END_TEST

START_TEST(wrong_answers)
{
    struct fetch_request request = get_with_secrets(url_at("google", "/!token:huge/token"));

    fail_because(&request, "too large");
    request.url = url_at("google", "/!token:cut/token");
    fail_because(&request, "localhost:");
}
END_TEST

/* The fetcher serves another request afterwards. */
START_TEST(a_slow_answer)
{
    struct fetch_request request = get_with_secrets(url_at("google", "/!token:slow:20/token"));
    int64_t begin_ms = clock_steady_ms();

    request.deadline_ms = begin_ms + 200;
    fail_because(&request, "in time");
    ck_assert_int_ge(clock_steady_ms(), begin_ms + 200);
    ck_assert_int_lt(clock_steady_ms(), begin_ms + 10000);
    request = get(url_at("google", "/v1/userinfo"));
    ck_assert_int_eq(succeed(&request).status, 401);
    request.deadline_ms = 0;
    fail_because(&request, "in time");
}
END_TEST

/* A name that is slow to look up does not hold the lane up, either. */
START_TEST(a_slow_name)
{
    struct fetch_request request = get_with_secrets("https://slow.test/" SECRET);
    int64_t begin_ms = clock_steady_ms();

    request.deadline_ms = begin_ms + 200;
    fail_because(&request, "in time");
    fetcher_free(fetcher);
    fetcher = NULL;
    ck_assert_int_lt(clock_steady_ms(), begin_ms + 20000);
}
END_TEST

/* A lane that is woken although nothing is ready, every other time. */
static bool wait_restlessly(void *context, int fd, short events, int64_t deadline_ms)
{
    int *n_waits = context;

    return ++*n_waits % 2 == 1 || wait_alone.until(NULL, fd, events, deadline_ms);
}

START_TEST(a_lane_that_is_woken)
{
    int n_waits = 0;
    const struct wait wait = {.until = wait_restlessly, .context = &n_waits};
    struct fetch_request request = get(url_at("google", "/v1/userinfo"));

    trust(&wait, mock_value("ca"));
    ck_assert_int_eq(succeed(&request).status, 401);
    ck_assert_int_gt(n_waits, 1);
}
END_TEST

Suite *gate_fetch_suite(void)
{
    Suite *suite = suite_create("gate/fetch");
    TCase *tests = tcase_create("fetch");

    tcase_add_unchecked_fixture(tests, mock_start, mock_stop);
    tcase_add_checked_fixture(tests, set_up, tear_down);
    tcase_add_test(tests, an_answer);
    tcase_add_test(tests, a_form);
    tcase_add_test(tests, the_next_page);
    tcase_add_test(tests, references_to_the_next_page);
    tcase_add_test(tests, origins);
    tcase_add_test(tests, a_connection_is_kept);
    tcase_add_test(tests, a_redirect_is_not_followed);
    tcase_add_test(tests, certificates);
    tcase_add_test(tests, the_systems_authorities);
    tcase_add_test(tests, an_authority_that_is_missing);
    tcase_add_test(tests, a_file_of_authorities_that_changes);
    tcase_add_test(tests, no_server);
    tcase_add_test(tests, wrong_answers);
    tcase_add_test(tests, a_slow_answer);
    tcase_add_test(tests, a_slow_name);
    tcase_add_test(tests, a_lane_that_is_woken);
    suite_add_tcase(suite, tests);
    return suite;
}
