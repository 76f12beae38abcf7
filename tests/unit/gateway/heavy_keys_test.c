/* SPDX-License-Identifier: MIT */
/* Tests of the table of keys. */
#include "gateway/heavy_keys.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "suites.h"

/* A rule: those of 64 keys fill the table. */
#define LARGE (HEAVY_KEYS_BYTES_MAX / 64)

static struct heavy_keys keys;
static char *large;

static void start(void)
{
    large = malloc(LARGE + 1);
    ck_assert_ptr_nonnull(large);
    memset(large, 'x', LARGE);
    large[LARGE] = '\0';
}

static void stop(void)
{
    free(large);
    heavy_keys_free(&keys);
    ck_assert_uint_eq(keys.bytes, 0);
    keys = (struct heavy_keys){.n_used = 0};
}

static struct gateway_key key_named(char fingerprint[32], const char *owner_id, int i)
{
    snprintf(fingerprint, 32, "%s %d", owner_id, i);
    return (struct gateway_key){.account_id = text_of("ac_1"), .fingerprint = text_of(fingerprint)};
}

static bool is_known(const char *owner_id, int i)
{
    char fingerprint[32];
    const struct gateway_key key = key_named(fingerprint, owner_id, i);

    return heavy_keys_find(&keys, &key) != NULL;
}

static struct heavy_key *note(const char *owner_id, int i)
{
    char fingerprint[32];
    const struct gateway_key key = key_named(fingerprint, owner_id, i);
    struct heavy_key *known = heavy_keys_renew(&keys, &key, text_of("digest"));

    snprintf(known->payer_id, sizeof known->payer_id, "%s", owner_id);
    return known;
}

/* With a rule of its own, named after the key, or without, and one that others may have, too. */
static void grant(const char *owner_id, int i, bool is_own, const char *rule)
{
    struct heavy_key *known = note(owner_id, i);
    char id[32];
    struct text ids[] = {{id, (size_t)snprintf(id, sizeof id, "id %d", i)}};
    struct text rules[] = {is_own ? ids[0] : text_of("bind:a:1"), text_of(rule)};
    const struct judge_grant granted = {.account_id = text_of("ac_1"),
                                        .credential_ids = {ids, 1, true},
                                        .owner_ids = {.given = true},
                                        .digest = text_of("digest"),
                                        .granted = {rules, 2, true},
                                        .options = text_of("restrict")};
    struct judge_grant kept;

    ck_assert(heavy_key_grant(&keys, known, &granted));
    kept = heavy_key_granted(known);
    ck_assert(text_eq(kept.account_id, granted.account_id));
    ck_assert(text_eq(kept.digest, granted.digest));
    ck_assert(text_eq(kept.options, granted.options));
    ck_assert(text_lists_equal(kept.credential_ids, granted.credential_ids));
    ck_assert(text_lists_equal(kept.granted, granted.granted));
    ck_assert_uint_eq(kept.owner_ids.n, 0);
}

/* A fleet is remembered, however large the one list of rules is that its keys have. */
START_TEST(keys_have_equal_rules)
{
    const char *rule = large + LARGE - LARGE / 32; /* for each, they would be twice the most */

    for (int i = 0; i < HEAVY_KEYS_MAX; i++)
        grant("usr_fleet", i, false, rule);
    ck_assert_uint_lt(keys.bytes, LARGE + (size_t)HEAVY_KEYS_MAX * 1024);
    for (int i = 0; i < HEAVY_KEYS_MAX; i++)
        ck_assert(is_known("usr_fleet", i));
    grant("usr_fleet", HEAVY_KEYS_MAX, false, rule);
    ck_assert(!is_known("usr_fleet", 0));
    ck_assert(is_known("usr_fleet", 1));
}
END_TEST

/* Those stay that were used last. */
START_TEST(keys_have_rules_of_their_own)
{
    for (int i = 0; i < 100; i++) {
        grant("usr_fleet", i, true, large);
        ck_assert_uint_le(keys.bytes, HEAVY_KEYS_BYTES_MAX);
        ck_assert(is_known("usr_fleet", 0));
    }
    ck_assert(!is_known("usr_fleet", 1));
    for (int i = 60; i < 100; i++)
        ck_assert(is_known("usr_fleet", i));
}
END_TEST

/* By bytes, or by keys that are refused: they push out their own. */
START_TEST(an_owner_has_many_keys)
{
    for (int i = 0; i < 20; i++)
        grant("usr_few", i, true, large);
    for (int i = 0; _i == 0 && i < 200; i++)
        grant("usr_many", i, true, large);
    for (int i = 0; _i == 1 && i < 2 * HEAVY_KEYS_MAX; i++)
        note("usr_many", i)->why = "too much";
    for (int i = 0; i < 20; i++)
        ck_assert(is_known("usr_few", i));
    ck_assert(!is_known("usr_many", 0));
    ck_assert(is_known("usr_many", _i == 0 ? 199 : 2 * HEAVY_KEYS_MAX - 1));
}
END_TEST

/* What a key has is kept while somebody else has it. */
START_TEST(one_of_two_is_forgotten)
{
    size_t bytes;

    grant("usr_a", 1, false, "bind:b:1");
    bytes = keys.bytes;
    grant("usr_b", 1, false, "bind:b:1");
    note("usr_a", 1);
    ck_assert_uint_eq(keys.bytes, bytes);
    grant("usr_a", 1, true, "bind:b:1");
    ck_assert_uint_gt(keys.bytes, bytes);
}
END_TEST

Suite *gateway_heavy_keys_suite(void)
{
    Suite *suite = suite_create("gateway/heavy_keys");
    TCase *tcase = tcase_create("heavy_keys");

    tcase_add_checked_fixture(tcase, start, stop);
    tcase_add_test(tcase, keys_have_equal_rules);
    tcase_add_test(tcase, keys_have_rules_of_their_own);
    tcase_add_loop_test(tcase, an_owner_has_many_keys, 0, 2);
    tcase_add_test(tcase, one_of_two_is_forgotten);
    suite_add_tcase(suite, tcase);
    return suite;
}
