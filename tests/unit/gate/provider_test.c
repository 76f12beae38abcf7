/* SPDX-License-Identifier: MIT */
/* Tests of signing in at each of the providers, as the mocks play them. */
#include "gate/provider.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/ascii.h"
#include "base/clock.h"
#include "json/tree.h"
#include "mock.h"
#include "suites.h"

#define N_OF(array) (sizeof(array) / sizeof(array)[0])

#define VERIFIER "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk"
#define TENANT "8f2cbd1a-6ed9-44a5-9c43-2b0b1d5a7c11"

static struct authorities *authorities;
static struct turns turns;
static struct fetcher *fetcher;
static struct arena arena;
static struct conf_provider conf;
static struct provider_client client;
static char urls[3][512];
static char words[2][64];
static char mock_name[32];

/* ---- the deadlines of requests ---- */

bool __real_fetch(struct fetcher *fetcher_, const struct fetch_request *request,
                  struct arena *arena_, struct fetch_answer *answer, const char **why);
bool __wrap_fetch(struct fetcher *fetcher_, const struct fetch_request *request,
                  struct arena *arena_, struct fetch_answer *answer, const char **why);

static int n_fetched;
static int64_t most_ms; /* that a request had */

bool __wrap_fetch(struct fetcher *fetcher_, const struct fetch_request *request,
                  struct arena *arena_, struct fetch_answer *answer, const char **why)
{
    int64_t left_ms = request->deadline_ms - clock_steady_ms();

    n_fetched++;
    most_ms = left_ms > most_ms ? left_ms : most_ms;
    return __real_fetch(fetcher_, request, arena_, answer, why);
}

/* ---- a login ---- */

static void set_up(void)
{
    ck_assert(fetch_start());
    authorities = fetch_authorities(mock_value("ca"));
    ck_assert_ptr_nonnull(authorities);
    fetcher = fetcher_new(&(struct turn){.wait = &wait_alone}, &turns, authorities);
    ck_assert_ptr_nonnull(fetcher);
}

static void tear_down(void)
{
    fetcher_free(fetcher);
    authorities_free(authorities);
    arena_free(&arena);
}

/* Returns a word of tests/cases/providers/NAME.json: nothing of the table leads there. */
static const char *found(const char *word)
{
    char name[64];

    snprintf(name, sizeof name, "%s.%s", mock_name, word);
    return mock_value(name);
}

/* Makes the client one of a provider, at its mock.  A fault such as "token:status:500" may go
 * wrong there. */
static void choose(int provider, const char *fault)
{
    static const char *const endpoints[] = {"authorize", "token", "user"};
    const char *title = identity_provider_at(provider)->title;

    for (size_t i = 0; i == 0 || mock_name[i - 1]; i++)
        mock_name[i] = ascii_lower(title[i]);
    for (size_t i = 0; i < N_OF(endpoints); i++)
        snprintf(urls[i], sizeof urls[i], "%s%s%s%s", mock_value(mock_name), fault[0] ? "/!" : "",
                 fault, found(endpoints[i]));
    conf =
        (struct conf_provider){.authorize_url = urls[0], .token_url = urls[1], .user_url = urls[2]};
    snprintf(words[0], sizeof words[0], "client-of-%s", mock_name);
    snprintf(words[1], sizeof words[1], "secret+of/%s=", mock_name);
    client = (struct provider_client){
        .provider = provider,
        .conf = &conf,
        .client_id = text_of(words[0]),
        .client_secret = text_of(words[1]),
        .redirect_uri = text_of("https://app.example.com/_adit/callback"),
        .deadline_ms = clock_steady_ms() + 60000,
    };
}

/* Does what the visitor's browser does, and chooses who to be.  Returns the code. */
static struct text authorize(const char *user)
{
    struct fetch_request request = {.accept = "application/json",
                                    .deadline_ms = clock_steady_ms() + 30000};
    struct fetch_answer answer;
    struct json_node top, code;
    struct buf url = {0};
    struct error err;
    struct text value = {0};
    const char *why = "";

    provider_authorize_url(&url, &client, text_of("the state"), text_of(VERIFIER));
    buf_printf(&url, "&as=%s", user);
    request.url = url.data;
    ck_assert_msg(__real_fetch(fetcher, &request, &arena, &answer, &why), "%s", why);
    ck_assert_msg(answer.status == 200, "%s: %s", url.data, answer.body.s);
    ck_assert(json_parse(answer.body.s, answer.body.len, &top, &err));
    code = json_member(&top, "code");
    ck_assert(json_get_text(&code, &value, &err));
    ck_assert(text_present(value));
    value.s = arena_copy(&arena, value.s, value.len);
    json_free(&top);
    buf_free(&url);
    return value;
}

static struct provider_asking asking_now(void)
{
    return (struct provider_asking){.fetcher = fetcher, .client = &client, .arena = &arena};
}

static enum provider_outcome ask_identity(struct text token, struct identity *identity,
                                          const char **why)
{
    struct provider_asking asking = asking_now();
    enum provider_outcome outcome = provider_identify(&asking, token, identity);

    *why = asking.why;
    return outcome;
}

static enum provider_outcome ask_tokens_anew(struct text refresh, struct provider_tokens *tokens,
                                             const char **why)
{
    struct provider_asking asking = asking_now();
    enum provider_outcome outcome = provider_refresh(&asking, refresh, tokens);

    *why = asking.why;
    return outcome;
}

static enum provider_outcome exchange(struct text code, struct text *token, const char **why)
{
    struct provider_tokens tokens = {.access = *token};
    struct provider_asking asking = asking_now();
    enum provider_outcome outcome = provider_exchange(&asking, code, text_of(VERIFIER), &tokens);

    *token = tokens.access;
    *why = asking.why;
    return outcome;
}

/* Signs a user in.  Returns the token. */
static struct text sign_in(const char *user)
{
    struct text token = {0};
    const char *why = "";

    ck_assert_msg(exchange(authorize(user), &token, &why) == PROVIDER_ANSWERED, "%s", why);
    ck_assert(text_present(token));
    return token;
}

static struct identity identify(struct text token)
{
    struct identity identity = {0};
    const char *why = "";

    ck_assert_msg(ask_identity(token, &identity, &why) == PROVIDER_ANSWERED, "%s: %s", mock_name,
                  why);
    return identity;
}

static struct identity identity_of(const char *user)
{
    return identify(sign_in(user));
}

/* No part of a secret may be in a reason. */
static void is_discreet(const char *why, struct text secret)
{
    ck_assert_msg(!strstr(why, secret.s), "%s", why);
    ck_assert_msg(!strstr(why, words[1]), "%s", why);
    ck_assert_msg(!strstr(why, VERIFIER), "%s", why);
    ck_assert_msg(strstr(why, identity_provider_at(client.provider)->title), "%s", why);
}

START_TEST(every_provider)
{
    struct identity identity;

    choose(_i + 1, "");
    identity = identity_of("alice");
    ck_assert(text_eq(identity.subject, text_of(found("subject"))));
    ck_assert(text_eq(identity.name, text_of(found("name"))));
    if (strcmp(found("email"), "-") != 0) {
        ck_assert_uint_ge(identity.emails.n, 1);
        ck_assert(text_eq(identity.emails.items[0], text_of(found("email"))));
    } else {
        ck_assert_uint_eq(identity.emails.n, 0);
    }
    ck_assert_uint_eq(identity.teams.n, 0);
    /* Bob has an address, too, but nowhere a verified one. */
    identity = identity_of("bob");
    ck_assert(!text_eq(identity.subject, text_of(found("subject"))));
    ck_assert_uint_eq(identity.emails.n, 0);
    ck_assert_int_le(most_ms, 5000);
}
END_TEST

/* Every refusal that a provider documents is one, and no reason says a secret. */
START_TEST(every_refusal)
{
    struct text code, token = {0};
    struct identity identity;
    const char *why = "";

    choose(_i + 1, "");
    code = authorize("alice");
    ck_assert_int_eq(exchange(code, &token, &why), PROVIDER_ANSWERED);
    ck_assert_int_eq(exchange(code, &token, &why), PROVIDER_REFUSED); /* the code was used */
    is_discreet(why, code);
    code = authorize("alice");
    client.redirect_uri = text_of("https://other.example.com/_adit/callback");
    /* Some say the same of a code that is over. */
    ck_assert_int_eq(exchange(code, &token, &why), strcmp(found("redirect"), "refused") == 0
                                                       ? PROVIDER_REFUSED
                                                       : PROVIDER_NOT_SET_UP);
    is_discreet(why, code);
    client.client_secret = text_of("wrong");
    ck_assert_int_eq(exchange(code, &token, &why), PROVIDER_NOT_SET_UP);
    is_discreet(why, code);
    (void)identify(token);
    mock_revoke(mock_name, "alice");
    ck_assert_int_eq(ask_identity(token, &identity, &why), PROVIDER_REFUSED);
    is_discreet(why, token);
}
END_TEST

/* A refresh token gets another token, until the visitor is revoked. */
START_TEST(refresh_tokens)
{
    bool has_some;
    struct provider_tokens tokens = {.access = {.s = NULL}};
    struct provider_tokens more;
    struct provider_asking asking = asking_now();
    const char *why = "";

    choose(_i + 1, "");
    has_some = strcmp(found("refresh"), "-") != 0;
    client.keeps_token = true;
    ck_assert_int_eq(provider_exchange(&asking, authorize("alice"), text_of(VERIFIER), &tokens),
                     PROVIDER_ANSWERED);
    ck_assert_int_eq(tokens.refresh.s != NULL, has_some);
    if (!has_some)
        return;
    ck_assert_msg(ask_tokens_anew(tokens.refresh, &more, &why) == PROVIDER_ANSWERED, "%s", why);
    ck_assert(!text_eq(more.access, tokens.access) && more.refresh.s);
    ck_assert(text_eq(identify(more.access).subject, text_of(found("subject"))));
    mock_revoke(mock_name, "alice");
    ck_assert_int_eq(ask_tokens_anew(more.refresh, &more, &why), PROVIDER_REFUSED);
    is_discreet(why, tokens.refresh);
}
END_TEST

/* A list that the provider does not give is unknown, and no outage. */
START_TEST(lists_not_given)
{
    static const struct {
        const char *fault;
        unsigned wants;
        unsigned known;
        const char *words; /* NULL: no rule needs it */
    } cases[] = {
        {"emails:status:403", IDENTITY_TEAMS, IDENTITY_ORGANIZATIONS | IDENTITY_TEAMS, NULL},
        {"emails:status:403", IDENTITY_EMAILS, 0,
         "GitHub, emails endpoint: it does not permit the application to ask this (status 403)"},
        {"teams:status:403", IDENTITY_TEAMS, IDENTITY_EMAILS | IDENTITY_ORGANIZATIONS,
         "GitHub, teams endpoint: it does not permit the application to ask this (status 403)"},
        {"orgs:status:404", IDENTITY_TEAMS, IDENTITY_EMAILS | IDENTITY_TEAMS, NULL},
    };
    struct identity identity;
    struct text token;
    const char *why = "";

    choose(PROVIDER_GITHUB, cases[_i].fault);
    client.wants = cases[_i].wants;
    token = sign_in("alice");
    ck_assert_int_eq(ask_identity(token, &identity, &why), PROVIDER_ANSWERED);
    ck_assert_uint_eq(identity.known, cases[_i].known | IDENTITY_DOMAINS);
    if (cases[_i].words)
        ck_assert_str_eq(why, cases[_i].words);
    else
        ck_assert_msg(!why, "%s", why);
}
END_TEST

/* The log names the scope that is missing. */
START_TEST(scopes_not_given)
{
    struct identity identity;
    struct text token;
    const char *why = "";

    choose(PROVIDER_GITHUB, "");
    client.wants = IDENTITY_TEAMS;
    client.scopes =
        (struct text_list){.items = (struct text[]){text_of("user:email")}, .n = 1, .given = true};
    token = sign_in("alice");
    ck_assert_int_eq(ask_identity(token, &identity, &why), PROVIDER_ANSWERED);
    ck_assert_uint_eq(identity.known, IDENTITY_EMAILS | IDENTITY_DOMAINS);
    ck_assert_msg(strstr(why, "wants one of: read:org, user, repo; the token has: user:email"),
                  "%s", why);
}
END_TEST

/* What a sign-in asks for to know the visitor, without what it asks for to be kept. */
START_TEST(scopes_asked_for)
{
    struct text_list scopes;

    choose(PROVIDER_GITHUB, "");
    client.keeps_token = true;
    ck_assert(provider_scopes(&client, &arena, &scopes));
    ck_assert_uint_eq(scopes.n, 1);
    ck_assert(text_eq(scopes.items[0], text_of("user:email")));
    client.wants = IDENTITY_TEAMS;
    ck_assert(provider_scopes(&client, &arena, &scopes));
    ck_assert_uint_eq(scopes.n, 2);
    ck_assert(text_eq(scopes.items[1], text_of("read:org")));
    client.scopes = (struct text_list){
        .items = (struct text[]){text_of("a  b"), text_of("c")}, .n = 2, .given = true};
    ck_assert(provider_scopes(&client, &arena, &scopes));
    ck_assert_uint_eq(scopes.n, 3);
    ck_assert(text_eq(scopes.items[2], text_of("c")));
    choose(PROVIDER_MICROSOFT, "");
    client.keeps_token = true;
    ck_assert(provider_scopes(&client, &arena, &scopes));
    ck_assert_uint_eq(scopes.n, 3);
}
END_TEST

/* All questions about a visitor share a time. */
START_TEST(one_deadline)
{
    struct identity identity;
    struct text token;
    const char *why = "";

    choose(PROVIDER_GITHUB, "");
    client.wants = IDENTITY_TEAMS;
    token = sign_in("alice");
    client.deadline_ms = clock_steady_ms();
    ck_assert_int_eq(ask_identity(token, &identity, &why), PROVIDER_AWAY);
    ck_assert_msg(strstr(why, "in time"), "%s", why);
}
END_TEST

/* A code is worth nothing without the verifier of its login. */
START_TEST(a_wrong_verifier)
{
    struct provider_tokens tokens;
    struct provider_asking asking = asking_now();
    struct text code;

    choose(_i + 1, "");
    if (!identity_provider_at(_i + 1)->takes_pkce)
        return;
    code = authorize("alice");
    ck_assert_int_eq(provider_exchange(&asking, code, text_of("another"), &tokens),
                     PROVIDER_REFUSED);
}
END_TEST

START_TEST(faults)
{
    static const struct {
        const char *fault;
        const char *words; /* of the reason */
    } cases[] = {
        {"token:status:500", "token endpoint: it reports a fault of its own (status 500)"},
        {"token:status:429", "token endpoint: it limits the rate of requests (status 429)"},
        {"token:huge", "token endpoint: localhost"},
        {"token:text", "token endpoint: the answer is not JSON (status 200)"},
        {"token:type", "token endpoint: the answer's content type"},
        {"token:redirect", "token endpoint: an unexpected status (status 302)"},
        {"token:cut", "token endpoint: localhost"},
        {"user:status:500", "user endpoint: it reports a fault of its own (status 500)"},
        {"user:huge", "user endpoint: localhost"},
        {"user:text", "user endpoint: the answer is not JSON (status 200)"},
        {"user:type", "user endpoint: the answer's content type"},
        {"user:redirect", "user endpoint: an unexpected status (status 302)"},
        {"user:cut", "user endpoint: localhost"},
        {"user:json:%7B%22login%22:%22alice%22%7D", "user endpoint: the answer names no user"},
        {"emails:status:500", "emails endpoint: it reports a fault of its own (status 500)"},
        {"emails:json:%7B%7D", "emails endpoint: the answer is not a list"},
        {"orgs:status:429", "orgs endpoint: it limits the rate of requests (status 429)"},
        {"orgs:text", "orgs endpoint: the answer is not JSON"},
        {"teams:status:502", "teams endpoint: it reports a fault of its own (status 502)"},
        {"teams:elsewhere", "teams endpoint: the next page is at another host"},
        {"teams:endless", "teams endpoint: the list has too many pages"},
    };
    struct text code, token = {0};
    struct identity identity;
    const char *why = "";

    choose(PROVIDER_GITHUB, cases[_i].fault);
    client.wants = IDENTITY_EMAILS | IDENTITY_TEAMS;
    code = authorize("alice");
    if (text_begins(text_of(cases[_i].fault), "token")) {
        ck_assert_int_eq(exchange(code, &token, &why), PROVIDER_AWAY);
        is_discreet(why, code);
    } else {
        ck_assert_int_eq(exchange(code, &token, &why), PROVIDER_ANSWERED);
        n_fetched = 0;
        ck_assert_int_eq(ask_identity(token, &identity, &why), PROVIDER_AWAY);
        is_discreet(why, token);
        ck_assert_int_le(n_fetched, 3 + 50);
    }
    ck_assert_msg(strstr(why, cases[_i].words), "%s", why);
}
END_TEST

#define N_FAULTS 21

START_TEST(addresses_of_github)
{
    struct identity identity;

    choose(PROVIDER_GITHUB, "");
    identity = identity_of("alice");
    ck_assert_uint_eq(identity.emails.n, 2); /* neither the unverified nor the malformed one */
    ck_assert(text_eq(identity.emails.items[0], text_of("alice@example.com")));
    ck_assert(text_eq(identity.emails.items[1], text_of("alice@private.example.org")));
    /* A module's own scopes are asked for as they are. */
    client.scopes =
        (struct text_list){.items = (struct text[]){text_of("read:user")}, .n = 1, .given = true};
    identity = identity_of("alice");
    ck_assert_uint_eq(identity.emails.n, 0);
}
END_TEST

START_TEST(teams_of_github)
{
    struct identity identity;
    bool seen[231] = {false};

    choose(PROVIDER_GITHUB, "");
    client.wants = IDENTITY_EMAILS | IDENTITY_TEAMS;
    identity = identity_of("carol");
    ck_assert_uint_eq(identity.organizations.n, 2);
    ck_assert(text_eq(identity.organizations.items[0], text_of("acme")));
    ck_assert(text_eq(identity.organizations.items[1], text_of("globex")));
    ck_assert(text_eq(identity.subject, text_of("9007199254740993")));
    ck_assert_uint_eq(identity.teams.n, 231); /* and the one above them, once */
    for (size_t i = 0; i < identity.teams.n; i++) {
        int number = 0;

        if (text_eq(identity.teams.items[i], text_of("globex/parent")))
            continue;
        ck_assert_int_eq(sscanf(identity.teams.items[i].s, "globex/team-%d", &number), 1);
        ck_assert(number >= 1 && number <= 230 && !seen[number]);
        seen[number] = true;
    }
    /* They are asked for only where a module lists some. */
    client.wants = 0;
    identity = identity_of("carol");
    ck_assert_uint_eq(identity.teams.n + identity.organizations.n, 0);
}
END_TEST

/* Microsoft's addresses count if the endpoints are one tenant's, or if it says so. */
START_TEST(tenants_of_microsoft)
{
    static const struct {
        const char *authorize;
        const char *token;
        const char *user;
        bool counts;
    } cases[] = {
        {"common", "common", "alice", false},   {"common", "common", "carol", true},
        {"common", "common", "mallory", false}, {TENANT, TENANT, "alice", true},
        {"common", TENANT, "alice", false},     {TENANT, "common", "alice", false},
    };

    for (size_t i = 0; i < N_OF(cases); i++) {
        choose(PROVIDER_MICROSOFT, "");
        snprintf(urls[0], sizeof urls[0], "%s/%s/oauth2/v2.0/authorize", mock_value("microsoft"),
                 cases[i].authorize);
        snprintf(urls[1], sizeof urls[1], "%s/%s/oauth2/v2.0/token", mock_value("microsoft"),
                 cases[i].token);
        ck_assert_msg(identity_of(cases[i].user).emails.n == cases[i].counts, "%zu", i);
    }
}
END_TEST

START_TEST(shared_tenants)
{
    static const char *const names[] = {"common", "Organizations", "CONSUMERS", ""};
    struct text token;

    choose(PROVIDER_MICROSOFT, "");
    token = sign_in("alice");
    for (size_t i = 0; i < N_OF(names); i++) {
        snprintf(urls[0], sizeof urls[0], "https://login.test/%s/authorize", names[i]);
        snprintf(urls[1], sizeof urls[1], "https://login.test/%s/token", names[i]);
        ck_assert_uint_eq(identify(token).emails.n, 0);
    }
    snprintf(urls[0], sizeof urls[0], "https://login.test");
    snprintf(urls[1], sizeof urls[1], "https://login.test");
    ck_assert_uint_eq(identify(token).emails.n, 0);
}
END_TEST

/* Without settings the table's endpoints are used. */
START_TEST(authorize_urls)
{
    static const char *const expected[] = {
        "https://github.com/login/oauth/authorize?response_type=code&client_id=a%26b"
        "&redirect_uri=https%3A%2F%2Fapp.example.com%2F_adit%2Fcallback&state=s%20t"
        "&scope=user%3Aemail%20read%3Aorg&code_challenge_method=S256"
        "&code_challenge=E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM",
        "https://www.facebook.com/v21.0/dialog/oauth?response_type=code&client_id=a%26b"
        "&redirect_uri=https%3A%2F%2Fapp.example.com%2F_adit%2Fcallback&state=s%20t"
        "&scope=public_profile",
    };

    for (int i = 0; i < 2; i++) {
        struct buf url = {0};

        choose(i + 1, "");
        conf = (struct conf_provider){.authorize_url = (char[]){""}};
        client.client_id = text_of("a&b");
        client.wants = IDENTITY_EMAILS | IDENTITY_TEAMS;
        provider_authorize_url(&url, &client, text_of("s t"), text_of(VERIFIER));
        ck_assert_str_eq(url.data, expected[i]);
        buf_free(&url);
    }
}
END_TEST

Suite *gate_provider_suite(void)
{
    Suite *suite = suite_create("gate/provider");
    TCase *tests = tcase_create("provider");

    tcase_add_unchecked_fixture(tests, mock_start, mock_stop);
    tcase_add_checked_fixture(tests, set_up, tear_down);
    tcase_add_loop_test(tests, every_provider, 0, OAUTH_N_PROVIDERS);
    tcase_add_loop_test(tests, every_refusal, 0, OAUTH_N_PROVIDERS);
    tcase_add_loop_test(tests, refresh_tokens, 0, OAUTH_N_PROVIDERS);
    tcase_add_loop_test(tests, lists_not_given, 0, 4);
    tcase_add_test(tests, scopes_not_given);
    tcase_add_test(tests, scopes_asked_for);
    tcase_add_test(tests, one_deadline);
    tcase_add_loop_test(tests, a_wrong_verifier, 0, OAUTH_N_PROVIDERS);
    tcase_add_loop_test(tests, faults, 0, N_FAULTS);
    tcase_add_test(tests, addresses_of_github);
    tcase_add_test(tests, teams_of_github);
    tcase_add_test(tests, tenants_of_microsoft);
    tcase_add_test(tests, shared_tenants);
    tcase_add_test(tests, authorize_urls);
    suite_add_tcase(suite, tests);
    return suite;
}
