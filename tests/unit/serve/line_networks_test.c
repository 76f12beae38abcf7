/* SPDX-License-Identifier: MIT */
/* Tests of the places of the line that clients with many IPv6 addresses take. */
#include <check.h>

#include "base/clock.h"
#include "serve/worker.h"
#include "suites.h"

/* Names one of the addresses of a client that has a /56 (width 1) or a /48 (2). */
static void name_address(char address[4], int width, int number)
{
    address[0] = 'W';
    address[1] = width == 1 ? 'W' : (char)('0' + number);
    address[2] = (char)('0' + number);
    address[3] = '\0';
}

/* The account of these keys has a scan that does not end, and 48 that wait, each of an address of
 * its own and a key of its own. */
START_TEST(scans_of_a_network)
{
    struct worker worker;

    worker_open(&worker, 100);
    worker.serve->handover[0] = -1;
    worker_know(&worker, "v1");
    client_scan_from(0, "/stuck", "v1", "b");
    worker_accept(&worker, 1);
    serve_lanes_start(worker.serve);
    for (int i = 1; i <= 48; i++) {
        const char key[] = {'v', (char)('0' + i), '\0'};
        char address[4];

        name_address(address, _i, i);
        worker_know(&worker, key);
        client_scan_from(i, "/waits", key, address);
        worker_accept(&worker, 1);
    }
    client_scan_from(49, "/waits", "v1", "b");
    worker_accept(&worker, 1);
    serve_lanes_start(worker.serve);
    ck_assert_uint_eq(worker.serve->n_line, 48);
    client_expect(48, "Status: 503");
    ck_assert(!client_is_answered(49) && !client_is_answered(47));
    worker_close(&worker);
}
END_TEST

/* All places are taken by long work, each of an address of its own, n of which are of one network.
 */
static void take_places(struct worker *worker, int width, int n)
{
    struct serve *serve;

    worker_open(worker, 1000);
    serve = worker->serve;
    serve->handover[0] = -1;
    for (int i = 0; i < SERVE_MAX_CONNECTIONS; i++) {
        client_ask_from(i, i < 3 ? "/short/stuck" : "/long", "v1", "b");
        worker_accept(worker, 1);
        serve_lanes_start(serve);
    }
    ck_assert_uint_eq(serve->n_in[SERVE_CONNECTION_FREE], 0);
    for (size_t i = 0; i < serve->n_line; i++) {
        struct serve_connection *connection = serve->line[i];
        const uint32_t number = (uint32_t)i + 1;

        connection->caller = (struct request_caller){.account = 1, .key = 1};
        connection->has_caller = true;
        for (int j = 0; j < ADDRESS_N_WIDTHS; j++)
            connection->caller.networks[j] =
                j >= width && number <= (uint32_t)n ? UINT32_MAX : number;
        connection->since_ms = clock_steady_ms() - 1000;
    }
}

/* Several clients may share the wider networks, so these may have more. */
START_TEST(few_places_of_a_network)
{
    struct worker worker;
    size_t n_line;

    take_places(&worker, _i, 16 * address_widths[_i].times - 1);
    n_line = worker.serve->n_line;
    serve_lanes_start(worker.serve);
    ck_assert_uint_eq(worker.serve->n_line, n_line);
    worker_close(&worker);
}
END_TEST

/* Whoever takes places with many addresses of one network leaves one to each connection that
 * comes. */
START_TEST(many_places_of_a_network)
{
    const uint32_t most = 16u * address_widths[_i].times;
    struct worker worker;
    size_t n_line;

    take_places(&worker, _i, (int)most);
    n_line = worker.serve->n_line;
    serve_lanes_start(worker.serve);
    ck_assert_uint_eq(worker.serve->n_line, n_line - 1);
    ck_assert_uint_eq(worker.serve->line[most - 1]->caller.networks[0], most + 1);
    worker_close(&worker);
}
END_TEST

Suite *serve_line_networks_suite(void)
{
    Suite *suite = suite_create("serve/line_networks");
    TCase *tcase = tcase_create("line_networks");

    tcase_add_checked_fixture(tcase, worker_set_up, worker_tear_down);
    tcase_set_timeout(tcase, 60);
    tcase_add_loop_test(tcase, scans_of_a_network, 1, ADDRESS_N_WIDTHS);
    tcase_add_loop_test(tcase, few_places_of_a_network, 0, ADDRESS_N_WIDTHS);
    tcase_add_loop_test(tcase, many_places_of_a_network, 0, ADDRESS_N_WIDTHS);
    suite_add_tcase(suite, tcase);
    return suite;
}
