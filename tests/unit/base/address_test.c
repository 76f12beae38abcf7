/* SPDX-License-Identifier: MIT */
/* Tests of the addresses that tell clients apart. */
#include "base/address.h"

#include <check.h>
#include <string.h>

#include "suites.h"

static struct address_network network_of(const char *text)
{
    return address_network_of(text_of(text));
}

START_TEST(networks)
{
    static const struct {
        const char *one, *other;
        bool is_same, is_loopback;
    } cases[] = {
        {"192.0.2.1", "192.0.2.1", true, false},
        {"192.0.2.1", "192.0.2.2", false, false},
        {"::ffff:192.0.2.1", "192.0.2.1", true, false},
        {"::FFFF:c000:201", "192.0.2.1", true, false},
        {"2001:db8::1", "2001:db8:0:0:ffff:ffff:ffff:ffff", true, false},
        {"2001:db8::1", "2001:db8:0:1::1", false, false},
        {"127.0.0.1", "127.1.2.3", false, true},
        {"::ffff:127.0.0.1", "127.0.0.1", true, true},
        {"::1", "0:0:0:0:0:0:0:1", true, true},
        /* The first bytes of an IPv6 address may be those of an IPv4 one. */
        {"c000:201::", "192.0.2.1", false, false},
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct address_network one = network_of(cases[i].one), other = network_of(cases[i].other);

        ck_assert_msg(one.is_known && other.is_known, "%s", cases[i].one);
        ck_assert_msg(address_same_network(&one, &other) == cases[i].is_same, "%s", cases[i].one);
        ck_assert_msg(one.is_loopback == cases[i].is_loopback, "%s", cases[i].one);
    }
}
END_TEST

START_TEST(wider_networks)
{
    static const struct {
        const char *one, *other;
        unsigned char n_bytes;
        bool is_same;
    } cases[] = {
        {"2001:db8:0:1::1", "2001:db8:0:ff::1", 7, true},
        {"2001:db8:0:1::1", "2001:db8:0:100::1", 7, false},
        {"2001:db8:0:1::1", "2001:db8:0:ffff::1", 6, true},
        {"2001:db8:0:1::1", "2001:db8:1:1::1", 6, false},
        {"192.0.2.1", "192.0.2.2", 6, false},
        {"192.0.2.1", "192.0.2.1", 6, true},
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct address_network one = network_of(cases[i].one), other = network_of(cases[i].other);
        struct address_network wide = address_widen(&one, cases[i].n_bytes);

        other = address_widen(&other, cases[i].n_bytes);
        ck_assert_msg(address_same_network(&wide, &other) == cases[i].is_same, "%s",
                      cases[i].other);
        ck_assert(address_same_network(&wide, &one) == !one.is_v6);
    }
}
END_TEST

START_TEST(no_addresses)
{
    static const char *const none[] = {
        NULL,          "",
        "unix:",       "192.0.2",
        "192.0.2.1 ",  "192.0.2.1:80",
        "[::1]",       "fe80::%",
        "192.0.2.256", ":",
        "\n",          "0000:0000:0000:0000:0000:ffff:192.168.100.200:0000:0000:0000:0000"};
    struct address_network unknown = {.is_known = false};

    for (size_t i = 0; i < sizeof none / sizeof none[0]; i++) {
        struct address_network found = network_of(none[i]);

        ck_assert_msg(memcmp(&found, &unknown, sizeof found) == 0, "%zu", i);
    }
    /* Only so many bytes as the text has. */
    unknown = address_network_of((struct text){"192.0.2.123", strlen("192.0.2.1")});
    ck_assert_int_eq(unknown.bytes[3], 1);
}
END_TEST

Suite *address_suite(void)
{
    Suite *suite = suite_create("base/address");
    TCase *tests = tcase_create("address");

    tcase_add_test(tests, networks);
    tcase_add_test(tests, wider_networks);
    tcase_add_test(tests, no_addresses);
    suite_add_tcase(suite, tests);
    return suite;
}
