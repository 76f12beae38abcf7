/* SPDX-License-Identifier: MIT */
/* Tests of the line: which request gets a lane, and which gives way. */
#include <check.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "serve/worker.h"
#include "suites.h"

/* Long requests leave one lane free, and short ones leave none. */
START_TEST(lanes_go_by_the_work)
{
    struct worker worker;

    worker_open(&worker, 100);
    worker.serve->handover[0] = -1; /* however long this takes, none is handed over */
    client_ask(0, "/stuck");
    client_ask(1, "/stuck");
    client_ask(2, "/long");
    client_ask(3, "/short/1");
    worker_accept(&worker, 4);
    serve_lanes_start(worker.serve);
    client_expect(3, "/short/1");
    ck_assert(!client_is_answered(2));
    ck_assert_uint_eq(worker.serve->n_line, 1);
    client_ask(4, "/short/stuck");
    client_ask(5, "/short/2");
    client_ask(6, "/instant");
    worker_accept(&worker, 3);
    serve_lanes_start(worker.serve);
    client_expect(6, "Status: 200");
    ck_assert_int_eq(worker.n_at_once, 1);
    ck_assert(!client_is_answered(5));
    ck_assert_uint_eq(worker.serve->n_line, 2);
    ck_assert_uint_eq(worker.serve->n_free, 0);
    worker_close(&worker);
}
END_TEST

/* Short requests take each lane that becomes free, but long ones come through: at most two. */
START_TEST(short_work_does_not_keep_long_waiting)
{
    struct worker worker;

    worker_open(&worker, 100);
    worker.serve->handover[0] = -1; /* however long this takes, none is handed over */
    client_ask(0, "/short/stuck");
    client_ask(1, "/short/stuck");
    worker_accept(&worker, 2);
    serve_lanes_start(worker.serve);
    ck_assert_uint_eq(worker.serve->n_free, 1);
    client_ask(2, "/long");
    client_ask(3, "/short");
    client_ask(4, "/instant");
    worker_accept(&worker, 3);
    serve_lanes_start(worker.serve);
    client_expect(2, "/long");
    client_expect(3, "/short");
    client_expect(4, "Status: 200");
    ck_assert_int_eq(worker.n_at_once, 1);
    worker_close(&worker);
}
END_TEST

/* The paths of the requests that began, by their first letter. */
static char begun[16];

static void note_begin(struct worker_lane *lane, const struct request *request)
{
    if (request->path[1] != 'w')
        strncat(begun, request->path + 1, 1);
    worker_wait(lane, request);
}

/* A probe passes those that wait, but not twice in a row. */
START_TEST(probes_go_first)
{
    static const char *const waiting[] = {"/short", "/short", "/probe", "/probe", "/short"};
    struct worker worker;
    struct serve *serve;

    begun[0] = '\0';
    worker_open(&worker, 100);
    serve = worker.serve;
    serve->handover[0] = -1;
    client_ask(0, "/short/stuck");
    worker_accept(&worker, 1);
    serve_lanes_start(serve);
    worker.task = note_begin;
    worker_deadline_ms = clock_steady_ms() + 3600 * 1000;
    for (int i = 0; i < 2; i++) {
        client_ask(1 + i, "/w");
        worker_accept(&worker, 1);
        serve_lanes_start(serve);
    }
    for (int i = 0; i < 5; i++) {
        client_ask(3 + i, waiting[i]);
        worker_accept(&worker, 1);
    }
    serve_lanes_start(serve);
    ck_assert_uint_eq(serve->n_line, 5);
    ck_assert_str_eq(begun, "");
    serve_lanes_sweep(serve, worker_deadline_ms);
    serve_lanes_start(serve);
    ck_assert_str_eq(begun, "pspss");
    worker_close(&worker);
}
END_TEST

/* While its lanes are busy, a worker accepts a connection for each request on a kept one, or if no
 * lane becomes free. */
START_TEST(busy_workers_accept_less)
{
    struct worker worker;
    struct serve *serve;
    int64_t later_ms = clock_steady_ms() + 3600 * 1000;

    worker_open(&worker, 100);
    serve = worker.serve;
    for (int i = 0; i < 2; i++) {
        client_connect(i);
        client_ask_again(i, "/first");
        worker_accept(&worker, 1);
        serve_lanes_start(serve);
    }
    serve->freed_ms = later_ms;
    for (int i = 0; i < 2; i++) {
        ck_assert(serve_lanes_want_more(serve));
        client_ask_again(i, "/stuck");
        serve_connection_attend(&serve->connections[i]);
        serve_lanes_start(serve);
    }
    for (int i = 2; i < 4; i++) {
        ck_assert(serve_lanes_want_more(serve));
        client_ask(i, "/stuck");
        worker_accept(&worker, 1);
        serve_lanes_start(serve);
    }
    ck_assert_uint_eq(serve->n_line, 2);
    serve->lanes[1].deadline_ms = later_ms;
    serve->lanes[2].deadline_ms = later_ms;
    ck_assert(!serve_lanes_want_more(serve));
    serve->line[0]->since_ms = serve->line[1]->since_ms = later_ms;
    ck_assert_int_eq(serve_lanes_wait_ms(serve, 250), 250);
    serve->freed_ms = 0;
    ck_assert(serve_lanes_want_more(serve));
    worker_close(&worker);
}
END_TEST

/* One scan of an account runs at a time, whatever an earlier request on its connection was. */
START_TEST(each_request_has_its_own_account)
{
    struct worker worker;
    struct serve_connection *kept;

    worker_open(&worker, 100);
    worker.serve->handover[0] = -1; /* however long this takes, none is handed over */
    kept = &worker.serve->connections[0];
    client_scan(0, "/first", "a1");
    worker_accept(&worker, 1);
    serve_lanes_start(worker.serve);
    client_expect(0, "/first");
    client_scan(0, "/stuck", "b1");
    serve_connection_attend(kept);
    serve_lanes_start(worker.serve);
    ck_assert_uint_eq(kept->caller.account, 'b');
    client_scan(1, "/of/b", "b2");
    client_scan(2, "/of/a", "a1");
    worker_accept(&worker, 2);
    serve_lanes_start(worker.serve);
    client_expect(2, "/of/a");
    ck_assert(!client_is_answered(1));
    worker_close(&worker);
}
END_TEST

/* Anybody can make a key that names an account: it takes no place of the account's other keys. */
START_TEST(places_to_wait_are_of_a_key)
{
    struct worker worker;
    struct serve *serve;

    worker_open(&worker, 100);
    serve = worker.serve;
    serve->handover[0] = -1;
    client_scan(0, "/stuck", "v1");
    worker_accept(&worker, 1);
    serve_lanes_start(serve);
    for (int i = 1; i <= 17; i++) {
        client_scan(i, "/forged", "v2");
        worker_accept(&worker, 1);
    }
    client_scan(18, "/waits", "v1");
    worker_accept(&worker, 1);
    serve_lanes_start(serve);
    ck_assert_uint_eq(serve->n_line, 17);
    client_expect(17, "Status: 503");
    ck_assert(!client_is_answered(16) && !client_is_answered(18));
    worker_close(&worker);
}
END_TEST

/* Has client "first" to "last" send a scan each, from address "a".  Each key is another one of an
 * account whose scan does not end. */
static void fill_places(struct worker *worker, int first, int last)
{
    for (int i = first; i <= last; i++) {
        const char key[] = {'v', (char)('0' + i), '\0'};

        worker_know(worker, key);
        client_scan_from(i, "/forged", key, "a");
        worker_accept(worker, 1);
    }
    serve_lanes_start(worker->serve);
}

static void answer_to(struct serve *serve, int status, uint32_t payer)
{
    const struct response response = {.status = status, .payer = payer};

    serve_line_note_answer(&serve->connections[0], &response);
}

/* A key that no answer has shown to be good takes neither turn nor place of the account that it
 * names. */
START_TEST(forged_keys_count_for_their_address)
{
    struct worker worker;
    struct serve *serve;
    struct serve_connection *forged;
    uint64_t account;

    worker_open(&worker, 100);
    serve = worker.serve;
    serve->handover[0] = -1;
    worker_know(&worker, "v1");
    client_scan_from(0, "/stuck", "v2", "a");
    client_scan_from(1, "/waits", "v3", "a");
    client_scan_from(2, "/good", "v1", "a");
    worker_accept(&worker, 3);
    serve_lanes_start(serve);
    client_expect(2, "/good");
    ck_assert(!client_is_answered(1));
    forged = &serve->connections[1];
    ck_assert(serve_line_is_scan(forged, &account) && account > UINT32_MAX);
    client_scan_from(3, "/stuck", "-", "b"); /* without a key */
    worker_accept(&worker, 1);
    serve_lanes_start(serve);
    ck_assert(serve_line_is_scan(&serve->connections[3], &account) && account > UINT32_MAX);
    /* Once its key is refused, it is not good any more. */
    serve->connections[0].caller = (struct request_caller){.account = 'v', .key = 'v' * 256 + '3'};
    answer_to(serve, 404, 0);
    forged->has_caller = false;
    ck_assert(serve_line_is_scan(forged, &account) && account > UINT32_MAX);
    answer_to(serve, 200, 'v');
    answer_to(serve, 404, 0);
    forged->has_caller = false;
    ck_assert(serve_line_is_scan(forged, &account) && account == 'v');
    answer_to(serve, 401, 0);
    forged->has_caller = false;
    ck_assert(serve_line_is_scan(forged, &account) && account > UINT32_MAX);
    worker_close(&worker);
}
END_TEST

/* Anybody can make many keys.  They take no place of another address. */
START_TEST(places_to_wait_are_of_an_address)
{
    struct worker worker;
    struct serve *serve;

    worker_open(&worker, 100);
    serve = worker.serve;
    serve->handover[0] = -1;
    worker_know(&worker, "v1");
    worker_know(&worker, "v2");
    client_scan_from(0, "/stuck", "v1", "b");
    worker_accept(&worker, 1);
    serve_lanes_start(serve);
    fill_places(&worker, 1, 49);
    ck_assert_uint_eq(serve->n_line, 48);
    client_expect(49, "Status: 503");
    client_scan_from(50, "/waits", "v1", "b");
    client_scan_from(51, "/waits", "v2", NULL);
    worker_accept(&worker, 2);
    serve_lanes_start(serve);
    ck_assert_uint_eq(serve->n_line, 48);
    client_expect(48, "Status: 503");
    client_expect(47, "Status: 503");
    ck_assert(!client_is_answered(46) && !client_is_answered(50) && !client_is_answered(51));
    worker_close(&worker);
}
END_TEST

/* Of one address, the key with the most scans gives way. */
START_TEST(places_of_an_address_are_shared_by_its_keys)
{
    struct worker worker;
    struct serve *serve;

    worker_open(&worker, 100);
    serve = worker.serve;
    serve->handover[0] = -1;
    worker_know(&worker, "v1");
    worker_know(&worker, "v!");
    client_scan_from(0, "/stuck", "v1", "a");
    worker_accept(&worker, 1);
    serve_lanes_start(serve);
    for (int i = 1; i <= 2; i++) {
        client_scan_from(i, "/often", "v!", "a");
        worker_accept(&worker, 1);
    }
    fill_places(&worker, 3, 49);
    ck_assert_uint_eq(serve->n_line, 48);
    client_expect(2, "Status: 503");
    ck_assert(!client_is_answered(1) && !client_is_answered(49));
    worker_close(&worker);
}
END_TEST

/* Keys that are not known to be good are one: of an address, they give way first. */
START_TEST(good_keys_keep_their_places)
{
    struct worker worker;
    struct serve *serve;

    worker_open(&worker, 100);
    serve = worker.serve;
    serve->handover[0] = -1;
    worker_know(&worker, "v1");
    client_scan_from(0, "/stuck", "f!", "a");
    client_scan_from(1, "/stuck", "v1", "a");
    worker_accept(&worker, 2);
    serve_lanes_start(serve);
    for (int i = 2; i <= 48; i++) {
        const char key[] = {'f', (char)('0' + i), '\0'};

        client_scan_from(i, "/forged", key, "a");
        worker_accept(&worker, 1);
    }
    client_scan_from(49, "/waits", "v1", "a");
    client_scan_from(50, "/waits", "v1", "a");
    worker_accept(&worker, 2);
    serve_lanes_start(serve);
    ck_assert_uint_eq(serve->n_line, 48);
    client_expect(48, "Status: 503");
    ck_assert(!client_is_answered(47) && !client_is_answered(49) && !client_is_answered(50));
    worker_close(&worker);
}
END_TEST

/* Has clients "first" to "last" ask for long work of a key, from an address. */
static void ask_from(struct worker *worker, int first, int last, const char *key,
                     const char *remote)
{
    for (int i = first; i <= last; i++) {
        client_ask_from(i, "/long", key, remote);
        worker_accept(worker, 1);
    }
}

static void age_all(struct serve *serve, int64_t waited_ms)
{
    for (size_t i = 0; i < serve->n_line; i++)
        serve->line[i]->since_ms = clock_steady_ms() - waited_ms;
}

/* A worker all of whose places are taken: two by what does not end, one by a probe, the others by
 * long work of address "a", of whose keys "v2" asks for most. */
static struct serve *take_all_places(struct worker *worker)
{
    struct serve *serve;

    worker_open(worker, 1000);
    serve = worker->serve;
    serve->handover[0] = -1;
    client_ask_from(0, "/stuck", "v1", "b");
    client_ask_from(1, "/stuck", "v1", "b");
    client_ask_from(2, "/short/stuck", "v1", "b");
    worker_accept(worker, 3);
    serve_lanes_start(serve);
    ask_from(worker, 3, 3, "w1", "b");
    client_ask_from(4, "/probe", "v1", "a");
    worker_accept(worker, 1);
    ask_from(worker, 5, 40, "v1", "a");
    ask_from(worker, 41, SERVE_MAX_CONNECTIONS - 1, "v2", "a");
    ck_assert_uint_eq(serve->n_in[SERVE_CONNECTION_FREE], 0);
    ck_assert_uint_eq(serve->n_line, SERVE_MAX_CONNECTIONS - 3);
    return serve;
}

/* Whoever takes all places leaves one to each connection that comes. */
START_TEST(full_places_are_passed_on)
{
    struct worker worker;
    struct serve *serve = take_all_places(&worker);
    size_t n_line = serve->n_line;

    age_all(serve, 249);
    serve_lanes_start(serve);
    ck_assert_uint_eq(serve->n_line, n_line);
    age_all(serve, 250);
    serve_lanes_start(serve);
    client_expect(SERVE_MAX_CONNECTIONS - 1, "Status: 503");
    serve_lanes_start(serve);
    ck_assert_uint_eq(serve->n_line, n_line - 1); /* there is a place now */
    ck_assert(serve_connection_has_place(serve));
    ask_from(&worker, SERVE_MAX_CONNECTIONS, SERVE_MAX_CONNECTIONS, "x1", "c");
    age_all(serve, 250);
    serve_lanes_start(serve);
    client_expect(SERVE_MAX_CONNECTIONS - 2, "Status: 503");
    ck_assert(!client_is_answered(SERVE_MAX_CONNECTIONS) && !client_is_answered(3) &&
              !client_is_answered(4) && !client_is_answered(40));
    worker_close(&worker);
}
END_TEST

/* A scan waits for its turn though the line moves. */
START_TEST(a_scan_makes_no_line_slow)
{
    struct worker worker;
    struct serve *serve = take_all_places(&worker);
    size_t n_line = serve->n_line;

    serve->line[0]->work = REQUEST_SCAN;
    serve->line[0]->is_sorted = true;
    age_all(serve, 249);
    serve->line[0]->since_ms -= 1000;
    serve_lanes_start(serve);
    ck_assert_uint_eq(serve->n_line, n_line);
    age_all(serve, 250);
    serve_lanes_start(serve);
    ck_assert_uint_eq(serve->n_line, n_line - 1);
    worker_close(&worker);
}
END_TEST

/* If no address has many, nobody is refused. */
START_TEST(full_places_of_many_wait)
{
    struct worker worker;
    struct serve *serve = take_all_places(&worker);

    for (size_t i = 0; i < serve->n_line; i++)
        serve->line[i]->caller =
            (struct request_caller){.account = 1, .key = 1, .networks = {(uint32_t)(i / 8)}};
    for (size_t i = 0; i < serve->n_line; i++)
        serve->line[i]->has_caller = true;
    age_all(serve, 1000);
    serve_lanes_start(serve);
    ck_assert_uint_eq(serve->n_line, SERVE_MAX_CONNECTIONS - 3);
    worker_close(&worker);
}
END_TEST

static void ask_as(struct worker *worker, int client, const char *path, const char *key)
{
    client_ask_from(client, path, key, NULL);
    worker_accept(worker, 1);
    serve_lanes_start(worker->serve);
}

/* Long work of an account that keeps lanes leaves the others to accounts that were seen lately. */
START_TEST(who_keeps_lanes_leaves_some)
{
    struct worker worker;
    struct serve *serve;
    struct serve_connection *stuck;

    worker_open(&worker, 100);
    serve = worker.serve;
    serve->handover[0] = -1;
    worker_know(&worker, "v1");
    worker_know(&worker, "v2");
    worker_know(&worker, "w1");
    ask_as(&worker, 0, "/stuck", "v1");
    stuck = &serve->connections[0];
    stuck->since_ms -= 1000;
    ask_as(&worker, 1, "/alone", "v2");
    client_expect(1, "/alone");
    ask_as(&worker, 2, "/of/w", "w1");
    client_expect(2, "/of/w");
    ask_as(&worker, 3, "/of/v", "v2");
    ck_assert(!client_is_answered(3));
    ck_assert_uint_eq(serve->n_line, 1);
    ck_assert(!serve_line_may_offer(serve, serve->line[0]));
    ask_as(&worker, 4, "/short/of/v", "v2");
    client_expect(4, "/short/of/v");
    ask_as(&worker, 5, "/of/w/too", "w1");
    client_expect(5, "/of/w/too");
    /* It holds for a while, however short the next requests are. */
    serve_line_note_end(serve, stuck);
    stuck->since_ms = clock_steady_ms();
    serve_lanes_start(serve);
    ck_assert(!client_is_answered(3));
    serve->kept_ms['v'] = 0;
    serve_lanes_start(serve);
    client_expect(3, "/of/v");
    worker_close(&worker);
}
END_TEST

/* Nobody waits for the answer to a request whose client has left. */
START_TEST(who_has_left_gets_no_lane)
{
    struct worker worker;
    struct serve *serve;

    worker_open(&worker, 100);
    serve = worker.serve;
    serve->handover[0] = -1;
    worker.task = worker_wait;
    worker_deadline_ms = clock_steady_ms() + 3600 * 1000;
    for (int i = 0; i < 4; i++) {
        client_ask(i, i < 2 ? "/w" : "/long");
        worker_accept(&worker, 1);
        serve_lanes_start(serve);
    }
    ck_assert_uint_eq(serve->n_line, 2);
    close(clients[2]);
    clients[2] = -1;
    age_all(serve, 50);
    serve_lanes_sweep(serve, worker_deadline_ms);
    serve_lanes_start(serve);
    client_expect(3, "/long");
    ck_assert_uint_eq(serve->n_line, 0);
    ck_assert_int_eq(worker.n_answered, 3);
    worker_close(&worker);
}
END_TEST

Suite *serve_line_suite(void)
{
    Suite *suite = suite_create("serve/line");
    TCase *tcase = tcase_create("line");

    tcase_add_checked_fixture(tcase, worker_set_up, worker_tear_down);
    tcase_set_timeout(tcase, 60);
    tcase_add_test(tcase, lanes_go_by_the_work);
    tcase_add_test(tcase, short_work_does_not_keep_long_waiting);
    tcase_add_test(tcase, probes_go_first);
    tcase_add_test(tcase, busy_workers_accept_less);
    tcase_add_test(tcase, each_request_has_its_own_account);
    tcase_add_test(tcase, places_to_wait_are_of_a_key);
    tcase_add_test(tcase, forged_keys_count_for_their_address);
    tcase_add_test(tcase, good_keys_keep_their_places);
    tcase_add_test(tcase, places_to_wait_are_of_an_address);
    tcase_add_test(tcase, places_of_an_address_are_shared_by_its_keys);
    tcase_add_test(tcase, full_places_are_passed_on);
    tcase_add_test(tcase, a_scan_makes_no_line_slow);
    tcase_add_test(tcase, full_places_of_many_wait);
    tcase_add_test(tcase, who_keeps_lanes_leaves_some);
    tcase_add_test(tcase, who_has_left_gets_no_lane);
    suite_add_tcase(suite, tcase);
    return suite;
}
