/* SPDX-License-Identifier: MIT */
/* Tests of the header Link. */
#include "gate/link.h"

#include <check.h>

#include "suites.h"

#define N_OF(array) (sizeof(array) / sizeof(array)[0])

START_TEST(next_links)
{
    static const struct {
        const char *value;
        const char *next;
    } cases[] = {
        {"<https://a.test/2>; rel=\"next\"", "https://a.test/2"},
        {"<https://a.test/2>; rel=next", "https://a.test/2"},
        {"<https://a.test/2>;rel=next,<https://a.test/9>;rel=last", "https://a.test/2"},
        {"<https://a.test/1>; rel=\"prev\", <https://a.test/3>; rel=\"next\"", "https://a.test/3"},
        {"<https://a.test/2>; title=\"a, b; <c>\"; rel=\"last NEXT\"", "https://a.test/2"},
        {"<https://a.test/2>; title=\"a\\\"; rel=prev\"; rel=next", "https://a.test/2"},
        {", ,<https://a.test/2>\t; x ; REL = next", "https://a.test/2"},
        {"<https://a.test/2?a=b,c;d>; rel=\"next\"", "https://a.test/2?a=b,c;d"},
        {"<>; rel=next", ""},
        {"<?page=2>; rel=next", "?page=2"},
        {"<//b.test/2>; rel=next", "//b.test/2"},
        {"<2>; rel = \"next\"", "2"},
        {"<2>; rel=\tnext", "2"},
        {"<2>; rel= \"first  next\"", "2"},
        {"<2>; rel=\"n\\ext\"", "2"},
        {"<2>; rel=\"\\next\"", "2"},
        {"<2>; rel=\"next\\ \"", "2"},
        {"<1>; anchor=\"/other\"; rel=next, <2>; rel=next", "2"},
        {"<1>; rel=next; anchor=\"#a\"", NULL},
        {"<2>; rel=\"nex\\", NULL},
        {"<https://a.test/2>; rel=prev; rel=next", NULL},
        {"<https://a.test/2>; rel=\"nextpage\"", NULL},
        {"<https://a.test/2>; title=next", NULL},
        {"<https://a.test/2>", NULL},
        {"https://a.test/2; rel=next", NULL},
        {"<https://a.test/2; rel=next", NULL},
        {"<https://a.test/1>; rel=\"prev, <https://a.test/2>; rel=next", NULL},
        {"", NULL},
    };

    for (size_t i = 0; i < N_OF(cases); i++) {
        struct text next = link_next(text_of(cases[i].value));

        ck_assert_msg(text_eq(next, text_of(cases[i].next)), "%s: %.*s", cases[i].value,
                      (int)next.len, next.s);
    }
}
END_TEST

Suite *gate_link_suite(void)
{
    Suite *suite = suite_create("gate/link");
    TCase *tests = tcase_create("link");

    tcase_add_test(tests, next_links);
    suite_add_tcase(suite, tests);
    return suite;
}
