/* SPDX-License-Identifier: MIT */
/* Tests of which statements are shed, and for how long. */
#include "pg/shed.h"

#include <check.h>

#include "suites.h"

static const struct {
    bool was_write, is_write;
    int64_t ended_ms, now_ms; /* the statement was late at 1000 */
    bool is_refused;
} cases[] = {
    {true, true, 1000, 1000, true},   {true, true, 1000, 1002, true},
    {true, true, 1000, 1003, false},                                   /* after a pause */
    {true, true, 1048, 1049, true},   {true, true, 1049, 1050, false}, /* after 50 ms */
    {true, false, 1000, 1000, false}, {false, false, 1000, 1000, true},
    {false, true, 1000, 1000, true},
};

START_TEST(shed_statements)
{
    struct pg_shed shed = {.what = PG_SHED_NOTHING};

    ck_assert(!pg_shed_refuses(&shed, true, 1000));
    pg_shed_begin(&shed, cases[_i].was_write, 1000);
    pg_shed_note_end(&shed, cases[_i].ended_ms);
    ck_assert_int_eq(pg_shed_refuses(&shed, cases[_i].is_write, cases[_i].now_ms),
                     cases[_i].is_refused);
}
END_TEST

Suite *pg_shed_suite(void)
{
    Suite *suite = suite_create("pg/shed");
    TCase *tcase = tcase_create("shed");

    tcase_add_loop_test(tcase, shed_statements, 0, sizeof cases / sizeof cases[0]);
    suite_add_tcase(suite, tcase);
    return suite;
}
