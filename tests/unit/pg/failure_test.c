/* SPDX-License-Identifier: MIT */
/* Tests of what results and texts of libpq's own mean; driver_test.c tests those of the server. */
#include "pg/failure.h"

#include <check.h>

#include "suites.h"

START_TEST(result_of_libpq_is_a_loss)
{
    PGresult *result = PQmakeEmptyPGresult(NULL, PGRES_FATAL_ERROR);
    struct error err;

    ck_assert_int_eq(pg_judge(result, &pg_plain), PG_VERDICT_LOST);
    pg_describe(&err, result, NULL, &pg_plain);
    ck_assert_int_eq(err.code, ERR_DATABASE_UNAVAILABLE);
    ck_assert_str_eq(err.sqlstate, "");
    ck_assert_str_eq(err.cause, "database: - ");
    PQclear(result);
}
END_TEST

START_TEST(good_results)
{
    static const ExecStatusType good[] = {PGRES_TUPLES_OK, PGRES_COMMAND_OK, PGRES_EMPTY_QUERY};

    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
        PGresult *result = PQmakeEmptyPGresult(NULL, good[i]);

        ck_assert_int_eq(pg_judge(result, &pg_plain), PG_VERDICT_DONE);
        PQclear(result);
    }
}
END_TEST

START_TEST(memory_of_libpq)
{
    ck_assert(pg_is_own_memory("out of memory\n"));
    ck_assert(pg_is_own_memory("could not parse: Memory allocation failure"));
    ck_assert(!pg_is_own_memory("FATAL:  out of memory"));
    ck_assert(!pg_is_own_memory("connection refused"));
}
END_TEST

Suite *pg_failure_suite(void)
{
    Suite *suite = suite_create("pg/failure");
    TCase *tcase = tcase_create("failure");

    tcase_add_test(tcase, result_of_libpq_is_a_loss);
    tcase_add_test(tcase, good_results);
    tcase_add_test(tcase, memory_of_libpq);
    suite_add_tcase(suite, tcase);
    return suite;
}
