/* SPDX-License-Identifier: MIT */
/* Runs the unit tests of src/pg. */
#include <stdlib.h>

#include "suites.h"

int main(void)
{
    SRunner *runner = srunner_create(pg_answer_suite());
    int n_failed;

    srunner_add_suite(runner, pg_connect_suite());
    srunner_add_suite(runner, pg_driver_suite());
    srunner_add_suite(runner, pg_failure_suite());
    srunner_add_suite(runner, pg_files_suite());
    srunner_add_suite(runner, pg_pipeline_suite());
    srunner_add_suite(runner, pg_session_suite());
    srunner_add_suite(runner, pg_shed_suite());
    srunner_add_suite(runner, pg_value_suite());
    srunner_run_all(runner, getenv("CK_VERBOSITY") ? CK_ENV : CK_NORMAL);
    n_failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return n_failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
