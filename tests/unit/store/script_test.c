/* SPDX-License-Identifier: MIT */
/* Tests of taking SQL scripts apart. */
#include "store/script.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "store/migrations.h"
#include "suites.h"

#define MOST 5

static const struct {
    const char *text;
    const char *statements[MOST];
} scripts[] = {
    {"", {NULL}},
    {" ;\n; -- a;b\n/* c;d */ ", {NULL}},
    {"a", {"a"}},
    {"a b;c;", {"a b", "c"}},
    {"-- x\n/* y */ a -- ;\n /* ; */ b; c", {"a -- ;\n /* ; */ b", "c"}},
    {"a 'b;''c;' d; e", {"a 'b;''c;' d", "e"}},
    {"a \"b;--\" ; c", {"a \"b;--\" ", "c"}},
    {"a $$b;'$$;c", {"a $$b;'$$", "c"}},
    {"a $b$ c; $$ d; $$ $c$ $b$;e", {"a $b$ c; $$ d; $$ $c$ $b$", "e"}},
    {"a $1; b $2", {"a $1", "b $2"}},
    {"a$b$;c$b$", {"a$b$", "c$b$"}},
    {"a - b / c;d", {"a - b / c", "d"}},
    {"a 'b;", {"a 'b;"}},
    {"a $$b;", {"a $$b;"}},
    {"a /* b;", {"a /* b;"}},
};

START_TEST(scripts_are_taken_apart)
{
    char text[100];
    char *rest = text;

    snprintf(text, sizeof text, "%s", scripts[_i].text);
    for (int i = 0; i < MOST; i++) {
        const char *statement = script_next(&rest);

        if (!scripts[_i].statements[i]) {
            ck_assert_ptr_null(statement);
            break;
        }
        ck_assert_ptr_nonnull(statement);
        ck_assert_str_eq(statement, scripts[_i].statements[i]);
    }
    ck_assert_ptr_null(script_next(&rest));
}
END_TEST

/* Each statement of the migrations begins with a verb of SQL, so none was cut. */
START_TEST(migrations_are_taken_apart)
{
    static const char *const verbs[] = {"CREATE ", "ALTER ",  "COMMENT ", "DROP ",
                                        "DO ",     "SELECT ", "INSERT ",  "UPDATE ",
                                        "DELETE ", "REVOKE ", "GRANT ",   "SET "};
    int n = 0;

    for (int i = 0; i < migrations_n + 2; i++) {
        char *text = strdup(i < migrations_n    ? migrations[i].sql
                            : i == migrations_n ? migrations_grants_sql
                                                : migrations_optional_sql);
        char *rest = text;

        for (const char *one = script_next(&rest); one; one = script_next(&rest)) {
            size_t verb = 0;

            while (verb < sizeof verbs / sizeof verbs[0] &&
                   strncmp(one, verbs[verb], strlen(verbs[verb])) != 0)
                verb++;
            ck_assert_msg(verb < sizeof verbs / sizeof verbs[0], "%.60s", one);
            n++;
        }
        free(text);
    }
    ck_assert_int_gt(n, 200);
}
END_TEST

Suite *store_script_suite(void)
{
    Suite *suite = suite_create("store/script");
    TCase *tcase = tcase_create("scripts");

    tcase_add_loop_test(tcase, scripts_are_taken_apart, 0,
                        (int)(sizeof scripts / sizeof scripts[0]));
    tcase_add_test(tcase, migrations_are_taken_apart);
    suite_add_tcase(suite, tcase);
    return suite;
}
