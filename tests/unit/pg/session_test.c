/* SPDX-License-Identifier: MIT */
/* Tests of the states of a session, the names of its prepared statements, and the check of the
 * columns of a result. */
#include "pg/session.h"

#include <check.h>
#include <string.h>

#include "suites.h"

#define LONG_NAME "a_name_of_sixty_bytes_that_the_server_would_cut_with_its_hash"

START_TEST(name_follows_the_text)
{
    static const struct pg_statement one = {.name = "get", .sql = "SELECT 1"};
    static const struct pg_statement same = {.name = "get", .sql = "SELECT 1"};
    static const struct pg_statement other = {.name = "get", .sql = "SELECT 2"};
    static const struct pg_statement cut = {.name = LONG_NAME, .sql = "SELECT 1"};
    char names[4][PG_NAME_SIZE];

    pg_make_name(names[0], &one, one.sql);
    pg_make_name(names[1], &same, same.sql);
    pg_make_name(names[2], &other, other.sql);
    pg_make_name(names[3], &cut, cut.sql);
    ck_assert_str_eq(names[0], "get_199e7bca63ea84f2");
    ck_assert_str_eq(names[1], names[0]);
    ck_assert_uint_eq(strlen(names[2]), strlen(names[0]));
    ck_assert_str_ne(names[2], names[0]);
    ck_assert_str_eq(names[3] + 63 - 17, names[0] + 3);
}
END_TEST

START_TEST(statements_of_a_session)
{
    static const struct pg_statement statements[PG_MAX_PREPARED + 1];
    struct pg_prepared prepared = {.n = 0};
    char name[PG_NAME_SIZE] = "a";

    for (size_t i = 0; i <= PG_MAX_PREPARED; i++) {
        ck_assert_ptr_null(pg_prepared_name(&prepared, &statements[i]));
        pg_note_prepared(&prepared, &statements[i], name);
        name[0]++;
    }
    ck_assert_str_eq(pg_prepared_name(&prepared, &statements[0]), "a");
    ck_assert_str_eq(pg_prepared_name(&prepared, &statements[1]), "b");
    ck_assert_ptr_null(pg_prepared_name(&prepared, &statements[PG_MAX_PREPARED]));
}
END_TEST

/* ---- states ---- */

#define CLOSED PG_SESSION_CLOSED
#define OPENING PG_SESSION_OPENING
#define FENCING PG_SESSION_FENCING
#define OWN PG_SESSION_OWN
#define SHARED PG_SESSION_SHARED
#define LEFT PG_SESSION_LEFT
#define GIVEN_UP PG_SESSION_GIVEN_UP

static const struct {
    enum pg_session_state before;
    enum pg_session_event event;
    enum pg_session_state after;
} moves[] = {
    {CLOSED, PG_SESSION_OPENS, OPENING},     {GIVEN_UP, PG_SESSION_OPENS, FENCING},
    {OPENING, PG_SESSION_IS_READY, OWN},     {FENCING, PG_SESSION_IS_READY, OWN},
    {OPENING, PG_SESSION_IS_SHARED, SHARED}, {OPENING, PG_SESSION_IS_LEFT, LEFT},
    {SHARED, PG_SESSION_IS_LEFT, CLOSED},    {OPENING, PG_SESSION_CLOSES, CLOSED},
    {FENCING, PG_SESSION_CLOSES, GIVEN_UP},  {OWN, PG_SESSION_CLOSES, CLOSED},
    {SHARED, PG_SESSION_CLOSES, CLOSED},     {LEFT, PG_SESSION_CLOSES, CLOSED},
    {OPENING, PG_SESSION_IS_LATE, CLOSED},   {FENCING, PG_SESSION_IS_LATE, GIVEN_UP},
    {OWN, PG_SESSION_IS_LATE, GIVEN_UP},     {SHARED, PG_SESSION_IS_LATE, CLOSED},
    {LEFT, PG_SESSION_IS_LATE, CLOSED},
};

/* Every event in every state: what is not listed changes nothing. */
START_TEST(states)
{
    for (enum pg_session_state before = 0; before < PG_SESSION_N_STATES; before++) {
        for (enum pg_session_event event = 0; event < PG_SESSION_N_EVENTS; event++) {
            struct pg_session session = {.state = before, .identity = {.pid = 7, .started = "1"}};
            enum pg_session_state after = before;

            for (size_t i = 0; i < sizeof moves / sizeof moves[0]; i++) {
                if (moves[i].before == before && moves[i].event == event)
                    after = moves[i].after;
            }
            pg_session_move(&session, event);
            ck_assert_msg(session.state == after, "state %d, event %d: %d, not %d", before, event,
                          session.state, after);
        }
    }
}
END_TEST

START_TEST(late_session_is_given_up_by_its_identity)
{
    static const struct pg_statement statement = {.name = "get"};
    const char name[PG_NAME_SIZE] = "get_1";
    struct pg_session session = {.state = OWN, .identity = {.pid = 7, .started = "1.5"}};

    pg_note_prepared(&session.prepared, &statement, name);
    session.n_lost_names = 2;
    pg_session_move(&session, PG_SESSION_IS_LATE);
    ck_assert_int_eq(session.given_up.pid, 7);
    ck_assert_str_eq(session.given_up.started, "1.5");
    ck_assert_int_eq(session.identity.pid, 0);
    ck_assert_ptr_null(pg_prepared_name(&session.prepared, &statement));
    ck_assert_int_eq(session.n_lost_names, 0);
    /* The session that should have ended it is late too: the first one is still to be ended. */
    pg_session_move(&session, PG_SESSION_OPENS);
    session.identity.pid = 8;
    pg_session_move(&session, PG_SESSION_IS_LATE);
    ck_assert_int_eq(session.state, GIVEN_UP);
    ck_assert_int_eq(session.given_up.pid, 7);
}
END_TEST

START_TEST(late_session_without_an_identity_is_closed)
{
    struct pg_session session = {.state = OWN};

    pg_session_move(&session, PG_SESSION_IS_LATE);
    ck_assert_int_eq(session.state, CLOSED);
}
END_TEST

/* ---- columns ---- */

/* Columns by PostgreSQL's numbers of their types, 0: there is no more. */
static const struct {
    Oid types[8];
    int format;
    bool right;
} results[] = {
    {{16, 21, 23, 20, 25, 1009, 17, 1184}, 1, true},
    {{16, 21, 23, 20, 25, 1009, 17, 1184}, 0, false}, /* as text */
    {{16, 21, 23, 20, 25, 1009, 17}, 1, false},       /* one is missing */
    {{16, 21, 23, 20, 25, 1009, 17, 1114}, 1, false}, /* a timestamp without a time zone */
    {{16, 21, 23, 20, 25, 1009, 25, 1184}, 1, false}, /* text for bytea */
    {{21, 16, 23, 20, 25, 1009, 17, 1184}, 1, false}, /* another order */
    {{0}, 1, false},
};

START_TEST(columns)
{
    static const struct pg_statement statement = {
        .name = "get",
        .types = PG_BOOL PG_SMALLINT PG_INTEGER PG_BIGINT PG_TEXT PG_TEXTS PG_BYTEA PG_TIME};
    PGresult *rows = PQmakeEmptyPGresult(NULL, PGRES_TUPLES_OK);
    PGresAttDesc described[8];
    char name[] = "c";
    int n = 0;

    for (; n < 8 && results[_i].types[n]; n++)
        described[n] = (PGresAttDesc){
            .name = name, .format = results[_i].format, .typid = results[_i].types[n]};
    ck_assert(n == 0 || PQsetResultAttrs(rows, n, described));
    ck_assert_int_eq(pg_has_types(rows, &statement), results[_i].right);
    PQclear(rows);
}
END_TEST

START_TEST(more_columns_than_declared)
{
    static const struct pg_statement statement = {.name = "get", .types = PG_TEXT};
    PGresult *rows = PQmakeEmptyPGresult(NULL, PGRES_TUPLES_OK);
    char name[] = "c";
    PGresAttDesc described[] = {{.name = name, .format = 1, .typid = 25},
                                {.name = name, .format = 1, .typid = 25}};

    ck_assert(PQsetResultAttrs(rows, 2, described));
    ck_assert(!pg_has_types(rows, &statement));
    PQclear(rows);
}
END_TEST

Suite *pg_session_suite(void)
{
    Suite *suite = suite_create("pg/session");
    TCase *tcase = tcase_create("session");

    tcase_add_test(tcase, name_follows_the_text);
    tcase_add_test(tcase, statements_of_a_session);
    tcase_add_test(tcase, states);
    tcase_add_test(tcase, late_session_is_given_up_by_its_identity);
    tcase_add_test(tcase, late_session_without_an_identity_is_closed);
    tcase_add_loop_test(tcase, columns, 0, sizeof results / sizeof results[0]);
    tcase_add_test(tcase, more_columns_than_declared);
    suite_add_tcase(suite, tcase);
    return suite;
}
