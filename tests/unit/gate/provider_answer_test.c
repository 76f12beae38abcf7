/* SPDX-License-Identifier: MIT */
/* Tests of reading providers' answers, right and wrong ones. */
#include "gate/provider_answer.h"

#include <check.h>
#include <stdio.h>

#include "suites.h"

#define N_OF(array) (sizeof(array) / sizeof(array)[0])

static struct arena arena;

static void tear_down(void)
{
    arena_free(&arena);
}

static struct fetch_answer answer_of(int status, const char *type, const char *body)
{
    return (struct fetch_answer){
        .status = status, .content_type = text_of(type), .body = text_of(body)};
}

START_TEST(tokens)
{
    static const struct {
        int status;
        const char *type;
        const char *body;
        enum provider_outcome outcome;
        const char *result; /* the token, or words of the reason */
    } cases[] = {
        {200, "application/json", "{\"access_token\":\"a.b-c_~+/=\",\"token_type\":\"bearer\"}",
         PROVIDER_ANSWERED, "a.b-c_~+/="},
        {200, "Application/JSON ; charset=utf-8",
         "{\"access_token\":\"x\",\"token_type\":\"Bearer\",\"scope\":[\"a\"],\"expires_in\":1}",
         PROVIDER_ANSWERED, "x"},
        {200, "application/json", "{\"access_token\":\"x\"}", PROVIDER_ANSWERED, "x"},
        {200, "application/json", "{\"access_token\":\"x\",\"token_type\":null}", PROVIDER_ANSWERED,
         "x"},
        {200, "application/json", "{\"access_token\":\"x\",\"token_type\":\"mac\"}", PROVIDER_AWAY,
         "bearer"},
        {200, "application/json", "{\"access_token\":\"x\",\"token_type\":1}", PROVIDER_AWAY,
         "bearer"},
        {200, "application/json", "{\"access_token\":\"\"}", PROVIDER_AWAY, "bearer"},
        {200, "application/json", "{\"access_token\":\"a b\"}", PROVIDER_AWAY, "bearer"},
        {200, "application/json", "{\"access_token\":\"a\\r\\nX-Header: b\"}", PROVIDER_AWAY,
         "bearer"},
        {200, "application/json", "{\"access_token\":1}", PROVIDER_AWAY, "bearer"},
        {200, "application/json", "{}", PROVIDER_AWAY, "bearer"},
        {200, "application/json", "[]", PROVIDER_AWAY, "bearer"},
        {200, "application/json", "{\"access_token\":\"x\",\"access_token\":\"y\"}", PROVIDER_AWAY,
         "not JSON"},
        {200, "application/json", "access_token=x", PROVIDER_AWAY, "not JSON"},
        {200, "application/json", "", PROVIDER_AWAY, "not JSON"},
        {200, "application/x-www-form-urlencoded", "access_token=x", PROVIDER_AWAY, "content type"},
        {200, "application/jsonx", "{\"access_token\":\"x\"}", PROVIDER_AWAY, "content type"},
        {200, "", "{\"access_token\":\"x\"}", PROVIDER_AWAY, "content type"},
        {200, "application/json", "{\"error\":\"bad_verification_code\"}", PROVIDER_REFUSED,
         "bad_verification_code"},
        {200, "application/json", "{\"error\":\"x\",\"access_token\":\"y\"}", PROVIDER_REFUSED,
         "refuses"},
        {200, "application/json", "{\"message\":\"x\",\"access_token\":\"y\"}", PROVIDER_ANSWERED,
         "y"},
        {400, "application/json", "{\"error\":\"invalid_grant\"}", PROVIDER_REFUSED,
         "invalid_grant"},
        {401, "application/json", "{\"error\":\"invalid_client\"}", PROVIDER_NOT_SET_UP,
         "invalid_client"},
        {400, "application/json", "{\"error\":\"the code was x\"}", PROVIDER_REFUSED, "refuses"},
        {400, "application/json", "{\"error\":{\"code\":100}}", PROVIDER_REFUSED, "refuses"},
        {400, "application/json", "{\"status\":400,\"message\":\"x\"}", PROVIDER_NOT_SET_UP,
         "refuses the request"},
        {400, "application/json", "{}", PROVIDER_NOT_SET_UP, "refuses the request"},
        {400, "text/html", "{}", PROVIDER_NOT_SET_UP, "refuses the request"},
        {403, "application/json", "{\"error\":\"invalid_grant\"}", PROVIDER_REFUSED,
         "invalid_grant"},
        {429, "application/json", "{\"error\":\"invalid_grant\"}", PROVIDER_AWAY, "rate"},
        {500, "application/json", "{\"access_token\":\"x\"}", PROVIDER_AWAY, "fault"},
        {302, "application/json", "{\"access_token\":\"x\"}", PROVIDER_AWAY, "status"},
        {204, "application/json", "", PROVIDER_AWAY, "status"},
    };

    for (size_t i = 0; i < N_OF(cases); i++) {
        struct fetch_answer answer = answer_of(cases[i].status, cases[i].type, cases[i].body);
        struct provider_tokens found = {.access = {0}};
        const char *why = "";
        enum provider_outcome outcome =
            provider_answer_token(&answer, PROVIDER_GITHUB, &arena, &found, &why);

        ck_assert_msg(outcome == cases[i].outcome, "%s: %d", cases[i].body, outcome);
        if (outcome == PROVIDER_ANSWERED)
            ck_assert_msg(text_eq(found.access, text_of(cases[i].result)), "%s", cases[i].body);
        else
            ck_assert_msg(strstr(why, cases[i].result), "%s: %s", cases[i].body, why);
    }
}
END_TEST

/* ---- who ---- */

/* Rules that no provider has in one. */
static const struct identity_provider by_flag = {
    .subject_member = "id", .name_member = "login", .emails = PROVIDER_EMAILS_VERIFIED};
static const struct identity_provider by_tenant = {
    .subject_member = "id", .name_member = "login", .emails = PROVIDER_EMAILS_TENANT};
static const struct identity_provider by_nothing = {
    .subject_member = "id", .name_member = "login", .emails = PROVIDER_EMAILS_NONE};
static const struct identity_provider by_list = {
    .subject_member = "id", .name_member = "login", .emails = PROVIDER_EMAILS_LIST};

static enum provider_outcome read_answer(const struct identity_provider *row, bool has_own_tenant,
                                         const char *body, struct identity *identity,
                                         const char **why)
{
    const struct provider_answerer who = {.row = row, .has_own_tenant = has_own_tenant};
    struct fetch_answer answer = answer_of(200, "application/json", body);

    return provider_answer_user(&answer, &who, &arena, identity, why);
}

START_TEST(subjects_and_names)
{
    static const struct {
        const char *body;
        const char *subject; /* NULL: the answer is refused */
        const char *name;
    } cases[] = {
        {"{\"id\":\"u-1\",\"login\":\"ann\"}", "u-1", "ann"},
        {"{\"id\":583231,\"login\":\"J\\u00f6rg \\ud83d\\ude00\"}", "583231",
         "J\xc3\xb6rg \xf0\x9f\x98\x80"},
        {"{\"id\":18446744073709551617}", "18446744073709551617", NULL},
        {"{\"id\":\"x\",\"login\":null}", "x", NULL},
        {"{\"id\":\"x\",\"login\":7}", "x", NULL},
        {"{\"id\":\"x\",\"login\":\"\"}", "x", NULL},
        {"{\"id\":\"x\",\"login\":\"a\\nb\"}", "x", NULL},
        {"{\"id\":\"x\",\"login\":\"a\\u202eb\"}", "x", NULL},
        {"{\"id\":\"\"}", NULL, NULL},
        {"{\"id\":null}", NULL, NULL},
        {"{\"id\":true}", NULL, NULL},
        {"{\"id\":-1}", NULL, NULL},
        {"{\"id\":1.5}", NULL, NULL},
        {"{\"id\":1e3}", NULL, NULL},
        {"{\"id\":\"a b\"}", NULL, NULL},
        {"{\"id\":\"a\\nb\"}", NULL, NULL},
        {"{\"id\":\"\\u00f6\"}", NULL, NULL},
        {"{\"id\":{\"id\":\"x\"}}", NULL, NULL},
        {"{\"login\":\"ann\"}", NULL, NULL},
        {"[{\"id\":\"x\"}]", NULL, NULL},
        {"{\"id\":\"x\",\"id\":\"y\"}", NULL, NULL},
    };

    for (size_t i = 0; i < N_OF(cases); i++) {
        struct identity identity;
        const char *why = "";
        enum provider_outcome outcome =
            read_answer(&by_flag, false, cases[i].body, &identity, &why);

        ck_assert_msg((outcome == PROVIDER_ANSWERED) == (cases[i].subject != NULL), "%s: %s",
                      cases[i].body, why);
        ck_assert_int_ne(outcome, PROVIDER_REFUSED);
        if (outcome != PROVIDER_ANSWERED)
            continue;
        ck_assert_msg(text_eq(identity.subject, text_of(cases[i].subject)), "%s", cases[i].body);
        ck_assert_msg(text_eq(identity.name, text_of(cases[i].name)), "%s", cases[i].body);
        ck_assert_uint_eq(identity.emails.n, 0);
    }
}
END_TEST

START_TEST(the_longest_name)
{
    for (int len = 255; len <= 256; len++) {
        char body[300];
        struct identity identity;
        const char *why = "";

        snprintf(body, sizeof body, "{\"id\":\"x\",\"login\":\"%0*d\"}", len, 0);
        ck_assert_int_eq(read_answer(&by_flag, false, body, &identity, &why), PROVIDER_ANSWERED);
        ck_assert_uint_eq(identity.name.len, len == 255 ? 255 : 0);
    }
}
END_TEST

START_TEST(verified_addresses)
{
    static const struct {
        const struct identity_provider *provider;
        bool has_own_tenant;
        const char *members;
        bool counts;
    } cases[] = {
        {&by_flag, false, "\"email\":\"a@b.test\",\"email_verified\":true", true},
        {&by_flag, true, "\"email\":\"a@b.test\",\"email_verified\":false", false},
        {&by_flag, true, "\"email\":\"a@b.test\",\"email_verified\":\"true\"", false},
        {&by_flag, true, "\"email\":\"a@b.test\",\"email_verified\":1", false},
        {&by_flag, true, "\"email\":\"a@b.test\",\"email_verified\":null", false},
        {&by_flag, true, "\"email\":\"a@b.test\",\"xms_edov\":true", false},
        {&by_flag, true, "\"email\":\"a@b.test\"", false},
        {&by_flag, true, "\"email_verified\":true", false},
        {&by_flag, true, "\"email\":null,\"email_verified\":true", false},
        {&by_flag, true, "\"email\":[\"a@b.test\"],\"email_verified\":true", false},
        {&by_flag, true, "\"email\":\"ab.test\",\"email_verified\":true", false},
        {&by_flag, true, "\"email\":\"a@b.test@c.test\",\"email_verified\":true", false},
        {&by_flag, true, "\"email\":\"a@b.test \",\"email_verified\":true", false},
        {&by_flag, true, "\"email\":\"a@*.test\",\"email_verified\":true", false},
        {&by_flag, true, "\"email\":\"\",\"email_verified\":true", false},
        {&by_tenant, true, "\"email\":\"a@b.test\"", true},
        {&by_tenant, false, "\"email\":\"a@b.test\"", false},
        {&by_tenant, false, "\"email\":\"a@b.test\",\"xms_edov\":true", true},
        {&by_tenant, false, "\"email\":\"a@b.test\",\"xms_edov\":\"true\"", false},
        {&by_tenant, false, "\"email\":\"a@b.test\",\"xms_edov\":1", true},
        {&by_tenant, false, "\"email\":\"a@b.test\",\"xms_edov\":\"1\"", true},
        {&by_tenant, false, "\"email\":\"a@b.test\",\"xms_edov\":\"0\"", false},
        {&by_tenant, false, "\"email\":\"a@b.test\",\"xms_edov\":0", false},
        {&by_tenant, false, "\"email\":\"a@b.test\",\"xms_edov\":11", false},
        {&by_tenant, false, "\"email\":\"a@b.test\",\"xms_edov\":[1]", false},
        {&by_tenant, false, "\"email\":\"a@b.test\",\"email_verified\":true", false},
        {&by_nothing, true, "\"email\":\"a@b.test\",\"email_verified\":true,\"xms_edov\":true",
         false},
        {&by_list, true, "\"email\":\"a@b.test\",\"email_verified\":true,\"verified\":true", false},
    };

    for (size_t i = 0; i < N_OF(cases); i++) {
        struct identity identity;
        const char *why = "";
        char body[256];

        snprintf(body, sizeof body, "{\"id\":\"1\",%s}", cases[i].members);
        ck_assert_int_eq(
            read_answer(cases[i].provider, cases[i].has_own_tenant, body, &identity, &why),
            PROVIDER_ANSWERED);
        ck_assert_msg(identity.emails.n == cases[i].counts, "%zu: %s", i, body);
        if (cases[i].counts)
            ck_assert(text_eq(identity.emails.items[0], text_of("a@b.test")));
    }
}
END_TEST

/* Google answers for its own domain, and for those that it manages. */
START_TEST(hosted_addresses)
{
    static const struct identity_provider by_host = {
        .subject_member = "id", .name_member = "login", .emails = PROVIDER_EMAILS_HOSTED};
    static const struct {
        const char *email;
        const char *hd; /* as JSON */
        bool proves_domain;
    } cases[] = {
        {"a@b.test", "\"b.test\"", true},    {"a@B.test", "\"b.TEST\"", true},
        {"a@b.test", "null", false},         {"a@b.test", "\"\"", false},
        {"a@b.test", "\"c.test\"", false},   {"a@b.test", "\"x.b.test\"", false},
        {"a@x.b.test", "\"b.test\"", false}, {"a@b.test", "[\"b.test\"]", false},
        {"a@gmail.com", "null", true},       {"a@GMail.com", "null", true},
        {"a@x.gmail.com", "null", false},    {"a@gmail.com.b.test", "null", false},
        {"gmail.com@b.test", "null", false},
    };

    for (size_t i = 0; i < N_OF(cases); i++) {
        struct identity identity;
        const char *why = "";
        char body[256];

        snprintf(body, sizeof body,
                 "{\"id\":\"1\",\"email\":\"%s\",\"email_verified\":true,\"hd\":%s}",
                 cases[i].email, cases[i].hd);
        ck_assert_int_eq(read_answer(&by_host, false, body, &identity, &why), PROVIDER_ANSWERED);
        ck_assert_uint_eq(identity.emails.n, 1);
        ck_assert_msg(!(identity.known & IDENTITY_DOMAINS) == !cases[i].proves_domain, "%s", body);
        /* Others say nothing of the kind. */
        ck_assert_int_eq(read_answer(&by_flag, false, body, &identity, &why), PROVIDER_ANSWERED);
        ck_assert(identity.known & IDENTITY_DOMAINS);
    }
}
END_TEST

START_TEST(letters_of_addresses)
{
    static const struct {
        const char *email; /* as JSON */
        const char *read;  /* NULL: it is no address */
    } cases[] = {
        {"j\\u00f6rg@b.test", "j\xc3\xb6rg@b.test"},
        {"\xe5\xb1\xb1@b.test", "\xe5\xb1\xb1@b.test"},
        {"a\\u0085b@b.test", NULL},
        {"a\\u202eb@b.test", NULL},
        {"a\\u00a0b@b.test", NULL},
        {"a\\u007fb@b.test", NULL},
        {"a@b\\u00f6.test", NULL},
        {"@b.test", NULL},
        {"a@", NULL},
        {"a\\u00f6@b@c.test", NULL},
    };

    for (size_t i = 0; i < N_OF(cases); i++) {
        struct identity identity;
        const char *why = "";
        char body[256];

        snprintf(body, sizeof body, "{\"id\":\"1\",\"email\":\"%s\",\"email_verified\":true}",
                 cases[i].email);
        ck_assert_int_eq(read_answer(&by_flag, false, body, &identity, &why), PROVIDER_ANSWERED);
        ck_assert_msg(identity.emails.n == (cases[i].read != NULL), "%s", body);
        if (cases[i].read)
            ck_assert(text_eq(identity.emails.items[0], text_of(cases[i].read)));
    }
}
END_TEST

START_TEST(refused_tokens)
{
    static const struct {
        int status;
        const char *type;
        const char *body;
        enum provider_outcome outcome;
    } cases[] = {
        {401, "application/json", "{}", PROVIDER_REFUSED},
        {401, "text/html", "<p>", PROVIDER_REFUSED},
        {400, "application/json", "{\"error\":\"invalid_token\"}", PROVIDER_REFUSED},
        {400, "application/json", "{\"error\":{\"code\":190}}", PROVIDER_REFUSED},
        {400, "application/json", "{\"error\":{\"code\":4}}", PROVIDER_AWAY},
        {400, "application/json", "{\"error\":{\"code\":\"190\"}}", PROVIDER_REFUSED},
        {400, "application/json", "{\"error\":{\"code\":1900}}", PROVIDER_NOT_SET_UP},
        {400, "application/json", "{\"error\":\"invalid_request\"}", PROVIDER_NOT_SET_UP},
        {400, "application/json", "[190]", PROVIDER_NOT_SET_UP},
        {400, "text/plain", "{\"error\":\"invalid_token\"}", PROVIDER_NOT_SET_UP},
        {403, "application/json", "{\"error\":\"invalid_token\"}", PROVIDER_NOT_SET_UP},
        {429, "application/json", "{}", PROVIDER_AWAY},
        {500, "application/json", "{\"id\":\"1\"}", PROVIDER_AWAY},
        {206, "application/json", "{\"id\":\"1\"}", PROVIDER_AWAY},
        {200, "text/html", "{\"id\":\"1\"}", PROVIDER_AWAY},
        {200, "application/jwt", "e30.e30.e30", PROVIDER_AWAY},
    };
    const struct provider_answerer facebook = {.provider = PROVIDER_FACEBOOK, .row = &by_flag};

    for (size_t i = 0; i < N_OF(cases); i++) {
        struct fetch_answer answer = answer_of(cases[i].status, cases[i].type, cases[i].body);
        struct provider_answer_texts texts = {.arena = &arena};
        struct identity identity;
        const char *why = "";

        ck_assert_msg(provider_answer_user(&answer, &facebook, &arena, &identity, &why) ==
                          cases[i].outcome,
                      "%d %s", cases[i].status, cases[i].body);
        ck_assert(why[0]);
        /* What is the application's fault at the user's endpoint is one of a list at a list's. */
        ck_assert_int_eq(provider_answer_teams(&answer, PROVIDER_FACEBOOK, &texts, &why),
                         cases[i].outcome == PROVIDER_NOT_SET_UP ? PROVIDER_NOT_GIVEN
                                                                 : cases[i].outcome);
        ck_assert_uint_eq(texts.list.n, 0);
    }
}
END_TEST

/* ---- lists ---- */

/* Reads a page.  The list is then what the text has, separated by blanks. */
static void read_list(provider_answer_page *read, const char *body, const char *expected)
{
    struct fetch_answer answer = answer_of(200, "application/json", body);
    struct provider_answer_texts texts = {.arena = &arena};
    struct text rest = text_of(expected);
    const char *why = "";
    size_t n = 0;

    ck_assert_msg(read(&answer, PROVIDER_GITHUB, &texts, &why) == PROVIDER_ANSWERED, "%s: %s", body,
                  why);
    for (struct text next; (next = text_next_word(&rest)).s; n++) {
        ck_assert_msg(n < texts.list.n && text_eq(texts.list.items[n], next), "%s: %.*s", body,
                      (int)next.len, next.s);
    }
    ck_assert_msg(texts.list.n == n, "%s: %zu", body, texts.list.n);
}

START_TEST(lists)
{
    struct fetch_answer answer = answer_of(200, "application/json", "{}");
    struct provider_answer_texts texts = {.arena = &arena};
    const char *why = "";

    read_list(provider_answer_emails,
              "[{\"email\":\"a@b.test\",\"verified\":true,\"primary\":false},"
              "{\"email\":\"c@b.test\",\"verified\":false,\"primary\":true},"
              "{\"email\":\"d@b.test\",\"verified\":true,\"primary\":true},"
              "{\"email\":\"e@b.test\",\"verified\":\"true\"},{\"email\":\"f@b.test\"},"
              "{\"email\":\"g b.test\",\"verified\":true},{\"verified\":true},null,1,\"h@b.test\","
              "[],{\"email\":\"i@b.test\",\"verified\":true}]",
              "d@b.test a@b.test i@b.test");
    read_list(provider_answer_organizations,
              "[{\"login\":\"acme\"},{\"login\":\"\"},{\"login\":\"a/b\"},{\"login\":\"a b\"},"
              "{\"login\":1},{},null,{\"login\":\"globex\"}]",
              "acme globex");
    read_list(
        provider_answer_teams,
        "[{\"slug\":\"ops\",\"organization\":{\"login\":\"acme\"}},"
        "{\"slug\":\"ops\",\"organization\":{\"login\":\"a/b\"}},"
        "{\"slug\":\"o/ps\",\"organization\":{\"login\":\"acme\"}},"
        "{\"slug\":\"ops\",\"organization\":null},{\"slug\":\"ops\"},"
        "{\"slug\":\"ops\",\"organization\":\"acme\"},{\"organization\":{\"login\":\"acme\"}},"
        "{\"slug\":\"dev\",\"organization\":{\"login\":\"globex\"}}]",
        "acme/ops globex/dev");
    /* The teams above a team, each once. */
    read_list(
        provider_answer_teams,
        "[{\"slug\":\"a\",\"organization\":{\"login\":\"o\"},\"parent\":{\"slug\":\"top\"}},"
        "{\"slug\":\"b\",\"organization\":{\"login\":\"o\"},\"parent\":{\"slug\":\"top\"}},"
        "{\"slug\":\"c\",\"organization\":{\"login\":\"o\"},\"parent\":{\"slug\":\"d\",\"parent\":"
        "{\"slug\":\"e\",\"parent\":null}}},"
        "{\"slug\":\"f\",\"organization\":{\"login\":\"o\"},\"parent\":{\"slug\":\"x/y\"}},"
        "{\"slug\":\"g\",\"organization\":{\"login\":\"p\"},\"parent\":{\"slug\":\"top\"}},"
        "{\"slug\":\"h\",\"organization\":{\"login\":\"o\"},\"parent\":\"top\"}]",
        "o/a o/top o/b o/c o/d o/e o/f p/g p/top o/h");
    read_list(provider_answer_teams, "[]", "");
    ck_assert_int_eq(provider_answer_teams(&answer, PROVIDER_GITHUB, &texts, &why), PROVIDER_AWAY);
    ck_assert_str_eq(why, "the answer is not a list");
    answer.status = 404;
    ck_assert_int_eq(provider_answer_emails(&answer, PROVIDER_GITHUB, &texts, &why),
                     PROVIDER_NOT_GIVEN);
    ck_assert_uint_eq(texts.list.n, 0);
}
END_TEST

Suite *gate_provider_answer_suite(void)
{
    Suite *suite = suite_create("gate/provider_answer");
    TCase *tests = tcase_create("provider_answer");

    tcase_add_checked_fixture(tests, NULL, tear_down);
    tcase_add_test(tests, tokens);
    tcase_add_test(tests, subjects_and_names);
    tcase_add_test(tests, the_longest_name);
    tcase_add_test(tests, verified_addresses);
    tcase_add_test(tests, hosted_addresses);
    tcase_add_test(tests, letters_of_addresses);
    tcase_add_test(tests, refused_tokens);
    tcase_add_test(tests, lists);
    suite_add_tcase(suite, tests);
    return suite;
}
