/* SPDX-License-Identifier: MIT */
/* Runs the unit tests of src/base. */
#include <stdlib.h>

#include "suites.h"

int main(void)
{
    SRunner *runner = srunner_create(arena_suite());
    int n_failed;

    srunner_add_suite(runner, ascii_suite());
    srunner_add_suite(runner, base62_suite());
    srunner_add_suite(runner, buf_suite());
    srunner_add_suite(runner, clock_suite());
    srunner_add_suite(runner, error_suite());
    srunner_add_suite(runner, ident_suite());
    srunner_add_suite(runner, log_suite());
    srunner_add_suite(runner, number_suite());
    srunner_add_suite(runner, utf8_suite());
    srunner_run_all(runner, getenv("CK_VERBOSITY") ? CK_ENV : CK_NORMAL);
    n_failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return n_failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
