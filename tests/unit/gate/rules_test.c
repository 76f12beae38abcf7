/* SPDX-License-Identifier: MIT */
/* Tests of whom an OAuth module's lists let in. */
#include "gate/rules.h"

#include <check.h>
#include <stdio.h>
#include <string.h>

#include "suites.h"

#define LIST(...)                                                                                  \
    (const char *[])                                                                               \
    {                                                                                              \
        __VA_ARGS__, NULL                                                                          \
    }

#define MAX_ENTRIES 4

static struct text_list list_of(struct text items[MAX_ENTRIES], const char *const *texts)
{
    struct text_list list = {.items = items, .given = true};

    for (; texts && texts[list.n]; list.n++)
        items[list.n] = text_of(texts[list.n]);
    return list;
}

static bool admits_email(const char *const *addresses, const char *const *domains,
                         const char *const *own)
{
    struct text items[3][MAX_ENTRIES];
    struct oauth_provider lists = {.email_addresses = list_of(items[0], addresses),
                                   .email_domains = list_of(items[1], domains)};
    struct identity identity = {
        .known = IDENTITY_ALL, .subject = text_of("1"), .emails = list_of(items[2], own)};

    return rules_admit(&lists, &identity);
}

static bool address_admits(const char *entry, const char *own)
{
    return admits_email(LIST(entry), NULL, LIST(own));
}

static bool domain_admits(const char *entry, const char *own)
{
    return admits_email(NULL, LIST(entry), LIST(own));
}

START_TEST(no_lists_admit_everybody)
{
    struct oauth_provider lists = {.client_id = text_of("c")};
    struct identity identity = {.known = IDENTITY_ALL, .subject = text_of("1")};

    ck_assert(rules_admit(&lists, &identity));
    lists.email_domains.given = true;
    ck_assert(rules_admit(&lists, &identity));
    ck_assert(admits_email(NULL, NULL, LIST("a@example.com")));
}
END_TEST

START_TEST(nobody_without_what_a_list_asks_for)
{
    ck_assert(!admits_email(LIST("a@example.com"), NULL, NULL));
    ck_assert(!admits_email(NULL, LIST("example.com"), NULL));
    ck_assert(!admits_email(LIST(""), NULL, NULL));
}
END_TEST

START_TEST(addresses)
{
    ck_assert(address_admits("a@example.com", "a@example.com"));
    ck_assert(address_admits("Ann.Lee@Example.COM", "aNN.lEE@eXAMPLE.com"));
    ck_assert(!address_admits("a@example.com", "b@example.com"));
    ck_assert(!address_admits("a@example.com", "aa@example.com"));
    ck_assert(!address_admits("a@example.com", "a@example.com.evil.example"));
    ck_assert(!address_admits("a@example.com", "a@example.co"));
    ck_assert(!address_admits("a@example.com", "a@sub.example.com"));
    ck_assert(!address_admits("a@example.com", "a@example.com "));
    ck_assert(!address_admits("a@example.com", "a@example.com."));
    ck_assert(!address_admits("ann@example.com", "ann+x@example.com"));
    ck_assert(!address_admits("annlee@example.com", "ann.lee@example.com"));
    ck_assert(!address_admits("example.com", "a@example.com"));
    ck_assert(admits_email(LIST("b@example.com", "a@example.com"), NULL, LIST("a@example.com")));
    ck_assert(admits_email(LIST("a@example.com"), NULL, LIST("c@example.org", "a@example.com")));
}
END_TEST

START_TEST(domains)
{
    ck_assert(domain_admits("example.com", "a@example.com"));
    ck_assert(domain_admits("Example.COM", "a@eXAMPLE.com"));
    ck_assert(!domain_admits("example.com", "a@sub.example.com"));
    ck_assert(!domain_admits("sub.example.com", "a@example.com"));
    ck_assert(!domain_admits("example.com", "a@notexample.com"));
    ck_assert(!domain_admits("example.com", "a@example.com.evil.example"));
    ck_assert(!domain_admits("example.com", "a@example.com."));
    ck_assert(!domain_admits("example.com.", "a@example.com"));
    ck_assert(!domain_admits(".example.com", "a@sub.example.com"));
    ck_assert(!domain_admits("*.example.com", "a@sub.example.com"));
    ck_assert(!domain_admits("*", "a@example.com"));
    ck_assert(!domain_admits("", "a@example.com"));
    ck_assert(!domain_admits("@example.com", "a@example.com"));
    ck_assert(!domain_admits("a@example.com", "a@example.com"));
    ck_assert(admits_email(NULL, LIST("example.org", "example.com"), LIST("a@example.com")));
    ck_assert(admits_email(LIST("b@example.com"), LIST("example.com"), LIST("a@example.com")));
}
END_TEST

/* Whatever the provider and psql gave: only addresses count. */
START_TEST(malformed_addresses)
{
    static const char *const bad[] = {"",
                                      "@",
                                      "a@",
                                      "@example.com",
                                      "example.com",
                                      "a@b@example.com",
                                      "@@example.com",
                                      "a@@example.com",
                                      "a@example.com@"};

    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        ck_assert_msg(!address_admits(bad[i], bad[i]), "%s", bad[i]);
        ck_assert_msg(!domain_admits("example.com", bad[i]), "%s", bad[i]);
        ck_assert_msg(!domain_admits("", bad[i]), "%s", bad[i]);
        ck_assert_msg(!domain_admits("@example.com", bad[i]), "%s", bad[i]);
        ck_assert_msg(!domain_admits("b@example.com", bad[i]), "%s", bad[i]);
        ck_assert_msg(!address_admits(bad[i], "a@example.com"), "%s", bad[i]);
    }
    ck_assert(address_admits("\"a b\"@example.com", "\"a b\"@example.com"));
}
END_TEST

START_TEST(other_alphabets)
{
    /* Kelvin sign, Cyrillic a, dotless i, full-width a, sharp s: Unicode's case folding or
     * compatibility would take some of them for ASCII letters. */
    ck_assert(!address_admits("k@example.com", "\xE2\x84\xAA@example.com"));
    ck_assert(!address_admits("a@example.com", "\xD0\xB0@example.com"));
    ck_assert(!address_admits("i@example.com", "\xC4\xB1@example.com"));
    ck_assert(!domain_admits("example.com", "a@ex\xEF\xBD\x81mple.com"));
    ck_assert(!domain_admits("strasse.example", "a@stra\xC3\x9F"
                                                "e.example"));
    ck_assert(!domain_admits("example.com", "a@example\xE3\x80\x82"
                                            "com"));
    ck_assert(!domain_admits("xn--bcher-kva.example", "a@b\xC3\xBC"
                                                      "cher.example"));
    ck_assert(domain_admits("b\xC3\xBC"
                            "cher.example",
                            "a@b\xC3\xBC"
                            "cher.example"));
    ck_assert(!domain_admits("b\xC3\x9C"
                             "cher.example",
                             "a@b\xC3\xBC"
                             "cher.example"));
    ck_assert(domain_admits("XN--Bcher-kva.example", "a@xn--bcher-kva.example"));
    ck_assert(!address_admits("a\xE2\x80\x8B@example.com", "a@example.com"));
}
END_TEST

static bool team_admits(const char *entry, const char *own)
{
    struct text items[2][MAX_ENTRIES];
    struct oauth_provider lists = {.teams = list_of(items[0], LIST(entry))};
    struct identity identity = {
        .known = IDENTITY_ALL, .subject = text_of("1"), .teams = list_of(items[1], LIST(own))};

    return rules_admit(&lists, &identity);
}

static bool organization_admits(const char *entry, const char *own)
{
    struct text items[2][MAX_ENTRIES];
    struct oauth_provider lists = {.organizations = list_of(items[0], LIST(entry))};
    struct identity identity = {.known = IDENTITY_ALL,
                                .subject = text_of("1"),
                                .organizations = list_of(items[1], LIST(own))};

    return rules_admit(&lists, &identity);
}

START_TEST(teams_and_organizations)
{
    ck_assert(team_admits("org/team", "org/team"));
    ck_assert(team_admits("Org/Team", "oRG/tEAM"));
    ck_assert(!team_admits("org/team", "org/teams"));
    ck_assert(!team_admits("org/team", "other/team"));
    ck_assert(!team_admits("team", "org/team"));
    ck_assert(!team_admits("org/", "org/team"));
    ck_assert(!team_admits("org/*", "org/team"));
    ck_assert(!team_admits("", ""));
    ck_assert(organization_admits("org", "org"));
    ck_assert(organization_admits("ORG", "org"));
    ck_assert(!organization_admits("org", "organization"));
    ck_assert(!organization_admits("organization", "org"));
    ck_assert(!organization_admits("", ""));
}
END_TEST

/* An entry counts for its own list only. */
START_TEST(lists_are_apart)
{
    struct text items[4][MAX_ENTRIES];
    const char *const *all = LIST("a@example.com", "example.com", "org/team", "org");
    struct oauth_provider lists = {.email_addresses = list_of(items[0], LIST("b@example.com")),
                                   .email_domains = list_of(items[1], LIST("example.org")),
                                   .teams = list_of(items[2], LIST("org/other")),
                                   .organizations = list_of(items[3], LIST("other"))};
    struct text own_items[4][MAX_ENTRIES];
    struct identity identity = {.known = IDENTITY_ALL,
                                .subject = text_of("org"),
                                .name = text_of("example.org"),
                                .emails = list_of(own_items[0], LIST("a@example.com")),
                                .organizations = list_of(own_items[1], LIST("org")),
                                .teams = list_of(own_items[2], LIST("org/team"))};

    ck_assert(!rules_admit(&lists, &identity));
    lists.email_addresses = list_of(items[0], LIST("org", "org/team", "example.com"));
    lists.email_domains = list_of(items[1], LIST("org", "org/team", "a@example.com"));
    lists.teams = list_of(items[2], LIST("org", "a@example.com", "example.com"));
    lists.organizations = list_of(items[3], LIST("org/team", "a@example.com", "example.com"));
    ck_assert(!rules_admit(&lists, &identity));
    lists.organizations = list_of(items[3], all);
    ck_assert(rules_admit(&lists, &identity));
    lists.organizations.n = 0;
    lists.teams = list_of(items[2], all);
    ck_assert(rules_admit(&lists, &identity));
    lists.teams.n = 0;
    lists.email_domains = list_of(items[1], all);
    ck_assert(rules_admit(&lists, &identity));
    lists.email_domains.n = 0;
    lists.email_addresses = list_of(items[0], all);
    ck_assert(rules_admit(&lists, &identity));
    lists.email_addresses = list_of(items[0], LIST("z@example.com"));
    ck_assert(!rules_admit(&lists, &identity));
}
END_TEST

/* ---- narrowing ---- */

#define MANY 300

static struct text many_teams[MANY];

/* An identity in many teams, org/t100 to org/t399. */
static struct identity in_many_teams(struct text *items, size_t n)
{
    static char names[MANY][16];
    struct identity identity = {.subject = text_of("1"),
                                .teams = {.items = many_teams, .n = MANY, .given = true},
                                .emails = {.items = items, .n = n, .given = true}};

    for (size_t i = 0; i < MANY; i++) {
        snprintf(names[i], sizeof names[i], "org/t%zu", 100 + i);
        many_teams[i] = text_of(names[i]);
    }
    return identity;
}

START_TEST(a_small_identity_stays_whole)
{
    struct text items[2][MAX_ENTRIES];
    const struct oauth_provider lists = {.teams = list_of(items[0], LIST("org/x"))};
    struct text own[] = {text_of("a@example.com"), text_of("b@example.org")};
    struct identity identity = in_many_teams(own, 2);

    identity.teams.n = 100;
    rules_narrow(&lists, &identity);
    ck_assert(!identity.is_narrowed);
    ck_assert_uint_eq(identity.teams.n, 100);
    ck_assert_uint_eq(identity.emails.n, 2);
    ck_assert(!rules_may_lack(&lists, &identity));
}
END_TEST

START_TEST(a_large_identity_is_narrowed)
{
    struct text items[4][MAX_ENTRIES];
    struct oauth_provider lists = {.teams =
                                       list_of(items[0], LIST("org/x", "ORG/t250", "org/t399")),
                                   .email_domains = list_of(items[1], LIST("example.org"))};
    struct text own[] = {text_of("a@example.com"), text_of("b@example.net"),
                         text_of("c@example.org")};
    struct identity identity = in_many_teams(own, 3);

    rules_narrow(&lists, &identity);
    ck_assert(identity.is_narrowed);
    ck_assert_uint_eq(identity.teams.n, 2);
    ck_assert_str_eq(identity.teams.items[0].s, "org/t250");
    ck_assert_str_eq(identity.teams.items[1].s, "org/t399");
    ck_assert_uint_eq(identity.emails.n, 2);
    ck_assert_str_eq(identity.emails.items[0].s, "a@example.com");
    ck_assert_str_eq(identity.emails.items[1].s, "c@example.org");
    ck_assert(rules_admit(&lists, &identity));
    /* Other lists that name what is kept let it in; of those that do not, nobody knows. */
    ck_assert(!rules_may_lack(&lists, &identity));
    lists.email_domains.n = 0;
    ck_assert(!rules_may_lack(&lists, &identity));
    lists.teams = list_of(items[0], LIST("org/t100"));
    ck_assert(!rules_admit(&lists, &identity));
    ck_assert(rules_may_lack(&lists, &identity));
    /* What it was narrowed to has the last word. */
    identity = in_many_teams(own, 1);
    lists.teams = list_of(items[0], LIST("org/x"));
    rules_narrow(&lists, &identity);
    ck_assert_uint_eq(identity.teams.n, 0);
    ck_assert(!rules_may_lack(&lists, &identity));
    lists.organizations = list_of(items[2], LIST("org/x"));
    lists.teams.n = 0;
    ck_assert(rules_may_lack(&lists, &identity));
}
END_TEST

START_TEST(what_is_kept_has_a_limit)
{
    struct identity identity = in_many_teams(NULL, 0);
    struct oauth_provider lists = {.teams = {.items = many_teams, .n = MANY, .given = true}};
    struct text copy[MANY];

    memcpy(copy, many_teams, sizeof copy);
    lists.teams.items = copy;
    rules_narrow(&lists, &identity);
    ck_assert_uint_eq(identity.teams.n, RULES_NAMED_MAX / strlen("org/t100"));
    ck_assert(rules_admit(&lists, &identity));
}
END_TEST

START_TEST(what_differs)
{
    struct text items[4][MAX_ENTRIES];
    const struct identity before = {.known = IDENTITY_ALL,
                                    .emails = list_of(items[0], LIST("a@x.example", "b@x.example")),
                                    .organizations = list_of(items[1], LIST("acme")),
                                    .teams = list_of(items[2], LIST("acme/ops", "acme/dev"))};
    struct identity now = before;

    ck_assert(!rules_differ(&now, &before));
    now.organizations = list_of(items[3], LIST("ACME"));
    ck_assert(!rules_differ(&now, &before));
    now.organizations = list_of(items[3], LIST("other", "ACME"));
    ck_assert(rules_differ(&now, &before));
    ck_assert(rules_differ(&before, &now));
    now.organizations.n = 1;
    ck_assert(rules_differ(&now, &before));
    now = before;
    now.teams.n = 1;
    ck_assert(rules_differ(&now, &before));
    now = before;
    now.emails.n = 1;
    ck_assert(rules_differ(&now, &before));
    now.emails = list_of(items[3], LIST("b@x.example", "a@x.example"));
    ck_assert(rules_differ(&now, &before));
    now = before;
    now.known = IDENTITY_EMAILS;
    ck_assert(rules_differ(&now, &before));
    /* A list that nobody asked for is empty. */
    now = before;
    now.known &= ~(unsigned)IDENTITY_ORGANIZATIONS;
    now.organizations.n = 0;
    ck_assert(rules_differ(&now, &before));
}
END_TEST

Suite *gate_rules_suite(void)
{
    Suite *suite = suite_create("gate/rules");
    TCase *tcase = tcase_create("rules");

    tcase_add_test(tcase, no_lists_admit_everybody);
    tcase_add_test(tcase, nobody_without_what_a_list_asks_for);
    tcase_add_test(tcase, addresses);
    tcase_add_test(tcase, domains);
    tcase_add_test(tcase, malformed_addresses);
    tcase_add_test(tcase, other_alphabets);
    tcase_add_test(tcase, teams_and_organizations);
    tcase_add_test(tcase, lists_are_apart);
    tcase_add_test(tcase, what_differs);
    tcase_add_test(tcase, a_small_identity_stays_whole);
    tcase_add_test(tcase, a_large_identity_is_narrowed);
    tcase_add_test(tcase, what_is_kept_has_a_limit);
    suite_add_tcase(suite, tcase);
    return suite;
}
