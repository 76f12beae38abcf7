/* SPDX-License-Identifier: MIT */
/* Tests of what each result does to the answer to a read. */
#include "pg/answer.h"

#include <check.h>

#include "suites.h"

static const struct pg_statement get = {.name = "get", .types = PG_BIGINT};

/* What PQgetResult() may return. */
enum what { END, PREPARED, ROWS, OTHER_ROWS, SYNC, ERROR, N_WHATS };

static PGresult *make(enum what what)
{
    static const ExecStatusType statuses[] = {[PREPARED] = PGRES_COMMAND_OK,
                                              [ROWS] = PGRES_TUPLES_OK,
                                              [OTHER_ROWS] = PGRES_TUPLES_OK,
                                              [SYNC] = PGRES_PIPELINE_SYNC,
                                              [ERROR] = PGRES_FATAL_ERROR};
    char name[] = "c";
    PGresAttDesc column = {.name = name, .format = 1, .typid = what == ROWS ? 20 : 25};
    PGresult *result = what == END ? NULL : PQmakeEmptyPGresult(NULL, statuses[what]);

    if (what == ROWS || what == OTHER_ROWS)
        ck_assert(PQsetResultAttrs(result, 1, &column));
    return result;
}

static const struct {
    enum pg_answer_state before;
    enum what what;
    enum pg_taken taken;
    enum pg_answer_state after;
} right[] = {
    {PG_ANSWER_PREPARE, PREPARED, PG_TAKEN_PART, PG_ANSWER_PREPARE_END},
    {PG_ANSWER_PREPARE, SYNC, PG_TAKEN_SYNC, PG_ANSWER_PREPARE},
    {PG_ANSWER_PREPARE_END, END, PG_TAKEN_PART, PG_ANSWER_ROWS},
    {PG_ANSWER_ROWS, ROWS, PG_TAKEN_PART, PG_ANSWER_ROWS_END},
    {PG_ANSWER_ROWS, SYNC, PG_TAKEN_SYNC, PG_ANSWER_ROWS},
    {PG_ANSWER_ROWS_END, END, PG_TAKEN_END, PG_ANSWER_OVER},
};

/* Every result in every state: all that is not listed as right is wrong and changes nothing. */
START_TEST(results_in_states)
{
    for (enum pg_answer_state before = PG_ANSWER_PREPARE; before <= PG_ANSWER_OVER; before++) {
        for (enum what what = END; what < N_WHATS; what++) {
            struct pg_answer answer = {.statement = &get, .state = before};
            enum pg_taken taken = PG_TAKEN_WRONG;
            enum pg_answer_state after = before;

            for (size_t i = 0; i < sizeof right / sizeof right[0]; i++) {
                if (right[i].before == before && right[i].what == what) {
                    taken = right[i].taken;
                    after = right[i].after;
                }
            }
            ck_assert_int_eq(pg_answer_take(&answer, make(what)), taken);
            ck_assert_int_eq(answer.state, after);
            ck_assert_int_eq(answer.rows != NULL, after == PG_ANSWER_ROWS_END && before != after);
            PQclear(answer.rows);
        }
    }
}
END_TEST

START_TEST(dropped_answer_has_no_rows)
{
    struct pg_answer answer = {.statement = &get, .state = PG_ANSWER_ROWS};

    ck_assert_int_eq(pg_answer_take(&answer, make(ROWS)), PG_TAKEN_PART);
    ck_assert_ptr_nonnull(answer.rows);
    pg_answer_drop(&answer);
    ck_assert_ptr_null(answer.rows);
    ck_assert_int_eq(answer.state, PG_ANSWER_OVER);
}
END_TEST

Suite *pg_answer_suite(void)
{
    Suite *suite = suite_create("pg/answer");
    TCase *tcase = tcase_create("answer");

    tcase_add_test(tcase, results_in_states);
    tcase_add_test(tcase, dropped_answer_has_no_rows);
    suite_add_tcase(suite, tcase);
    return suite;
}
