/* SPDX-License-Identifier: MIT */
/* Tests of the table of accounts whose changes are read. */
#include "gateway/follow.h"

#include <check.h>
#include <stdio.h>
#include <string.h>

#include "suites.h"

#define N_ACCOUNTS 20

static struct ssh_session all[N_ACCOUNTS];
static struct ssh_session *items[N_ACCOUNTS];
static struct ssh_sessions sessions;
static struct follows follows;

static const char *name(int i)
{
    static char text[IDENT_SIZE];

    snprintf(text, sizeof text, "ac_%027d", i);
    return text;
}

static void start(void)
{
    sessions = (struct ssh_sessions){.items = items};
}

static void stop(void)
{
    follows_free(&follows);
}

static void add_session(int account)
{
    struct ssh_session *session = &all[sessions.n];

    *session = (struct ssh_session){.pid = (int)sessions.n};
    snprintf(session->account_id, sizeof session->account_id, "%s", name(account));
    sessions.items[sessions.n++] = session;
}

static void end_session(int account)
{
    for (size_t i = 0; i < sessions.n; i++) {
        struct ssh_session *session = sessions.items[i];

        session->is_ending = session->is_ending || strcmp(session->account_id, name(account)) == 0;
    }
}

static void renew(const char *account_id)
{
    ck_assert(follows_renew(&follows, &sessions, account_id));
}

static void is_next(int account)
{
    ck_assert_str_eq(follows.items[follows.at].account_id, name(account));
}

START_TEST(each_is_found)
{
    for (int i = 0; i < N_ACCOUNTS; i++) {
        add_session(i * 7 % N_ACCOUNTS);
        renew("");
        ck_assert_int_eq((int)follows.n, i + 1);
        for (int found = 0; found <= i; found++) {
            const char *account_id = name(found * 7 % N_ACCOUNTS);
            const struct follow *follow = follows_find(&follows, account_id);

            ck_assert_ptr_nonnull(follow);
            ck_assert_str_eq(follow->account_id, account_id);
        }
        ck_assert_ptr_null(follows_find(&follows, name((i + 1) * 7 % N_ACCOUNTS + N_ACCOUNTS)));
    }
    for (int i = 0; i < N_ACCOUNTS; i++) {
        end_session(i);
        renew("");
        ck_assert_int_eq((int)follows.n, N_ACCOUNTS - 1 - i);
        ck_assert_ptr_null(follows_find(&follows, name(i)));
    }
}
END_TEST

START_TEST(marks_move_with_their_accounts)
{
    add_session(3);
    add_session(5);
    renew("");
    follow_note_answer(follows_find(&follows, name(3)), text_of("three"));
    follow_note_answer(follows_find(&follows, name(5)), text_of("five"));
    add_session(4);
    renew(name(1));
    end_session(3);
    renew(name(1));
    ck_assert_uint_eq(follows.n, 3);
    ck_assert(text_eq(buf_text(&follows_find(&follows, name(5))->mark), text_of("five")));
    ck_assert_uint_eq(follows_find(&follows, name(1))->mark.len, 0);
    ck_assert_uint_eq(follows_find(&follows, name(4))->mark.len, 0);
}
END_TEST

/* Otherwise accounts that come and go would keep others from their turn. */
START_TEST(the_next_one_stays)
{
    add_session(2);
    add_session(4);
    add_session(6);
    add_session(8);
    renew("");
    follows.at = 2;
    is_next(6);
    add_session(1);
    add_session(5);
    add_session(7);
    renew("");
    is_next(6);
    end_session(1);
    end_session(4);
    renew("");
    is_next(6);
    end_session(6);
    renew("");
    is_next(7);
    end_session(7);
    end_session(8);
    renew("");
    is_next(2);
    end_session(2);
    end_session(5);
    renew("");
    ck_assert_uint_eq(follows.n, 0);
    ck_assert_uint_eq(follows.at, 0);
}
END_TEST

Suite *gateway_follow_suite(void)
{
    Suite *suite = suite_create("gateway/follow");
    TCase *tcase = tcase_create("follow");

    tcase_add_checked_fixture(tcase, start, stop);
    tcase_add_test(tcase, each_is_found);
    tcase_add_test(tcase, marks_move_with_their_accounts);
    tcase_add_test(tcase, the_next_one_stays);
    suite_add_tcase(suite, tcase);
    return suite;
}
