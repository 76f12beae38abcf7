/* SPDX-License-Identifier: MIT */
/* Tests of judging keys that are offered. */
#include "gateway/judge.h"

#include <check.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "gateway/fake_keys.h"
#include "suites.h"

static struct gateway gateway;
static struct arena arena;
static struct judge_grant grant;
static const char *why;

static void start(void)
{
    fake_keys_start(&gateway);
}

static void stop(void)
{
    arena_free(&arena);
    fake_keys_stop(&gateway);
}

static enum judge_verdict offer(size_t i)
{
    arena_reset(&arena);
    return judge_key(&gateway, &arena, text_of(A), text_of(fake_keys[i].fingerprint), &grant, &why);
}

static void is_granted(size_t i, const char *options)
{
    ck_assert_int_eq(offer(i), JUDGE_PERMITTED);
    ck_assert_str_eq(grant.options.s, options);
    ck_assert_uint_eq(grant.credential_ids.n, 1);
    ck_assert_str_eq(grant.credential_ids.items[0].s, fake_keys[i].credential_id);
    ck_assert(text_eq(grant.digest, text_of(fake_keys[i].digest)));
    ck_assert(text_eq(grant.account_id, text_of(fake_keys[i].account_id)));
    ck_assert_uint_eq(grant.granted.n, 1);
    ck_assert_str_eq(grant.granted.items[0].s, fake_keys[i].rule);
}

/* Nobody has to prove anything to offer a key, whether it has much or little. */
START_TEST(a_key_is_read_once)
{
    const char *options = "restrict,port-forwarding,permitlisten=\"a:1\"";

    fake_keys[0].n_rules = HEAVY_KEY_LEAST;
    for (int i = 0; i < 3; i++)
        is_granted(0, options);
    ck_assert_int_eq(fake_keys[0].n_look_ups, 1);
    snprintf(fake_keys[0].digest, sizeof fake_keys[0].digest, "another");
    fake_keys[0].rule = "bind:b:1";
    for (int i = 0; i < 3; i++)
        is_granted(0, "restrict,port-forwarding,permitlisten=\"b:1\"");
    ck_assert_int_eq(fake_keys[0].n_look_ups, 2);
    snprintf(fake_keys[0].digest, sizeof fake_keys[0].digest, "nothing");
    fake_keys[0].n = 0;
    ck_assert_int_eq(offer(0), JUDGE_NONE);
    ck_assert_int_eq(fake_keys[0].n_look_ups, 2);
    fake_keys[0].n = fake_keys[0].n_rules = 1;
    fake_keys[0].rule = "bind:a:1";
    for (int i = 0; i < 3; i++)
        is_granted(0, options);
    ck_assert_int_eq(fake_keys[0].n_look_ups, 3);
}
END_TEST

/* Strangers offer any keys. */
START_TEST(nobody_has_an_offered_key)
{
    fake_keys[0].n = 0;
    ck_assert_int_eq(offer(0), JUDGE_NONE);
    ck_assert_int_eq(fake_database.n_glances, 1);
    ck_assert_int_eq(fake_keys[0].n_look_ups, 0);
}
END_TEST

START_TEST(an_offered_key_is_over_the_limits)
{
    fake_key_exceed(&fake_keys[0], _i == 0);
    for (int i = 0; i < 4; i++) {
        ck_assert_int_eq(offer(0), JUDGE_OVER);
        ck_assert_str_eq(why, GRANT_OVER);
    }
    ck_assert_int_eq(fake_keys[0].n_look_ups, 1);
    fake_keys[0].n = 1;
    fake_keys[0].is_over = false;
    snprintf(fake_keys[0].digest, sizeof fake_keys[0].digest, "less");
    ck_assert_int_eq(offer(0), JUDGE_PERMITTED);
    ck_assert(!gateway.is_away);
}
END_TEST

/* Others have little of the key, and log in by that.  It is remembered while a glance tells that
 * the key is the same. */
START_TEST(an_owner_is_over_the_limits)
{
    const bool is_hidden = _i == 1;

    fake_key_exceed(&fake_keys[0], false);
    fake_keys[0].rest = "bind:b:1";
    fake_keys[0].rest_is_hidden = is_hidden;
    for (int i = 0; i < 3; i++) {
        ck_assert_int_eq(offer(0), JUDGE_PERMITTED);
        ck_assert_str_eq(grant.options.s, "restrict,port-forwarding,permitlisten=\"b:1\"");
        ck_assert_uint_eq(grant.credential_ids.n, 1);
        ck_assert_str_eq(grant.credential_ids.items[0].s, REST_ID);
        ck_assert(text_eq(grant.digest, text_of(is_hidden ? "" : "another")));
    }
    ck_assert_int_eq(fake_keys[0].n_look_ups, is_hidden ? 3 : 1);
    snprintf(fake_keys[0].digest, sizeof fake_keys[0].digest, "without the rest");
    fake_keys[0].rest = NULL;
    for (int i = 0; i < 3; i++) {
        ck_assert_int_eq(offer(0), JUDGE_OVER);
        ck_assert_str_eq(why, GRANT_OVER);
    }
    ck_assert_int_eq(fake_keys[0].n_look_ups, is_hidden ? 4 : 2);
}
END_TEST

/* The grants of two owners, with so many distinct rules each. */
static void find_two(struct gateway_credentials *found, size_t n_domains, size_t n_addresses)
{
    const char *const owners[] = {"usr_a", "usr_b"};
    const size_t numbers[] = {n_domains, n_addresses};

    *found = (struct gateway_credentials){.account_id = text_of(A), .digest = text_of("both")};
    found->items = arena_array(&arena, 2, sizeof *found->items);
    ck_assert_ptr_nonnull(found->items);
    for (; found->n < 2; found->n++) {
        struct ssh_grant *item = &found->items[found->n];

        *item = (struct ssh_grant){text_of(owners[found->n]), text_of(owners[found->n]), {0}};
        item->acl.items = arena_array(&arena, numbers[found->n], sizeof *item->acl.items);
        ck_assert_ptr_nonnull(item->acl.items);
        for (; item->acl.n < numbers[found->n]; item->acl.n++) {
            char *rule = arena_alloc(&arena, 32);

            ck_assert_ptr_nonnull(rule);
            snprintf(rule, 32, found->n ? "bind:b%zu:1" : "bind:a%zu.example", item->acl.n);
            item->acl.items[item->acl.n] = text_of(rule);
        }
    }
}

/* Whoever fills what sshd takes, also by the ports of domains, is left out; or who came last. */
START_TEST(an_owner_has_too_much_for_sshd)
{
    static const struct {
        size_t n_domains, n_addresses;
        const char *kept; /* NULL: both */
    } cases[] = {{100, 2000, NULL},
                 {2000, 2200, "usr_b"},
                 {1100, 3000, "usr_b"},
                 {500, 4000, "usr_a"},
                 {700, 2700, "usr_a"}};
    const struct ssh_domain_ports ports = {.ports = {1, 2, 3, 4}, .n = 4};
    struct ssh_left_out left_out = {.n = 0};
    struct gateway_credentials found;

    find_two(&found, cases[_i].n_domains, cases[_i].n_addresses);
    ck_assert_msg(grant_make(&found, &ports, &left_out, &arena, &grant, &why), "%s", why);
    ck_assert_uint_eq(left_out.n, cases[_i].kept != NULL);
    ck_assert_uint_eq(grant.credential_ids.n, cases[_i].kept ? 1 : 2);
    if (cases[_i].kept)
        ck_assert_str_eq(grant.credential_ids.items[0].s, cases[_i].kept);
    ck_assert(text_eq(grant.digest, text_of("both")));
}
END_TEST

START_TEST(both_owners_have_too_much_for_sshd)
{
    const struct ssh_domain_ports ports = {.ports = {1, 2, 3, 4}, .n = 4};
    struct ssh_left_out left_out = {.n = 0};
    struct gateway_credentials found;

    find_two(&found, 1100, 4097);
    ck_assert(!grant_make(&found, &ports, &left_out, &arena, &grant, &why));
    ck_assert_ptr_ne(why, ssh_options_no_memory);
    ck_assert_uint_eq(left_out.n, 1);
}
END_TEST

/* Labels are for no sshd, and no session keeps them. */
START_TEST(an_offered_key_has_labels)
{
    fake_keys[0].rule = "bind:region=eu";
    fake_keys[0].n_rules = _i ? HEAVY_KEY_LEAST : 1;
    for (int i = 0; i < 2; i++) {
        ck_assert_int_eq(offer(0), JUDGE_PERMITTED);
        ck_assert_str_eq(grant.options.s, "restrict");
        ck_assert_uint_eq(grant.granted.n, 0);
    }
}
END_TEST

/* It may be one key that is late, and then it waits alone. */
START_TEST(an_offered_key_is_late)
{
    fake_keys[0].is_late = true;
    ck_assert_int_eq(offer(0), JUDGE_AWAY);
    ck_assert_int_eq(offer(0), JUDGE_AWAY);
    /* The other one is for nobody's key. */
    ck_assert_int_eq(fake_database.n_glances, 2);
    ck_assert(!gateway.is_away);
    ck_assert_int_eq(offer(2), JUDGE_PERMITTED);
    fake_keys[0].is_late = false;
    heavy_keys_find(&gateway.heavy_keys,
                    &(struct gateway_key){.account_id = text_of(A),
                                          .fingerprint = text_of(fake_keys[0].fingerprint)})
        ->late_until_ms = 0;
    ck_assert_int_eq(offer(0), JUDGE_PERMITTED);
}
END_TEST

START_TEST(the_database_is_late_for_an_offered_key)
{
    fake_database.table_is_late = true;
    ck_assert_int_eq(offer(0), JUDGE_AWAY);
    ck_assert(gateway.is_away);
    ck_assert_int_eq(offer(0), JUDGE_AWAY);
    ck_assert_int_eq(offer(2), JUDGE_AWAY);
    ck_assert_int_eq(fake_keys[0].n_look_ups + fake_keys[2].n_look_ups, 0);
    ck_assert_int_eq(fake_database.n_glances, 2);
    fake_database.table_is_late = false;
    gateway.shut_until_ms = 0;
    ck_assert_int_eq(offer(0), JUDGE_PERMITTED);
    ck_assert(!gateway.is_away);
}
END_TEST

static void make_all_heavy(void)
{
    for (size_t i = 0; i < N_KEYS; i++) {
        fake_keys[i].n_rules = HEAVY_KEY_LEAST;
        snprintf(fake_keys[i].account_id, sizeof fake_keys[i].account_id, A);
    }
}

/* Whoever has many keys with too much, and offers one after the other, has each read once. */
START_TEST(many_keys_are_over_the_limits)
{
    make_all_heavy();
    for (size_t i = 0; i < N_KEYS; i++)
        fake_key_exceed(&fake_keys[i], i % 2 == 0);
    for (size_t i = 0; i < 5 * N_KEYS; i++)
        ck_assert_int_eq(offer(i % N_KEYS), JUDGE_OVER);
    for (size_t i = 0; i < N_KEYS; i++)
        ck_assert_int_eq(fake_keys[i].n_look_ups, 1);
}
END_TEST

/* Strangers offer the public halves of a fleet's keys, one after the other.  That takes none of the
 * time of their owner, whether the keys have the same rules or rules of their own. */
START_TEST(many_keys_are_heavy)
{
    static char rules[N_KEYS][24];

    make_all_heavy();
    for (size_t i = 0; i < N_KEYS; i++) {
        fake_keys[i].n_rules = READING_LEAST;
        fake_keys[i].owner_id = "usr_fleet";
        snprintf(rules[i], sizeof rules[i], "bind:a:%zu", _i ? i + 1 : 1);
        fake_keys[i].rule = rules[i];
        ck_assert_int_eq(offer(i), JUDGE_PERMITTED);
    }
    reading_note(&gateway.readings, text_of("usr_fleet"), 2 * READING_AT_ONCE_MS,
                 clock_steady_ms());
    for (size_t i = 0; i < 3 * N_KEYS; i++) {
        char options[64];

        snprintf(options, sizeof options, "restrict,port-forwarding,permitlisten=\"%s\"",
                 fake_keys[i % N_KEYS].rule + strlen("bind:"));
        is_granted(i % N_KEYS, options);
    }
    for (size_t i = 0; i < N_KEYS; i++)
        ck_assert_int_eq(fake_keys[i].n_look_ups, 1);
}
END_TEST

/* Whoever has keys read that take long waits, with all keys that are not known, and nobody else. */
START_TEST(an_owner_has_much_read)
{
    const struct text heavy = text_of("usr_heavy");
    int64_t now_ms;

    for (size_t i = 0; i <= 4; i += 2) {
        fake_keys[i].owner_id = heavy.s;
        fake_keys[i].n_rules = READING_LEAST - (i == 0 ? 2 : 0); /* with the credential, one less */
    }
    fake_database.takes_a_turn = true;
    ck_assert_int_eq(offer(0), JUDGE_PERMITTED);
    ck_assert_int_eq(gateway.readings.items[0].paid_ms, 0);
    ck_assert_int_eq(offer(2), JUDGE_PERMITTED);
    now_ms = clock_steady_ms();
    ck_assert_int_gt(gateway.readings.items[0].paid_ms, now_ms);
    fake_database.takes_a_turn = false;
    reading_note(&gateway.readings, heavy, READING_AT_ONCE_MS, now_ms);
    ck_assert_int_eq(offer(4), JUDGE_AWAY);
    ck_assert_int_eq(fake_keys[4].n_look_ups, 0);
    ck_assert(!gateway.is_away);
    ck_assert_int_eq(offer(2), JUDGE_PERMITTED);
    ck_assert_int_eq(offer(6), JUDGE_PERMITTED);
    gateway.readings.items[0].paid_ms = now_ms + READING_AT_ONCE_MS * READING_SHARE - 1;
    ck_assert_int_eq(offer(4), JUDGE_PERMITTED);
}
END_TEST

/* It is for keys with many rules. */
START_TEST(an_owner_has_keys_with_little)
{
    for (int i = 0; i <= 4; i += 2)
        fake_keys[i].owner_id = "usr_heavy";
    fake_keys[2].n_rules = HEAVY_KEY_LEAST + 1;
    reading_note(&gateway.readings, text_of("usr_heavy"), 2 * READING_AT_ONCE_MS,
                 clock_steady_ms());
    for (int i = 0; i < 2; i++) {
        is_granted(0, "restrict,port-forwarding,permitlisten=\"a:1\"");
        ck_assert_int_eq(offer(2), JUDGE_AWAY);
    }
    fake_keys[4].is_late = true;
    ck_assert_int_eq(offer(4), JUDGE_AWAY);
    ck_assert(!gateway.is_away);
    snprintf(fake_keys[0].digest, sizeof fake_keys[0].digest, "another");
    fake_keys[0].rule = "bind:b:1";
    is_granted(0, "restrict,port-forwarding,permitlisten=\"b:1\"");
}
END_TEST

/* Who shares a key with an owner that has no time left logs in by what is their own, if that is
 * little. */
START_TEST(others_share_a_key_with_a_heavy_owner)
{
    fake_keys[0].n_rules = READING_LEAST;
    fake_keys[0].owner_id = "usr_heavy";
    fake_keys[0].rest = "bind:b:1";
    reading_note(&gateway.readings, text_of("usr_heavy"), 2 * READING_AT_ONCE_MS,
                 clock_steady_ms());
    for (int i = 0; i < 2; i++) {
        ck_assert_int_eq(offer(0), JUDGE_PERMITTED);
        ck_assert_str_eq(grant.options.s, "restrict,port-forwarding,permitlisten=\"b:1\"");
    }
    ck_assert_int_eq(fake_keys[0].n_look_ups, 0);
    /* Nor does a second one keep them out. */
    fake_keys[0].rest_owner_id = "usr_second";
    ck_assert_int_eq(offer(0), JUDGE_PERMITTED);
    ck_assert_str_eq(grant.options.s, "restrict,port-forwarding,permitlisten=\"b:1\"");
    fake_keys[0].rest_is_much = true;
    ck_assert_int_eq(offer(0), JUDGE_AWAY);
    ck_assert(!gateway.is_away);
    /* Later, the owner's rules are read again. */
    gateway.readings = (struct readings){0};
    ck_assert_int_eq(offer(0), JUDGE_PERMITTED);
    ck_assert_str_eq(grant.options.s, "restrict,port-forwarding,permitlisten=\"a:1\"");
    ck_assert_int_eq(fake_keys[0].n_look_ups, 1);
}
END_TEST

/* Rules that repeat take little where they are stored.  What was read counts for their owner. */
START_TEST(the_owner_of_what_is_read_pays)
{
    fake_keys[0].n_rules = READING_LEAST;
    fake_keys[0].owner_id = "usr_heavy";
    fake_keys[0].seen_owner_id = "usr_light";
    fake_keys[0].rest = "bind:b:1";
    fake_database.takes_a_turn = true;
    for (int i = 0; i < 100 && fake_keys[0].n_look_ups == i; i++) {
        snprintf(fake_keys[0].digest, sizeof fake_keys[0].digest, "digest %d", i);
        ck_assert_int_eq(offer(0), JUDGE_PERMITTED);
    }
    ck_assert_int_gt(fake_keys[0].n_look_ups, 1);
    ck_assert_int_lt(fake_keys[0].n_look_ups, 100);
    ck_assert_str_eq(grant.options.s, "restrict,port-forwarding,permitlisten=\"b:1\"");
    ck_assert(!reading_is_due(&gateway.readings, text_of("usr_heavy"), clock_steady_ms()));
    ck_assert(reading_is_due(&gateway.readings, text_of("usr_light"), clock_steady_ms()));
}
END_TEST

/* Those stay in mind who have to wait longest. */
START_TEST(many_owners_have_much_read)
{
    static struct readings readings;
    char owner_id[32];

    for (int i = 0; i <= READING_OWNERS_MAX; i++) {
        snprintf(owner_id, sizeof owner_id, "usr_%d", i);
        reading_note(&readings, text_of(owner_id), READING_AT_ONCE_MS + (i != 7), 1000);
    }
    for (int i = 0; i <= READING_OWNERS_MAX; i++) {
        snprintf(owner_id, sizeof owner_id, "usr_%d", i);
        ck_assert_int_eq(reading_is_due(&readings, text_of(owner_id), 1000), i == 7);
    }
    ck_assert(reading_is_due(&readings, text_of("usr_1"), 1000 + READING_SHARE + 1));
    reading_note(&readings, text_of("usr_1"), 1, 1000);
    ck_assert(!reading_is_due(&readings, text_of("usr_1"), 1000 + READING_SHARE + 1));
}
END_TEST

Suite *gateway_judge_key_suite(void)
{
    Suite *suite = suite_create("gateway/judge_key");
    TCase *tcase = tcase_create("judge_key");

    tcase_add_checked_fixture(tcase, start, stop);
    tcase_add_test(tcase, a_key_is_read_once);
    tcase_add_test(tcase, nobody_has_an_offered_key);
    tcase_add_loop_test(tcase, an_offered_key_is_over_the_limits, 0, 2);
    tcase_add_loop_test(tcase, an_owner_is_over_the_limits, 0, 2);
    tcase_add_loop_test(tcase, an_owner_has_too_much_for_sshd, 0, 5);
    tcase_add_test(tcase, both_owners_have_too_much_for_sshd);
    tcase_add_loop_test(tcase, an_offered_key_has_labels, 0, 2);
    tcase_add_test(tcase, an_offered_key_is_late);
    tcase_add_test(tcase, the_database_is_late_for_an_offered_key);
    tcase_add_test(tcase, many_keys_are_over_the_limits);
    tcase_add_loop_test(tcase, many_keys_are_heavy, 0, 2);
    tcase_add_test(tcase, an_owner_has_much_read);
    tcase_add_test(tcase, an_owner_has_keys_with_little);
    tcase_add_test(tcase, others_share_a_key_with_a_heavy_owner);
    tcase_add_test(tcase, the_owner_of_what_is_read_pays);
    tcase_add_test(tcase, many_owners_have_much_read);
    suite_add_tcase(suite, tcase);
    return suite;
}
