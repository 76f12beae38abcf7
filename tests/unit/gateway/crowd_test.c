/* SPDX-License-Identifier: MIT */
/* Tests of how many sessions there may be, and how much they may take. */
#include "gateway/crowd.h"

#include <check.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

#include "suites.h"

#define A "ac_000000000000000000000000001"
#define B "ac_000000000000000000000000002"

static struct ssh_sessions sessions;
static struct conf_gateway conf;
static struct arena arena;

static void start(void)
{
    sessions = (struct ssh_sessions){0};
    conf = (struct conf_gateway){.sessions_of_key = 0};
}

static void stop(void)
{
    ssh_sessions_free(&sessions);
    arena_free(&arena);
}

static struct ssh_session *add(const char *account_id, const char *fingerprint, size_t bytes)
{
    struct ssh_session *session = ssh_sessions_add(&sessions, 1, 1, -1);

    ck_assert_ptr_nonnull(session);
    snprintf(session->account_id, sizeof session->account_id, "%s", account_id);
    snprintf(session->fingerprint, sizeof session->fingerprint, "%s", fingerprint);
    session->list_bytes = bytes;
    return session;
}

/* Asks for a session of a key, whose owners have names of one letter.  Returns whether it is
 * admitted, and for whom: ' ': for nobody. */
static char admit(const char *account_id, const char *fingerprint, const char *owners, size_t bytes)
{
    struct text owner_ids[8];
    struct text_list owner_list = {owner_ids, strlen(owners), true};
    struct ssh_session *session = add(account_id, fingerprint, 0);

    for (size_t i = 0; owners[i]; i++)
        owner_ids[i] = (struct text){owners + i, 1};
    if (crowd_admit(&conf, &sessions, session, owner_list, bytes, &arena)) {
        ssh_sessions_remove(&sessions, session);
        return ' ';
    }
    session->list_bytes = bytes;
    return session->owner_id[0];
}

START_TEST(sessions_are_counted)
{
    struct ssh_session *asking = add(A, "1", 100), *ending = add(A, "1", 100);
    struct text owners[] = {text_of("usr_2"), text_of(""), text_of("usr_1"), text_of("")};
    const struct crowd_part *own;
    struct crowd crowd;

    add(A, "1", 10);
    snprintf(add(A, "2", 20)->owner_id, IDENT_SIZE, "usr_1");
    add(B, "1", 40);
    ending->is_ending = true;
    ck_assert(crowd_count(&sessions, asking, (struct text_list){owners, 4, true}, &arena, &crowd));
    ck_assert_uint_eq(crowd.of_key.n, 1);
    ck_assert_uint_eq(crowd.n_owners, 3);
    own = &crowd.owners[0].part;
    ck_assert_uint_eq(own->n, 1);
    ck_assert_uint_eq(crowd.owners[1].part.n, 1);
    ck_assert_uint_eq(crowd.owners[1].part.bytes, own->bytes + 10);
    ck_assert_uint_eq(crowd.owners[2].part.n, 0);
    ck_assert_uint_eq(crowd.of_account.n, 2);
    ck_assert_uint_eq(crowd.all.n, 3);
    ck_assert_uint_eq(crowd.of_account.bytes, 2 * (own->bytes - 10) + 30);
    ck_assert_uint_eq(crowd.all.bytes, 3 * (own->bytes - 10) + 70);
}
END_TEST

START_TEST(a_key_has_as_many_as_it_may)
{
    conf.sessions_of_key = 2;
    ck_assert_int_eq(admit(A, "1", "a", 1), 'a');
    ck_assert_int_eq(admit(A, "1", "a", 1), 'a');
    ck_assert_int_eq(admit(A, "1", "ab", 1), ' ');
    ck_assert_int_eq(admit(A, "2", "a", 1), 'a');
    ck_assert_int_eq(admit(B, "1", "c", 1), 'c');
}
END_TEST

/* Whoever has only a public key takes no room. */
START_TEST(logins_do_not_count)
{
    conf.sessions_of_key = 2;
    conf.sessions_of_account = 4;
    conf.sessions = 8;
    for (int i = 0; i < 100; i++) {
        ck_assert_int_eq(admit(A, "1", "a", CROWD_BYTES_MAX / 16), 'a');
        sessions.items[i]->login_pid = 1;
    }
    sessions.items[50]->login_pid = 0;
    ck_assert_int_eq(admit(A, "1", "a", 1), 'a');
    ck_assert_int_eq(admit(A, "1", "a", 1), ' ');
}
END_TEST

/* Of those that take most, the oldest gives way, and never the one that has just come. */
START_TEST(logins_give_way)
{
    const size_t part = CROWD_LOGINS_BYTES_MAX / 8;
    struct ssh_session *small = add(A, "1", 0), *newest = NULL;

    small->login_pid = 1;
    small->started = 0;
    for (uint64_t i = 1; i <= 8; i++) {
        ck_assert_ptr_null(crowd_surplus(&sessions, newest));
        newest = add(A, "2", part);
        newest->login_pid = 1;
        newest->started = 10 - i;
    }
    ck_assert_ptr_eq(crowd_surplus(&sessions, newest), sessions.items[7]);
    ck_assert_ptr_eq(crowd_surplus(&sessions, small), newest);
    sessions.items[3]->login_pid = 0;
    ck_assert_ptr_null(crowd_surplus(&sessions, newest));
}
END_TEST

/* Sets how many sessions there are descriptors for, and returns the limit before. */
static struct rlimit limit_descriptors(size_t n)
{
    struct rlimit before, low;

    ck_assert_int_eq(getrlimit(RLIMIT_NOFILE, &before), 0);
    low = before;
    low.rlim_cur = CROWD_OTHER_DESCRIPTORS + 2 * n;
    ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &low), 0);
    return before;
}

/* Strangers can hold many connections that take few bytes. */
START_TEST(logins_leave_descriptors_to_sessions)
{
    const struct rlimit before = limit_descriptors(16);
    struct ssh_session *large = add(A, "1", 100), *oldest = NULL, *newest = large;

    large->login_pid = 1;
    large->started = 10;
    for (uint64_t i = 1; i <= 4; i++) {
        ck_assert_ptr_null(crowd_surplus(&sessions, newest));
        oldest = newest = add(A, "2", 0);
        newest->login_pid = 1;
        newest->started = 10 - i;
    }
    ck_assert_ptr_eq(crowd_surplus(&sessions, large), oldest);
    ck_assert_ptr_eq(crowd_surplus(&sessions, newest), sessions.items[3]);
    sessions.items[3]->login_pid = 0;
    ck_assert_ptr_null(crowd_surplus(&sessions, newest));
    ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &before), 0);
}
END_TEST

/* However many keys an owner has, half of what the others leave is all. */
START_TEST(an_owner_leaves_half_of_the_account)
{
    const char *const fingerprints[] = {"1", "2", "3", "4", "5"};

    conf.sessions_of_account = 8;
    for (size_t i = 0; i < 5; i++)
        ck_assert_int_eq(admit(A, fingerprints[i], "a", 1), i < 4 ? 'a' : ' ');
    for (size_t i = 0; i < 3; i++)
        ck_assert_int_eq(admit(A, "6", "b", 1), i < 2 ? 'b' : ' ');
    ck_assert_int_eq(admit(A, "7", "c", 1), 'c');
    ck_assert_int_eq(admit(A, "7", "c", 1), ' ');
    ck_assert_int_eq(admit(B, "1", "d", 1), 'd');
    sessions.items[4]->is_ending = true;
    ck_assert_int_eq(admit(A, "6", "b", 1), 'b');
    ck_assert_int_eq(admit(A, "1", "a", 1), ' ');
}
END_TEST

/* Whoever stores somebody else's key takes no room from its owner by that. */
START_TEST(a_session_counts_for_an_owner_who_has_room)
{
    conf.sessions_of_account = 8;
    for (size_t i = 0; i < 3; i++)
        ck_assert_int_eq(admit(A, "1", "a", 1), 'a');
    ck_assert_int_eq(admit(A, "2", "ab", 1), 'a');
    ck_assert_int_eq(admit(A, "2", "ab", 1), 'b');
    ck_assert_int_eq(admit(A, "2", "ba", 1), 'b');
    ck_assert_int_eq(admit(A, "2", "ab", 1), ' ');
    ck_assert_int_eq(admit(A, "2", "bca", 1), 'c');
}
END_TEST

/* Refusing costs about the same however many owners a key has: the loop does nothing else then.
 * Counting all sessions for each owner would take this test minutes. */
START_TEST(a_key_has_many_owners)
{
    enum { N_OWNERS = 1000, N_EACH = 20 };
    static char names[N_OWNERS][IDENT_SIZE];
    struct text owner_ids[N_OWNERS];
    struct text_list owner_list = {owner_ids, N_OWNERS, true};
    struct ssh_session *asking;

    conf.sessions_of_account = N_OWNERS * N_EACH + 10;
    for (size_t i = 0; i < N_OWNERS; i++) {
        snprintf(names[i], sizeof names[i], "usr_%zu", N_OWNERS - i);
        owner_ids[i] = text_of(names[i]);
        for (size_t j = 0; j < N_EACH; j++)
            snprintf(add(A, "1", 0)->owner_id, IDENT_SIZE, "%s", names[i]);
    }
    asking = add(A, "2", 0);
    for (int i = 0; i < 200; i++) {
        const char *fault = crowd_admit(&conf, &sessions, asking, owner_list, 0, &arena);

        ck_assert_ptr_nonnull(fault);
        ck_assert_ptr_nonnull(strstr(fault, "sessions_of_account"));
        arena_reset(&arena);
    }
}
END_TEST

START_TEST(rules_of_an_account_are_long)
{
    const size_t part = CROWD_ACCOUNT_BYTES_MAX / 5;

    for (size_t i = 0; i < 3; i++)
        ck_assert_int_eq(admit(A, "1", "a", part), i < 2 ? 'a' : ' ');
    ck_assert_int_eq(admit(A, "2", "b", part), 'b');
    ck_assert_int_eq(admit(A, "2", "b", part), ' ');
    ck_assert_int_eq(admit(A, "1", "a", 1), ' ');
    ck_assert_int_eq(admit(B, "1", "c", part), 'c');
}
END_TEST

/* Takes all that there is, so that other accounts have little. */
static void crowd_all(size_t bytes)
{
    char account_id[IDENT_SIZE];

    for (int i = 0; i < 4; i++) {
        snprintf(account_id, sizeof account_id, "ac_%d", i);
        for (char owner[] = "c"; owner[0] <= 'h'; owner[0]++) {
            while (admit(account_id, "9", owner, bytes) == owner[0])
                continue;
        }
    }
}

/* While other accounts take much, one owner takes not all that is left to the account. */
START_TEST(owners_share_what_other_accounts_leave)
{
    const size_t part = CROWD_BYTES_MAX / 160;

    crowd_all(part);
    while (admit(A, "1", "a", part / 16) == 'a')
        continue;
    ck_assert_int_eq(admit(A, "2", "b", part / 16), 'b');
    stop();
    start();
    conf.sessions = 200;
    crowd_all(1);
    while (admit(A, "1", "a", 1) == 'a')
        continue;
    ck_assert_int_eq(admit(A, "2", "b", 1), 'b');
}
END_TEST

/* No account keeps the others out, and together they have a bound. */
START_TEST(rules_of_all_accounts_are_long)
{
    const size_t part = CROWD_BYTES_MAX / 20;
    size_t n = 0;

    for (int i = 0; i < 20; i++) {
        char account_id[IDENT_SIZE];

        snprintf(account_id, sizeof account_id, "ac_%d", i);
        for (const char *owners = "abcdefgh"; *owners; owners++) {
            const char owner[] = {*owners, '\0'};

            while (n < 100 && admit(account_id, owner, owner, part) != ' ')
                n++;
        }
    }
    ck_assert_uint_ge(n, 10);
    ck_assert_uint_lt(n, 20);
    ck_assert_int_eq(admit("ac_20", "1", "a", part / 2), 'a');
}
END_TEST

/* Asks until there are the 8 sessions that are permitted, or more. */
static void share_8(void)
{
    for (size_t i = 0; i < 3; i++)
        ck_assert_int_eq(admit(A, "1", "a", 1), i < 2 ? 'a' : ' ');
    ck_assert_int_eq(admit(A, "2", "b", 1), 'b');
    ck_assert_int_eq(admit(A, "2", "bc", 1), 'c');
    ck_assert_int_eq(admit(A, "3", "d", 1), ' ');
    for (size_t i = 0; i < 3; i++)
        ck_assert_int_eq(admit(B, "4", i < 1 ? "e" : "f", 1), i < 1 ? 'e' : i < 2 ? 'f' : ' ');
    ck_assert_int_eq(admit("ac_3", "5", "g", 1), 'g');
}

/* Neither an owner nor an account takes all that the machine bears. */
START_TEST(sessions_of_the_machine_are_shared)
{
    conf.sessions = 8;
    share_8();
}
END_TEST

/* Half of an odd number is rounded up, and nobody passes beyond the last place. */
START_TEST(the_last_place_is_taken)
{
    for (conf.sessions = 1; conf.sessions <= 9; conf.sessions++) {
        static const char accounts[] = "abcdefghi";
        int n = 0;

        for (const char *at = accounts; *at; at++) {
            const char account_id[] = {*at, '\0'};

            while (admit(account_id, "1", account_id, 1) != ' ')
                n++;
        }
        ck_assert_int_eq(n, conf.sessions);
        ssh_sessions_free(&sessions);
    }
}
END_TEST

/* Neither takes all descriptors.  Of those for 10 sessions, 2 are left to logins. */
START_TEST(descriptors_are_shared)
{
    const struct rlimit before = limit_descriptors(10);
    struct rlimit low = before;

    share_8();
    low.rlim_cur = CROWD_OTHER_DESCRIPTORS - 1;
    ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &low), 0);
    ck_assert_int_eq(admit("ac_4", "6", "h", 1), ' ');
    ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &before), 0);
    ck_assert_int_eq(admit("ac_4", "6", "h", 1), 'h');
}
END_TEST

START_TEST(no_descriptors_for_a_session)
{
    const struct rlimit before = limit_descriptors(0);
    struct rlimit low = before;

    ck_assert_int_eq(admit(A, "1", "a", 1), ' ');
    low.rlim_cur = CROWD_OTHER_DESCRIPTORS - 1;
    ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &low), 0);
    ck_assert_int_eq(admit(A, "1", "a", 1), ' ');
    ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &before), 0);
    ck_assert_int_eq(admit(A, "1", "a", 1), 'a');
}
END_TEST

START_TEST(lists_grow)
{
    struct ssh_session *first = add(A, "1", 0), *second = add(A, "1", 0);
    struct text owners[] = {text_of("usr_1"), text_of("usr_2")};
    const size_t half = CROWD_ACCOUNT_BYTES_MAX / 2;
    struct crowd crowd;

    snprintf(first->owner_id, IDENT_SIZE, "usr_1");
    snprintf(second->owner_id, IDENT_SIZE, "usr_2");
    second->is_ending = true;
    ck_assert(crowd_count(&sessions, first, (struct text_list){owners, 2, true}, &arena, &crowd));
    ck_assert(crowd_has_bytes(&crowd, first, half));
    crowd_grow(&crowd, first, half);
    ck_assert(!crowd_has_bytes(&crowd, first, 1));
    ck_assert(crowd_has_bytes(&crowd, second, half));
}
END_TEST

/* Whoever has only a public key takes no room by that, nor is there a bound of the owner's. */
START_TEST(lists_of_logins_grow)
{
    struct ssh_session *session = add(A, "1", 0), *login = add(A, "1", CROWD_LOGINS_BYTES_MAX / 2);
    struct text owner = text_of("");
    struct crowd crowd;
    size_t all_bytes;

    login->login_pid = 1;
    ck_assert(crowd_count(&sessions, login, (struct text_list){&owner, 1, true}, &arena, &crowd));
    crowd_grow(&crowd, session, CROWD_ACCOUNT_BYTES_MAX);
    all_bytes = crowd.all.bytes;
    ck_assert(!crowd_has_bytes(&crowd, session, 1));
    ck_assert(!crowd_has_bytes(&crowd, login, CROWD_LOGINS_BYTES_MAX / 2));
    ck_assert(crowd_has_bytes(&crowd, login, CROWD_LOGINS_BYTES_MAX / 4));
    crowd_grow(&crowd, login, CROWD_LOGINS_BYTES_MAX / 4);
    ck_assert(!crowd_has_bytes(&crowd, login, CROWD_LOGINS_BYTES_MAX / 4));
    ck_assert_uint_eq(crowd.all.bytes, all_bytes);
}
END_TEST

Suite *gateway_crowd_suite(void)
{
    Suite *suite = suite_create("gateway/crowd");
    TCase *tests = tcase_create("crowd");

    tcase_set_timeout(tests, 60);
    tcase_add_checked_fixture(tests, start, stop);
    tcase_add_test(tests, sessions_are_counted);
    tcase_add_test(tests, a_key_has_as_many_as_it_may);
    tcase_add_test(tests, logins_do_not_count);
    tcase_add_test(tests, logins_give_way);
    tcase_add_test(tests, logins_leave_descriptors_to_sessions);
    tcase_add_test(tests, an_owner_leaves_half_of_the_account);
    tcase_add_test(tests, a_session_counts_for_an_owner_who_has_room);
    tcase_add_test(tests, a_key_has_many_owners);
    tcase_add_test(tests, rules_of_an_account_are_long);
    tcase_add_test(tests, owners_share_what_other_accounts_leave);
    tcase_add_test(tests, rules_of_all_accounts_are_long);
    tcase_add_test(tests, sessions_of_the_machine_are_shared);
    tcase_add_test(tests, the_last_place_is_taken);
    tcase_add_test(tests, descriptors_are_shared);
    tcase_add_test(tests, no_descriptors_for_a_session);
    tcase_add_test(tests, lists_grow);
    tcase_add_test(tests, lists_of_logins_grow);
    suite_add_tcase(suite, tests);
    return suite;
}
