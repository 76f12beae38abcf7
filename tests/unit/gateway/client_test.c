/* SPDX-License-Identifier: MIT */
/* Tests of questions that come at once. */
#include "gateway/client.h"

#include <check.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "crypt/crypt.h"
#include "crypt/key.h"
#include "gateway/fake_keys.h"
#include "gateway/judge.h"
#include "gateway/monitor.h"
#include "suites.h"

#define N_QUESTIONS 20

static struct gateway gateway;
static struct clients clients;
static struct monitor monitor;
static int ends[N_QUESTIONS]; /* of those who ask */
static char keys[N_QUESTIONS][CRYPT_KEY_ENCODED_SIZE(12)];

/* Nobody has the keys. */
static void start(void)
{
    fake_keys_start(&gateway);
    gateway.hasher = crypt_start() ? crypt_hasher_new() : NULL;
    gateway.epoll = epoll_create1(EPOLL_CLOEXEC);
    ck_assert_ptr_nonnull(gateway.hasher);
    monitor_start(&monitor, "sshd", false);
    clients = (struct clients){.n = 0};
    for (size_t i = 0; i < N_QUESTIONS; i++) {
        unsigned char wire[12], digest[CRYPT_SHA256_LEN];
        char text[CRYPT_KEY_ENCODED_SIZE(CRYPT_SHA256_LEN)];

        memset(wire, (int)i, sizeof wire);
        crypt_key_base64_encode(wire, sizeof wire, keys[i]);
        ck_assert(crypt_hasher_sha256(gateway.hasher, wire, sizeof wire, digest));
        crypt_key_base64_encode(digest, sizeof digest, text);
        snprintf(fake_keys[i].fingerprint, sizeof fake_keys[i].fingerprint, "SHA256:%.43s", text);
        snprintf(fake_keys[i].account_id, sizeof fake_keys[i].account_id, A);
        fake_keys[i].n = 0;
    }
}

static void stop(void)
{
    clients_close(&clients);
    monitor_stop(&monitor);
    crypt_hasher_free(gateway.hasher);
    close(gateway.epoll);
    arena_free(&gateway.glanced.arena);
    fake_keys_stop(&gateway);
}

static void ask(size_t i, size_t key)
{
    char question[256];
    int pair[2];
    int len = snprintf(question, sizeof question, "keys\n" A "\ntunnel\n%s\nssh-ed25519\n%s\n",
                       fake_keys[key].fingerprint, keys[key]);

    ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, pair), 0);
    ck_assert_int_eq(write(pair[1], question, (size_t)len), len);
    shutdown(pair[1], SHUT_WR);
    ends[i] = pair[1];
    clients.items[clients.n++] =
        (struct client){.fd = pair[0], .asker = {.pid = monitor.child}, .deadline_ms = INT64_MAX};
    clients_go_on(&clients, &gateway, pair[0]);
}

static void answer_all(void)
{
    clients_glance(&clients, &gateway);
    while (clients_answer(&clients, &gateway)) {
    }
    glanced_forget(&gateway);
    ck_assert_uint_eq(clients.n, 0);
}

static void is_answered(size_t i, const char *word)
{
    char answer[256];
    ssize_t n = read(ends[i], answer, sizeof answer);

    ck_assert_int_gt(n, (ssize_t)strlen(word));
    ck_assert_msg(strncmp(answer, word, strlen(word)) == 0, "%.*s", (int)n, answer);
    close(ends[i]);
}

/* However many keys strangers offer at once, all wait for one statement. */
START_TEST(many_ask_about_keys_that_nobody_has)
{
    const bool is_one_key = _i == 1;

    for (size_t i = 0; i < N_QUESTIONS; i++)
        ask(i, is_one_key ? 0 : i);
    answer_all();
    for (size_t i = 0; i < N_QUESTIONS; i++)
        is_answered(i, "none\n");
    ck_assert_int_eq(fake_database.n_glances, 1);
}
END_TEST

/* What is seen counts for the questions that had come by then. */
START_TEST(a_key_comes_between_two_rounds)
{
    struct arena arena = {0};
    struct judge_grant grant;
    const char *why;

    ask(0, 0);
    ask(1, 1);
    answer_all();
    fake_keys[0].n = 1;
    ck_assert_int_eq(
        judge_key(&gateway, &arena, text_of(A), text_of(fake_keys[0].fingerprint), &grant, &why),
        JUDGE_PERMITTED);
    is_answered(0, "none\n");
    is_answered(1, "none\n");
    arena_free(&arena);
}
END_TEST

/* A poll may read a change that was not seen: nothing else would tell of it. */
START_TEST(a_poll_comes_before_the_answer)
{
    const struct gateway_key theirs = judge_key_named(&gateway, text_of(A),
                                                      text_of(fake_keys[0].fingerprint)),
                             nobodys = judge_key_named(&gateway, text_of(A),
                                                       text_of(fake_keys[1].fingerprint));

    fake_keys[0].n = 1;
    glanced_add(&gateway, &theirs);
    glanced_add(&gateway, &nobodys);
    glanced_read(&gateway);
    ck_assert_uint_eq(glanced_find(&gateway, &theirs)->n, 1);
    (void)judge_changes(&gateway);
    ck_assert_ptr_null(glanced_find(&gateway, &theirs));
    ck_assert_uint_eq(glanced_find(&gateway, &nobodys)->n, 0);
}
END_TEST

/* Whoever waits yet waits for one statement more. */
START_TEST(a_poll_comes_between_two_answers)
{
    for (size_t i = 0; i < N_QUESTIONS; i++)
        ask(i, i);
    clients_glance(&clients, &gateway);
    ck_assert(clients_answer(&clients, &gateway));
    (void)judge_changes(&gateway);
    fake_database.n_glances = 0;
    while (clients_answer(&clients, &gateway)) {
    }
    ck_assert_int_eq(fake_database.n_glances, 1);
    for (size_t i = 0; i < N_QUESTIONS; i++)
        is_answered(i, "none\n");
}
END_TEST

/* One that is late is asked for alone from then on, and until it was read. */
START_TEST(one_of_many_keys_is_late)
{
    fake_keys[0].is_late = true;
    for (size_t i = 0; i < N_QUESTIONS; i++)
        ask(i, i);
    answer_all();
    is_answered(0, "away\n");
    for (size_t i = 1; i < N_QUESTIONS; i++)
        is_answered(i, "none\n");
    ck_assert(!gateway.is_away);
    fake_database.n_glances = 0;
    for (size_t i = 0; i < N_QUESTIONS; i++)
        ask(i, i);
    answer_all();
    is_answered(0, "away\n");
    for (size_t i = 1; i < N_QUESTIONS; i++)
        is_answered(i, "none\n");
    ck_assert_int_eq(fake_database.n_glances, 1);
}
END_TEST

/* After one that was late, judging goes on with fewer keys at once, whoever logs in meanwhile. */
START_TEST(logins_change_no_number_of_judging)
{
    gateway.glance_max = 1;
    for (size_t i = 0; i < N_QUESTIONS; i++)
        ask(i, i);
    answer_all();
    ask(0, 0);
    answer_all();
    ck_assert_uint_eq(gateway.glance_max, 1);
    fake_keys[0].is_late = true;
    gateway.glance_max = GLANCED_MAX;
    for (size_t i = 0; i < N_QUESTIONS; i++)
        ask(i, i);
    answer_all();
    ck_assert_uint_eq(gateway.glance_max, GLANCED_MAX);
}
END_TEST

Suite *gateway_client_suite(void)
{
    Suite *suite = suite_create("gateway/client");
    TCase *tcase = tcase_create("client");

    tcase_add_checked_fixture(tcase, start, stop);
    tcase_add_loop_test(tcase, many_ask_about_keys_that_nobody_has, 0, 2);
    tcase_add_test(tcase, a_key_comes_between_two_rounds);
    tcase_add_test(tcase, a_poll_comes_before_the_answer);
    tcase_add_test(tcase, a_poll_comes_between_two_answers);
    tcase_add_test(tcase, one_of_many_keys_is_late);
    tcase_add_test(tcase, logins_change_no_number_of_judging);
    suite_add_tcase(suite, tcase);
    return suite;
}
