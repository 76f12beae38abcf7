/* SPDX-License-Identifier: MIT */
/* Tests of which statements are shed, and for how long. */
#include "pg/shed.h"

#include <check.h>

#include "suites.h"

enum { OWN = 1, OTHER = 2 };

static const struct {
    bool was_write, is_write;
    uint32_t caller;
    int64_t ended_ms, now_ms; /* the statement of OWN was late at 1000 */
    bool is_refused;
} cases[] = {
    {true, true, OWN, 1000, 1000, true},     {true, true, OWN, 1000, 1002, true},
    {true, true, OWN, 1000, 1003, false}, /* after a pause */
    {true, true, OWN, 1048, 1049, true},     {true, true, OWN, 1049, 1050, false}, /* after 50 ms */
    {true, false, OWN, 1000, 1000, false},   {true, true, OTHER, 1000, 1002, false},
    {false, false, OTHER, 1000, 1000, true}, {false, true, OTHER, 1000, 1000, true},
};

START_TEST(shed_statements)
{
    const struct pg_shed_statement late = {.writes = cases[_i].was_write, .caller = OWN};
    const struct pg_shed_statement next = {.writes = cases[_i].is_write,
                                           .caller = cases[_i].caller};
    struct pg_shed shed = {.what = PG_SHED_NOTHING};

    ck_assert(!pg_shed_refuses(&shed, next, 1000));
    pg_shed_begin(&shed, late, 1000);
    pg_shed_note_end(&shed, cases[_i].ended_ms);
    ck_assert_int_eq(pg_shed_refuses(&shed, next, cases[_i].now_ms), cases[_i].is_refused);
}
END_TEST

/* Two callers whose writes are late do not wait for one row: whoever comes next is refused. */
START_TEST(late_writes_of_two_callers)
{
    const struct pg_shed_statement own = {.writes = true, .caller = OWN};
    const struct pg_shed_statement other = {.writes = true, .caller = OTHER};
    const struct pg_shed_statement third = {.writes = true, .caller = 3};
    struct pg_shed shed = {.what = PG_SHED_NOTHING};

    pg_shed_begin(&shed, (struct pg_shed_statement){.writes = false}, 1000);
    pg_shed_begin(&shed, own, 4000);
    pg_shed_note_end(&shed, 4000);
    ck_assert(!pg_shed_refuses(&shed, third, 4000));
    pg_shed_begin(&shed, other, 7000);
    pg_shed_note_end(&shed, 7000);
    ck_assert(pg_shed_refuses(&shed, third, 7000));
    pg_shed_begin(&shed, own, 13000);
    pg_shed_note_end(&shed, 13000);
    ck_assert(!pg_shed_refuses(&shed, third, 13000));
}
END_TEST

Suite *pg_shed_suite(void)
{
    Suite *suite = suite_create("pg/shed");
    TCase *tcase = tcase_create("shed");

    tcase_add_loop_test(tcase, shed_statements, 0, sizeof cases / sizeof cases[0]);
    tcase_add_test(tcase, late_writes_of_two_callers);
    suite_add_tcase(suite, tcase);
    return suite;
}
