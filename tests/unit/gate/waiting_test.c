/* SPDX-License-Identifier: MIT */
/* Tests of how much visitors of one address may cause, and one visitor of many. */
#include "gate/waiting.h"

#include <check.h>
#include <stdio.h>

#include "suites.h"

static const struct gate gate;
static struct gate_worker worker;
static struct sealed_place place; /* of the next calls */
static struct turn latest;        /* of a fetcher */
static const char *subject;       /* of the next visitors who are signed in; NULL: one each */
static bool are_strangers;        /* they */

struct fetcher *__real_fetcher_new(const struct turn *turn, struct turns *turns,
                                   struct authorities *authorities);
struct fetcher *__wrap_fetcher_new(const struct turn *turn, struct turns *turns,
                                   struct authorities *authorities);

struct fetcher *__wrap_fetcher_new(const struct turn *turn, struct turns *turns,
                                   struct authorities *authorities)
{
    latest = *turn;
    return __real_fetcher_new(turn, turns, authorities);
}

static bool try_from(const char *address, bool (*may)(struct gate_call *))
{
    struct gate_lane lane = {.worker = &worker};
    const struct request request = {.remote_addr = address};
    struct gate_call call = {.lane = &lane, .request = &request, .place = place};

    return may(&call);
}

static int count_until_refused(const char *address, bool (*may)(struct gate_call *), int most)
{
    int n = 0;

    while (n < most && try_from(address, may))
        n++;
    return n;
}

/* Returns whether a visitor who is signed in may do something. */
static bool may_as_visitor(struct gate_call *call,
                           bool (*may)(struct gate_call *, const struct visitor_session *))
{
    static int n_subjects;
    char other[16];
    struct visitor_session who;

    snprintf(other, sizeof other, "%d", n_subjects++);
    who = (struct visitor_session){.identity.subject = text_of(subject ? subject : other),
                                   .is_stranger = are_strangers};
    return may(call, &who);
}

static bool follows(struct gate_call *call)
{
    return waiting_follow(call, NULL);
}

static bool follows_check(struct gate_call *call)
{
    return may_as_visitor(call, waiting_follow);
}

static bool asks(struct gate_call *call, const struct visitor_session *who)
{
    if (waiting_why_not_ask(call, who))
        return false;
    waiting_count_question(call, who);
    return true;
}

static bool may_ask(struct gate_call *call)
{
    return may_as_visitor(call, asks);
}

static bool leaves_row(struct gate_call *call, const struct visitor_session *who)
{
    return waiting_may_leave_row(call, &who->identity);
}

static bool may_leave_row(struct gate_call *call)
{
    return may_as_visitor(call, leaves_row);
}

static bool may_ask_of_stranger(struct gate_call *call)
{
    bool may;

    are_strangers = true;
    may = may_ask(call);
    are_strangers = false;
    return may;
}

/* Its fetcher stays: the lane waits. */
static bool begins(struct gate_call *call, const struct visitor_session *who)
{
    struct fetcher *fetcher = waiting_begin_fetch(call, who);

    if (fetcher)
        fetcher_free(fetcher);
    return fetcher != NULL;
}

static bool begins_fetch(struct gate_call *call)
{
    return begins(call, NULL);
}

static bool begins_check(struct gate_call *call)
{
    return may_as_visitor(call, begins);
}

/* Tries from so many /64 of 2001:db8::/32, `apart` from one another.  Returns how many may. */
static int count_networks(int n, unsigned apart, bool (*may)(struct gate_call *))
{
    char address[40];
    int n_found = 0;

    for (unsigned i = 0; i < (unsigned)n; i++) {
        snprintf(address, sizeof address, "2001:db8:%x:%x::1", i * apart >> 16, i * apart & 0xffff);
        n_found += try_from(address, may);
    }
    return n_found;
}

/* As if WAITING_STORED_MS had passed. */
static void pass_time(void)
{
    worker.stored_in_all.since_ms -= WAITING_STORED_MS;
    for (size_t i = 0; i < GATE_STORED_MAX; i++)
        worker.stored[i].since_ms -= WAITING_STORED_MS;
}

static void start(void)
{
    worker = (struct gate_worker){.gate = &gate};
    place = (struct sealed_place){.provider = 0};
    subject = NULL;
    are_strangers = false;
}

START_TEST(logins_of_an_address)
{
    ck_assert_int_eq(count_until_refused("192.0.2.1", waiting_may_use, 5000), WAITING_LOGINS_MAX);
    ck_assert(!try_from("::ffff:192.0.2.1", waiting_may_use));
    ck_assert(try_from("192.0.2.2", waiting_may_use));
    /* An IPv6 address has its network. */
    ck_assert_int_eq(count_until_refused("2001:db8::1", waiting_may_use, 5000), WAITING_LOGINS_MAX);
    ck_assert(!try_from("2001:db8::ffff:2", waiting_may_use));
    ck_assert(try_from("2001:db8:0:1::1", waiting_may_use));
    /* Behind a proxy of this machine, visitors are not told apart. */
    ck_assert_int_eq(count_until_refused("127.0.0.1", waiting_may_use, 5000), 5000);
    ck_assert_int_eq(count_until_refused(NULL, waiting_may_use, 5000), 5000);
}
END_TEST

/* Whoever has many addresses makes the gate forget those with least, and not the one that is over.
 */
START_TEST(many_addresses)
{
    char address[32];

    ck_assert_int_eq(count_until_refused("192.0.2.1", waiting_may_use, 5000), WAITING_LOGINS_MAX);
    for (int i = 0; i < 4 * GATE_STORED_MAX; i++) {
        snprintf(address, sizeof address, "198.51.%d.%d", i / 250, i % 250);
        ck_assert(try_from(address, waiting_may_use));
    }
    ck_assert(!try_from("192.0.2.1", waiting_may_use));
}
END_TEST

START_TEST(checks_of_an_address)
{
    ck_assert_int_eq(count_until_refused("192.0.2.1", may_ask_of_stranger, 5000),
                     WAITING_CHECKS_MAX);
    ck_assert(try_from("192.0.2.2", may_ask_of_stranger));
    /* They leave sign-ins to the others of the address. */
    ck_assert(try_from("192.0.2.1", waiting_may_use));
    ck_assert_int_eq(count_until_refused("127.0.0.1", may_ask_of_stranger, 5000), 5000);
    /* Who was let in does not count for the address. */
    ck_assert(try_from("192.0.2.1", may_ask));
}
END_TEST

/* Whoever is signed in many times, and comes from many addresses, is one visitor. */
START_TEST(checks_of_a_visitor)
{
    char address[32];
    int n = 0;

    place = (struct sealed_place){.account_id = text_of("a"), .provider = 1};
    subject = "a";
    for (int i = 0; i < 2 * WAITING_VISITOR_CHECKS_MAX; i++) {
        snprintf(address, sizeof address, "198.51.%d.%d", i / 250, i % 250);
        n += try_from(address, may_ask);
    }
    ck_assert_int_eq(n, WAITING_VISITOR_CHECKS_MAX);
    place.provider = 2;
    ck_assert(try_from("198.51.0.0", may_ask));
    place.provider = 1;
    subject = NULL;
    /* As many others as there is room for do not make the gate forget that. */
    ck_assert_int_eq(count_until_refused("198.51.0.0", may_ask, 4 * GATE_STORED_MAX),
                     4 * GATE_STORED_MAX);
    subject = "a";
    ck_assert(!try_from("203.0.113.1", may_ask));
    ck_assert(!try_from(NULL, may_ask));
}
END_TEST

START_TEST(ways_back)
{
    int n = 0;
    char address[32];

    ck_assert_int_eq(count_until_refused("192.0.2.1", waiting_may_keep, 5000),
                     WAITING_WAYS_BACK_MAX);
    ck_assert(try_from("192.0.2.1", waiting_may_use));
    for (int i = 0; i < 100; i++) {
        snprintf(address, sizeof address, "198.51.100.%d", i);
        n += count_until_refused(address, waiting_may_keep, 5);
    }
    ck_assert_int_eq(n, WAITING_WAYS_BACK_IN_ALL_MAX - WAITING_WAYS_BACK_MAX);
    ck_assert(!try_from(NULL, waiting_may_keep));
    ck_assert(try_from("198.51.100.99", waiting_may_use));
    pass_time();
    ck_assert_int_eq(count_until_refused("192.0.2.1", waiting_may_keep, 5000),
                     WAITING_WAYS_BACK_MAX);
}
END_TEST

START_TEST(ways_back_of_many_addresses)
{
    int n = 0;
    char address[32];

    for (int i = 0; i < WAITING_WAYS_BACK_IN_ALL_MAX / WAITING_WAYS_BACK_MAX; i++) {
        snprintf(address, sizeof address, "198.51.100.%d", i);
        n += count_until_refused(address, waiting_may_keep, 5000);
    }
    ck_assert_int_gt(n, WAITING_WAYS_BACK_IN_ALL_MAX / 2);
    ck_assert_int_gt(count_until_refused("192.0.2.1", waiting_may_keep, 5000), 1);
}
END_TEST

/* Whoever has several addresses leaves lanes for others, and so do the requests of one page. */
START_TEST(lanes)
{
    char address[32];
    int n = 0;

    ck_assert_int_eq(count_until_refused(NULL, follows, 100), GATE_WAITING_MAX * 3 / 4);
    worker = (struct gate_worker){.gate = &gate};
    ck_assert_int_eq(count_until_refused("192.0.2.1", follows, 100), GATE_WAITING_MAX / 2);
    ck_assert(!try_from("192.0.2.1", begins_fetch));
    ck_assert(try_from("192.0.2.2", follows));
    worker = (struct gate_worker){.gate = &gate};
    ck_assert_int_eq(count_until_refused("192.0.2.1", begins_fetch, 100), GATE_WAITING_MAX / 2);
    ck_assert_int_eq(count_until_refused("192.0.2.2", begins_fetch, 100), GATE_WAITING_MAX / 4);
    ck_assert_int_eq(count_until_refused("2001:db8::1", begins_fetch, 100), GATE_WAITING_MAX / 8);
    ck_assert(!try_from("192.0.2.1", begins_fetch));
    /* The last ones are not for strangers, from however many addresses. */
    for (int i = 3; i < 100; i++) {
        snprintf(address, sizeof address, "192.0.2.%d", i);
        n += try_from(address, begins_fetch);
    }
    ck_assert_int_eq(n, 0);
    ck_assert(!try_from(NULL, follows));
    ck_assert_int_eq(count_until_refused("192.0.2.1", begins_check, 100), 5);
    ck_assert_int_eq(count_until_refused(NULL, begins_check, 100), GATE_WAITING_MAX / 8 - 5);
    ck_assert_int_eq(worker.n_waiting, GATE_WAITING_MAX);
}
END_TEST

/* A client may have more of IPv6 than a /64. */
START_TEST(lanes_of_wide_networks)
{
    ck_assert_int_eq(count_networks(100, 1, begins_fetch), GATE_WAITING_MAX * 5 / 8);
    ck_assert(try_from("2001:db8:0:100::1", begins_fetch));
    worker = (struct gate_worker){.gate = &gate};
    ck_assert_int_eq(count_networks(100, 0x100, begins_fetch), GATE_WAITING_MAX * 6 / 8);
    ck_assert(try_from("2001:db8:1::1", begins_fetch));
    ck_assert(try_from("192.0.2.1", begins_fetch));
}
END_TEST

/* The visitors of an account's modules leave lanes to others, whoever they are and whomever a
 * module lets in. */
START_TEST(lanes_of_modules)
{
    char address[32];
    int n_strangers = 0, n_admitted = 0;

    place = (struct sealed_place){.account_id = text_of("a"), .provider = 1};
    for (int i = 0; i < 100; i++) {
        snprintf(address, sizeof address, "192.0.2.%d", i);
        n_strangers += try_from(address, begins_fetch);
    }
    ck_assert_int_eq(n_strangers, GATE_WAITING_MAX * 6 / 8);
    for (int i = 100; i < 200; i++) {
        snprintf(address, sizeof address, "192.0.2.%d", i);
        n_admitted += try_from(address, begins_check);
    }
    ck_assert_int_eq(n_strangers + n_admitted, GATE_WAITING_MAX * 7 / 8);
    place.provider = 2;
    ck_assert(try_from("192.0.2.1", begins_fetch));
    place = (struct sealed_place){.account_id = text_of("b"), .provider = 1};
    ck_assert(try_from("192.0.2.201", begins_check));
}
END_TEST

START_TEST(rows_of_a_visitor)
{
    subject = "a";
    place = (struct sealed_place){.edge_id = text_of("e"), .route_id = text_of("r")};
    ck_assert_int_eq(count_until_refused("192.0.2.1", may_leave_row, 5000),
                     WAITING_VISITOR_ROWS_MAX);
    ck_assert(!try_from("192.0.2.2", may_leave_row));
    ck_assert(try_from("192.0.2.1", may_ask));
    place.route_id = text_of("s");
    ck_assert(try_from("192.0.2.1", may_leave_row));
    place = (struct sealed_place){.edge_id = text_of("r"), .route_id = text_of("e")};
    ck_assert(try_from("192.0.2.1", may_leave_row));
    place = (struct sealed_place){.edge_id = text_of("e"), .route_id = text_of("r")};
    subject = "b";
    ck_assert(try_from("192.0.2.1", may_leave_row));
}
END_TEST

/* A visitor who is signed in leaves lanes to others, however many addresses there are. */
static void leaves_lanes(bool (*may)(struct gate_call *))
{
    char address[32];
    int n = 0;

    place = (struct sealed_place){.account_id = text_of("a"), .provider = 1};
    worker = (struct gate_worker){.gate = &gate};
    subject = "a";
    for (int i = 0; i < 100; i++) {
        snprintf(address, sizeof address, "198.51.%d.1", i);
        n += try_from(address, may);
    }
    ck_assert_int_eq(n, GATE_WAITING_MAX / 2);
    subject = "b";
    ck_assert(try_from("198.51.0.1", begins_check));
    ck_assert(try_from("198.51.0.1", begins_fetch));
    ck_assert(try_from("198.51.0.1", follows_check));
}

/* They are let in, or were: nobody else behind the same address waits for the one who has them. */
START_TEST(lanes_of_a_visitor_of_the_address)
{
    place = (struct sealed_place){.account_id = text_of("a"), .provider = 1};
    for (int i = 0; i < 2; i++) {
        bool (*may)(struct gate_call *) = i == 0 ? begins_check : follows_check;

        worker = (struct gate_worker){.gate = &gate};
        subject = "a";
        ck_assert_int_eq(count_until_refused("192.0.2.1", may, 100), GATE_WAITING_MAX / 2);
        subject = "b";
        ck_assert_int_eq(count_until_refused("192.0.2.1", may, 100), 4);
        subject = "c";
        ck_assert(try_from("192.0.2.1", may));
        ck_assert(!try_from("192.0.2.1", begins_fetch));
        ck_assert(try_from("192.0.2.2", begins_fetch));
    }
}
END_TEST

START_TEST(lanes_of_a_visitor)
{
    leaves_lanes(begins_check);
    leaves_lanes(follows_check);
}
END_TEST

static bool begin_and_end(struct gate_call *call, const struct visitor_session *who)
{
    struct fetcher *fetcher = waiting_begin_fetch(call, who);

    if (fetcher)
        waiting_end_fetch(call, fetcher);
    return fetcher != NULL;
}

static bool has_begun_and_ended(struct gate_call *call)
{
    return may_as_visitor(call, begin_and_end);
}

/* A lane that ends is the one of its visitor. */
START_TEST(end_of_a_visitors_lane)
{
    subject = "a";
    ck_assert(try_from("192.0.2.1", begins_check));
    subject = "b";
    ck_assert(try_from("192.0.2.1", has_begun_and_ended));
    subject = "a";
    ck_assert_int_eq(count_until_refused("192.0.2.1", begins_check, 100), GATE_WAITING_MAX / 2 - 1);
    subject = "b";
    ck_assert_int_eq(count_until_refused("192.0.2.2", has_begun_and_ended, 100), 100);
    ck_assert_int_eq(worker.n_waiting, GATE_WAITING_MAX / 2);
}
END_TEST

static struct turn turn_from(const char *address)
{
    ck_assert(try_from(address, begins_fetch));
    return latest;
}

static struct turn turn_of_visitor(const char *who, const char *address)
{
    subject = who;
    ck_assert(try_from(address, begins_check));
    return latest;
}

START_TEST(turns_of_visitors)
{
    struct turn own;

    place = (struct sealed_place){.account_id = text_of("a"), .provider = 1};
    own = turn_of_visitor("a", "192.0.2.1");
    ck_assert_uint_ne(own.visitor, 0);
    ck_assert(turn_of_visitor("a", "192.0.2.2").visitor == own.visitor);
    ck_assert_uint_ne(turn_of_visitor("b", "192.0.2.1").visitor, own.visitor);
    ck_assert_uint_eq(turn_from("192.0.2.1").visitor, 0);
    place.provider = 2;
    ck_assert_uint_ne(turn_of_visitor("a", "192.0.2.1").visitor, own.visitor);
}
END_TEST

/* A client has one turn with all of its addresses, at the modules of each account and provider. */
START_TEST(turns_of_networks_and_modules)
{
    struct turn own, other;

    place = (struct sealed_place){.account_id = text_of("a"), .provider = 1};
    own = turn_from("2001:db8::1");
    other = turn_from("2001:db8:0:ffff::1");
    ck_assert(other.from == own.from && other.asks_for == own.asks_for);
    ck_assert_uint_ne(turn_from("2001:db8:1::1").from, own.from);
    ck_assert_uint_ne(turn_from("192.0.2.1").from, turn_from("192.0.2.2").from);
    place.provider = 2;
    ck_assert_uint_ne(turn_from("2001:db8::1").asks_for, own.asks_for);
    place = (struct sealed_place){.account_id = text_of("b"), .provider = 1};
    ck_assert_uint_ne(turn_from("2001:db8::1").asks_for, own.asks_for);
}
END_TEST

START_TEST(rows_of_wide_networks)
{
    ck_assert_int_eq(count_networks(256, 1, waiting_may_keep), WAITING_WAYS_BACK_MAX * 2);
    ck_assert(try_from("2001:db8:0:100::1", waiting_may_keep));
    worker = (struct gate_worker){.gate = &gate};
    ck_assert_int_eq(count_networks(256, 0x100, waiting_may_keep), WAITING_WAYS_BACK_MAX * 4);
    ck_assert(try_from("2001:db8:1::1", waiting_may_keep));
}
END_TEST

Suite *gate_waiting_suite(void)
{
    Suite *suite = suite_create("gate/waiting");
    TCase *tcase = tcase_create("waiting");

    tcase_add_checked_fixture(tcase, start, NULL);
    tcase_add_test(tcase, logins_of_an_address);
    tcase_add_test(tcase, checks_of_an_address);
    tcase_add_test(tcase, checks_of_a_visitor);
    tcase_add_test(tcase, rows_of_a_visitor);
    tcase_add_test(tcase, many_addresses);
    tcase_add_test(tcase, ways_back);
    tcase_add_test(tcase, ways_back_of_many_addresses);
    tcase_add_test(tcase, lanes);
    tcase_add_test(tcase, lanes_of_wide_networks);
    tcase_add_test(tcase, lanes_of_modules);
    tcase_add_test(tcase, lanes_of_a_visitor);
    tcase_add_test(tcase, lanes_of_a_visitor_of_the_address);
    tcase_add_test(tcase, end_of_a_visitors_lane);
    tcase_add_test(tcase, turns_of_networks_and_modules);
    tcase_add_test(tcase, turns_of_visitors);
    tcase_add_test(tcase, rows_of_wide_networks);
    suite_add_tcase(suite, tcase);
    return suite;
}
