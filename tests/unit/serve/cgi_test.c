/* SPDX-License-Identifier: MIT */
/* Tests of CGI variables, of bodies, of answers, and of the CGI program. */
#include "serve/cgi.h"

#include <check.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/error.h"
#include "serve/faults.h"
#include "suites.h"

#define VERSION_VARIABLE "HTTP_SERVICE_VERSION"

static const char *const others[] = {"GATE_EDGE", "HTTP_COOKIE", "GATE"};
static struct request_wants wants = {.version = VERSION_VARIABLE, .others = others, .n_others = 3};
static struct request request;
static struct serve_cgi_announced announced;

static void read_variables(const char *const *variables)
{
    /* No byte of an earlier request may show. */
    memset(&request, 0xA5, sizeof request);
    memset(&announced, 0xA5, sizeof announced);
    serve_cgi_read_variables((char *const *)(uintptr_t)variables, &wants, &request, &announced);
}

#define READ(...) read_variables((const char *const[]){__VA_ARGS__, NULL})

static void expect_all_empty(void)
{
    const char *const strings[] = {request.method,       request.path,          request.query,
                                   request.script_name,  request.host,          request.server_name,
                                   request.server_port,  request.authorization, request.version,
                                   request.content_type, request.remote_addr};

    for (size_t i = 0; i < sizeof strings / sizeof strings[0]; i++)
        ck_assert_str_eq(strings[i], "");
    ck_assert_ptr_null(request.if_match);
    ck_assert_ptr_null(request.if_none_match);
    ck_assert_ptr_null(request.idempotency_key);
    for (size_t i = 0; i < wants.n_others; i++)
        ck_assert_str_eq(request.others[i], "");
}

START_TEST(no_variables)
{
    READ(NULL);
    expect_all_empty();
    ck_assert_str_eq(request.scheme, "http");
    ck_assert(!request.authorization_repeated && !request.version_repeated);
    ck_assert(!announced.is_given && !announced.is_chunked);
    ck_assert_ptr_null(request.peer_gone);
    ck_assert_uint_eq(request.body.len, 0);
}
END_TEST

START_TEST(every_variable)
{
    READ("REQUEST_METHOD=GET", "PATH_INFO=/a=b", "QUERY_STRING=a=b&c", "SCRIPT_NAME=/api",
         "REQUEST_SCHEME=http", "HTTP_HOST=h.example:8080", "SERVER_NAME=s.example",
         "SERVER_PORT=8080", "REMOTE_ADDR=2001:db8::1", "CONTENT_TYPE=application/json",
         "HTTP_AUTHORIZATION=Bearer k", (VERSION_VARIABLE "=2"));
    ck_assert_str_eq(request.method, "GET");
    ck_assert_str_eq(request.path, "/a=b");
    ck_assert_str_eq(request.query, "a=b&c");
    ck_assert_str_eq(request.script_name, "/api");
    ck_assert_str_eq(request.scheme, "http");
    ck_assert_str_eq(request.host, "h.example:8080");
    ck_assert_str_eq(request.server_name, "s.example");
    ck_assert_str_eq(request.server_port, "8080");
    ck_assert_str_eq(request.remote_addr, "2001:db8::1");
    ck_assert_str_eq(request.content_type, "application/json");
    ck_assert_str_eq(request.authorization, "Bearer k");
    ck_assert_str_eq(request.version, "2");
    ck_assert(!request.authorization_repeated && !request.version_repeated);
}
END_TEST

/* Names are compared whole.  A string without "=" is skipped. */
START_TEST(names_that_only_resemble)
{
    READ("REQUEST_METHO=GET", "REQUEST_METHODS=GET", "request_method=GET", "=GET", "",
         "REQUEST_METHOD", "XREQUEST_METHOD=GET", "HTTP_SERVICE_VERSIO=2",
         "HTTP_SERVICE_VERSION2=2", "HTTP_PROXY=x");
    expect_all_empty();
    READ("REQUEST_METHOD=");
    ck_assert_str_eq(request.method, "");
}
END_TEST

START_TEST(headers_given_twice)
{
    READ("HTTP_AUTHORIZATION=Bearer a", "HTTP_AUTHORIZATION=Bearer b", VERSION_VARIABLE "=2");
    ck_assert(request.authorization_repeated && !request.version_repeated);
    READ("HTTP_AUTHORIZATION=Bearer a", "HTTP_AUTHORIZATION=Bearer a");
    ck_assert(request.authorization_repeated);
    READ(VERSION_VARIABLE "=2", "HTTP_AUTHORIZATION=Bearer a", VERSION_VARIABLE "=2");
    ck_assert(request.version_repeated && !request.authorization_repeated);
    READ("HTTP_HOST=a", "HTTP_HOST=b");
    ck_assert(!request.version_repeated && !request.authorization_repeated);
}
END_TEST

/* The order makes no difference: an empty header in front of another one is one too many. */
START_TEST(headers_given_twice_and_once_empty)
{
    READ("HTTP_AUTHORIZATION=", "HTTP_AUTHORIZATION=Bearer a");
    ck_assert(request.authorization_repeated && !request.version_repeated);
    READ(VERSION_VARIABLE "=", VERSION_VARIABLE "=2");
    ck_assert(request.version_repeated && !request.authorization_repeated);
    READ("HTTP_IF_MATCH=", "HTTP_IF_MATCH=*", "HTTP_IDEMPOTENCY_KEY=a");
    ck_assert(request.condition_repeated && !request.idempotency_key_repeated);
    READ("HTTP_IDEMPOTENCY_KEY=", "HTTP_IDEMPOTENCY_KEY=a", "HTTP_IF_NONE_MATCH=");
    ck_assert(request.idempotency_key_repeated && !request.condition_repeated);
    READ("HTTP_AUTHORIZATION=", VERSION_VARIABLE "=", "REDIRECT_HTTP_AUTHORIZATION=Bearer r");
    ck_assert(!request.authorization_repeated && !request.version_repeated);
}
END_TEST

/* Of a variable that comes twice, the last counts, also if it is empty. */
START_TEST(other_variables)
{
    READ("GATE_EDGE=a=b", "HTTP_COOKIE=x", "HTTP_COOKIE=y", "GATE_EDGES=c", "GATE_EDG=c", "=c");
    ck_assert_str_eq(request.others[0], "a=b");
    ck_assert_str_eq(request.others[1], "y");
    ck_assert_str_eq(request.others[2], "");
    READ("GATE=a", "HTTP_COOKIE=x", "GATE=");
    ck_assert_str_eq(request.others[0], "");
    ck_assert_str_eq(request.others[1], "x");
    ck_assert_str_eq(request.others[2], "");
    wants.n_others = 1;
    READ("GATE_EDGE=a", "GATE=a");
    ck_assert_str_eq(request.others[0], "a");
    ck_assert_ptr_null(request.others[2]);
    wants.n_others = 3;
}
END_TEST

START_TEST(no_version_is_wanted)
{
    wants.version = NULL;
    READ((VERSION_VARIABLE "=2"), "=2", "GATE=a", "HTTP_HOST=h");
    ck_assert_str_eq(request.version, "");
    ck_assert_str_eq(request.host, "h");
    ck_assert_str_eq(request.others[2], "a");
    wants.version = VERSION_VARIABLE;
}
END_TEST

/* An empty condition is not an absent one: a client may have lost its value. */
START_TEST(headers_that_are_empty)
{
    READ("HTTP_IF_MATCH=", "HTTP_IF_NONE_MATCH=", "HTTP_IDEMPOTENCY_KEY=");
    ck_assert_str_eq(request.if_match, "");
    ck_assert_str_eq(request.if_none_match, "");
    ck_assert_str_eq(request.idempotency_key, "");
    ck_assert(!request.condition_repeated && !request.idempotency_key_repeated);
}
END_TEST

/* Apache's rewriting renames the header; a header of the client's own name cannot pass for it. */
START_TEST(authorization_after_a_redirect)
{
    READ("REDIRECT_HTTP_AUTHORIZATION=Bearer r");
    ck_assert_str_eq(request.authorization, "Bearer r");
    ck_assert(!request.authorization_repeated);
    READ("REDIRECT_HTTP_AUTHORIZATION=Bearer r", "HTTP_AUTHORIZATION=Bearer a");
    ck_assert_str_eq(request.authorization, "Bearer a");
    ck_assert(!request.authorization_repeated);
    READ("HTTP_AUTHORIZATION=", "REDIRECT_HTTP_AUTHORIZATION=Bearer r");
    ck_assert_str_eq(request.authorization, "Bearer r");
    READ("HTTP_REDIRECT_HTTP_AUTHORIZATION=Bearer r", "REDIRECT_REDIRECT_HTTP_AUTHORIZATION=x");
    ck_assert_str_eq(request.authorization, "");
}
END_TEST

START_TEST(schemes)
{
    static const struct {
        const char *variable;
        const char *scheme;
    } cases[] = {
        {"HTTPS=on", "https"},
        {"HTTPS=1", "https"},
        {"HTTPS=off", "http"},
        {"HTTPS=", "http"},
        {"HTTPS=0", "http"},
        {"REQUEST_SCHEME=https", "https"},
        {"REQUEST_SCHEME=http", "http"},
        {"REQUEST_SCHEME=ftp", "http"},
        {"REQUEST_SCHEME=", "http"},
        {"REQUEST_SCHEME=https\"", "http"},
        {"HTTP_HTTPS=on", "http"},
        {"HTTP_X_FORWARDED_PROTO=https", "http"},
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        READ(cases[i].variable);
        ck_assert_msg(strcmp(request.scheme, cases[i].scheme) == 0, "%s: %s", cases[i].variable,
                      request.scheme);
    }
    READ("HTTPS=on", "REQUEST_SCHEME=http");
    ck_assert_str_eq(request.scheme, "https");
}
END_TEST

START_TEST(announced_lengths)
{
    static const struct {
        const char *variable;
        bool is_given;
        uint64_t length;
    } cases[] = {
        {"CONTENT_LENGTH=0", true, 0},
        {"CONTENT_LENGTH=17", true, 17},
        {"CONTENT_LENGTH=0017", true, 17},
        {"CONTENT_LENGTH=18446744073709551615", true, UINT64_MAX},
        {"CONTENT_LENGTH=18446744073709551616", false, 0},
        {"CONTENT_LENGTH=", false, 0},
        {"CONTENT_LENGTH=-1", false, 0},
        {"CONTENT_LENGTH=+1", false, 0},
        {"CONTENT_LENGTH= 1", false, 0},
        {"CONTENT_LENGTH=1 ", false, 0},
        {"CONTENT_LENGTH=1,1", false, 0},
        {"CONTENT_LENGTH=0x10", false, 0},
        {"CONTENT_LENGTH=x", false, 0},
        {"HTTP_CONTENT_LENGTH=5", false, 0},
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        READ(cases[i].variable);
        ck_assert_msg(announced.is_given == cases[i].is_given, "%s", cases[i].variable);
        if (announced.is_given)
            ck_assert_msg(announced.length == cases[i].length, "%s", cases[i].variable);
        ck_assert(!announced.is_chunked);
    }
    READ("HTTP_TRANSFER_ENCODING=chunked");
    ck_assert(announced.is_chunked && !announced.is_given);
}
END_TEST

/* ---- bodies ---- */

static void set_body(size_t len, bool is_given, uint64_t length)
{
    struct buf body = {0};
    struct serve_cgi_announced as = {.is_given = is_given, .length = length};

    if (len > 0) {
        memset(buf_room(&body, len), 'b', len);
        body.len = len;
        body.data[len] = '\0';
    }
    request = (struct request){.body_state = BODY_CUT};
    serve_cgi_set_body(&request, &body, &as);
    if (request.body_state == BODY_TOO_LARGE)
        ck_assert_uint_eq(request.body.len, 0);
    else
        ck_assert_uint_eq(request.body.len, len);
    ck_assert_ptr_nonnull(request.body.s);
    request.body = (struct text){0};
    buf_free(&body);
}

START_TEST(states_of_a_body)
{
    static const struct {
        size_t len;
        bool is_given;
        uint64_t length;
        enum body_state state;
    } cases[] = {
        {0, false, 0, BODY_WHOLE},
        {0, true, 0, BODY_WHOLE},
        {5, true, 5, BODY_WHOLE},
        {5, false, 0, BODY_WHOLE},
        {4, true, 5, BODY_CUT},
        {0, true, 5, BODY_CUT},
        {6, true, 5, BODY_OVERLONG},
        {1, true, 0, BODY_OVERLONG},
        {REQUEST_BODY_MAX, true, REQUEST_BODY_MAX, BODY_WHOLE},
        {REQUEST_BODY_MAX, false, 0, BODY_WHOLE},
        {REQUEST_BODY_MAX + 1, true, REQUEST_BODY_MAX + 1, BODY_TOO_LARGE},
        {REQUEST_BODY_MAX + 1, false, 0, BODY_TOO_LARGE},
        {REQUEST_BODY_MAX + 1, true, 5, BODY_TOO_LARGE},
        {5, true, REQUEST_BODY_MAX + 1, BODY_TOO_LARGE},
        {0, true, REQUEST_BODY_MAX + 1, BODY_TOO_LARGE},
        {0, true, UINT64_MAX, BODY_TOO_LARGE},
        {REQUEST_BODY_MAX - 1, true, REQUEST_BODY_MAX, BODY_CUT},
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        set_body(cases[i].len, cases[i].is_given, cases[i].length);
        ck_assert_msg(request.body_state == cases[i].state, "case %zu: %d", i,
                      (int)request.body_state);
    }
}
END_TEST

START_TEST(body_with_nul)
{
    struct buf body = {0};
    struct serve_cgi_announced as = {.is_given = true, .length = 3};

    buf_add(&body, "{\0}", 3);
    serve_cgi_set_body(&request, &body, &as);
    ck_assert_int_eq(request.body_state, BODY_WHOLE);
    ck_assert_uint_eq(request.body.len, 3);
    ck_assert_int_eq(memcmp(request.body.s, "{\0}", 3), 0);
    buf_free(&body);
}
END_TEST

/* ---- answers ---- */

static void expect_written(int status, bool omit_body, const char *body, const char *wanted)
{
    struct response response = {.status = status, .omit_body = omit_body};
    struct buf out = {0};

    buf_puts(&response.headers, "A: b\r\n");
    buf_puts(&response.body, body);
    serve_cgi_write(&out, &response);
    ck_assert_str_eq(out.data, wanted);
    ck_assert_uint_eq(out.len, strlen(wanted));
    buf_free(&out);
    buf_free(&response.headers);
    buf_free(&response.body);
}

START_TEST(answers)
{
    expect_written(200, false, "{}", "Status: 200 OK\r\nA: b\r\nContent-Length: 2\r\n\r\n{}");
    expect_written(404, false, "", "Status: 404 Not Found\r\nA: b\r\nContent-Length: 0\r\n\r\n");
    expect_written(204, false, "", "Status: 204 No Content\r\nA: b\r\n\r\n");
    expect_written(200, true, "{}", "Status: 200 OK\r\nA: b\r\n\r\n");
}
END_TEST

/* Some servers would send a status line without a phrase. */
START_TEST(every_status_has_a_phrase)
{
    for (int code = ERR_NONE + 1; code < ERR_N_CODES; code++) {
        struct response response = {.status = error_row((enum error_code)code)->status};
        struct buf out = {0};

        serve_cgi_write(&out, &response);
        ck_assert_msg(strcspn(out.data, "\r") > strlen("Status: 000 "), "%s", out.data);
        buf_free(&out);
    }
    expect_written(302, true, "", "Status: 302 Found\r\nA: b\r\n\r\n");
    expect_written(304, false, "", "Status: 304 Not Modified\r\nA: b\r\n\r\n");
}
END_TEST

/* The answer if there is no memory for another. */
START_TEST(answer_of_nothing)
{
    struct response response = {.status = 503};
    struct buf out = {0};

    serve_cgi_write(&out, &response);
    ck_assert_str_eq(out.data, "Status: 503 Service Unavailable\r\nContent-Length: 0\r\n\r\n");
    buf_free(&out);
}
END_TEST

/* ---- the program ---- */

/* A file in memory takes the place of that descriptor.  Returns it. */
static int replace(int fd, size_t len)
{
    int file = memfd_create("cgi-test", MFD_CLOEXEC);

    ck_assert_int_eq(ftruncate(file, (off_t)len), 0);
    ck_assert_int_eq(dup2(file, fd), fd);
    return file;
}

/* Reads a request with so many bytes on descriptor 0.  Returns how many of them were read. */
static off_t read_program(size_t len, const char *const *variables, bool expected)
{
    int input = replace(STDIN_FILENO, len);
    char **usual = environ;
    struct buf body = {0};
    bool is_read;
    off_t used;

    environ = (char **)(uintptr_t)variables;
    is_read = serve_cgi_read(&request, &body, &wants);
    environ = usual;
    ck_assert_int_eq(is_read, expected);
    used = lseek(input, 0, SEEK_CUR);
    buf_free(&body);
    close(input);
    return used;
}

#define READ_PROGRAM(len, ...)                                                                     \
    read_program(len, (const char *const[]){"REQUEST_METHOD=PUT", __VA_ARGS__, NULL}, true)

/* A program reads no byte past the announced length, and not all of a body that is too large. */
START_TEST(program_reads_a_body)
{
    const off_t most = REQUEST_BODY_MAX + 1 + SERVE_CGI_DRAIN_MAX;

    ck_assert_int_eq(READ_PROGRAM(9, "CONTENT_LENGTH=5"), 5);
    ck_assert(request.body_state == BODY_WHOLE && request.body.len == 5);
    ck_assert_int_eq(READ_PROGRAM(4, "CONTENT_LENGTH=5"), 4);
    ck_assert_int_eq(request.body_state, BODY_CUT);
    ck_assert_int_eq(READ_PROGRAM(9, "PATH_INFO=/"), 0);
    ck_assert(request.body_state == BODY_WHOLE && request.body.len == 0);
    ck_assert_int_eq(READ_PROGRAM(9, "HTTP_TRANSFER_ENCODING=chunked"), 9);
    ck_assert(request.body_state == BODY_WHOLE && request.body.len == 9);
    ck_assert_int_eq(READ_PROGRAM(100000, "CONTENT_LENGTH=100000"), 100000);
    ck_assert_int_eq(request.body_state, BODY_TOO_LARGE);
    ck_assert_int_eq(READ_PROGRAM(3000000, "CONTENT_LENGTH=3000000"), most);
    ck_assert_int_eq(request.body_state, BODY_TOO_LARGE);
    ck_assert_int_eq(READ_PROGRAM(100000, "HTTP_TRANSFER_ENCODING=chunked"), 100000);
    ck_assert_int_eq(request.body_state, BODY_TOO_LARGE);
}
END_TEST

START_TEST(program_has_no_request)
{
    const char *const none[] = {"PATH=/bin", NULL};
    const char *const some[] = {"REQUEST_METHOD=PUT", "CONTENT_LENGTH=60000", NULL};

    ck_assert_int_eq(read_program(5, none, false), 0);
    faults.n_malloc = 1;
    faults.least = 60000;
    ck_assert_int_eq(read_program(60000, some, false), 0);
}
END_TEST

START_TEST(program_answers)
{
    struct response response = {.status = 200};
    int output = dup(STDOUT_FILENO);
    int file = replace(STDOUT_FILENO, 0);
    char written[100] = "";

    ck_assert_int_ge(output, 0);
    buf_puts(&response.body, "{}");
    faults.interrupt_write = true;
    ck_assert(serve_cgi_answer(&response));
    ck_assert_int_eq(pread(file, written, sizeof written - 1, 0), 39);
    ck_assert_str_eq(written, "Status: 200 OK\r\nContent-Length: 2\r\n\r\n{}");
    memset(buf_room(&response.body, 5000), 'x', 5000);
    response.body.len += 5000;
    faults.n_malloc = 1;
    faults.least = 5000;
    ck_assert(!serve_cgi_answer(&response));
    ck_assert_int_eq(faults.n_malloc, 0);
    close(STDOUT_FILENO);
    ck_assert(!serve_cgi_answer(&response));
    ck_assert_int_eq(dup2(output, STDOUT_FILENO), STDOUT_FILENO);
    close(output);
    close(file);
    buf_free(&response.body);
}
END_TEST

Suite *serve_cgi_suite(void)
{
    Suite *suite = suite_create("serve/cgi");
    TCase *variables = tcase_create("variables");
    TCase *bodies = tcase_create("bodies");
    TCase *output = tcase_create("answers");
    TCase *program = tcase_create("program");

    tcase_set_timeout(bodies, 60);
    tcase_set_timeout(program, 60);
    tcase_add_test(variables, no_variables);
    tcase_add_test(variables, every_variable);
    tcase_add_test(variables, names_that_only_resemble);
    tcase_add_test(variables, headers_given_twice);
    tcase_add_test(variables, headers_given_twice_and_once_empty);
    tcase_add_test(variables, other_variables);
    tcase_add_test(variables, no_version_is_wanted);
    tcase_add_test(variables, headers_that_are_empty);
    tcase_add_test(variables, authorization_after_a_redirect);
    tcase_add_test(variables, schemes);
    tcase_add_test(variables, announced_lengths);
    tcase_add_test(bodies, states_of_a_body);
    tcase_add_test(bodies, body_with_nul);
    tcase_add_test(output, answers);
    tcase_add_test(output, every_status_has_a_phrase);
    tcase_add_test(output, answer_of_nothing);
    suite_add_tcase(suite, variables);
    suite_add_tcase(suite, bodies);
    tcase_add_checked_fixture(program, faults_clear, faults_clear);
    tcase_add_test(program, program_reads_a_body);
    tcase_add_test(program, program_has_no_request);
    tcase_add_test(program, program_answers);
    suite_add_tcase(suite, output);
    suite_add_tcase(suite, program);
    return suite;
}
