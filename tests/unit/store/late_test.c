/* SPDX-License-Identifier: MIT */
/* Tests of the table of accounts whose node did not answer. */
#include "store/late.h"

#include <check.h>
#include <stdio.h>

#include "suites.h"

START_TEST(an_account_is_refused_for_a_while)
{
    static struct late_accounts late;

    ck_assert(!late_refuses(&late, "", 0));
    ck_assert(!late_refuses(&late, "ac_a", 1000));
    late_note(&late, "ac_a", 1000);
    ck_assert(late_refuses(&late, "ac_a", 1000));
    ck_assert(late_refuses(&late, "ac_a", 1499));
    ck_assert(!late_refuses(&late, "ac_a", 1500));
    ck_assert(!late_refuses(&late, "ac_b", 1000));
    ck_assert(!late_refuses(&late, "", 1000));
}
END_TEST

/* Accounts share places.  None is refused in place of another. */
START_TEST(many_accounts)
{
    static struct late_accounts late;
    char id[IDENT_SIZE];
    int n = 0;

    for (int i = 0; i < 4 * LATE_N_PLACES; i++) {
        snprintf(id, sizeof id, "ac_%027d", i);
        ck_assert_msg(!late_refuses(&late, id, 1000), "%s", id);
        late_note(&late, id, 1000);
        ck_assert_msg(late_refuses(&late, id, 1000), "%s", id);
    }
    for (int i = 0; i < 4 * LATE_N_PLACES; i++) {
        snprintf(id, sizeof id, "ac_%027d", i);
        n += late_refuses(&late, id, 1000);
    }
    ck_assert_int_le(n, LATE_N_PLACES);
    ck_assert_int_gt(n, LATE_N_PLACES / 2);
}
END_TEST

Suite *store_late_suite(void)
{
    Suite *suite = suite_create("store/late");
    TCase *tcase = tcase_create("late accounts");

    tcase_add_test(tcase, an_account_is_refused_for_a_while);
    tcase_add_test(tcase, many_accounts);
    suite_add_tcase(suite, tcase);
    return suite;
}
