/* SPDX-License-Identifier: MIT */
/* Runs the unit tests of src/http. */
#include <stdlib.h>

#include "suites.h"

int main(void)
{
    SRunner *runner = srunner_create(header_suite());
    int n_failed;

    srunner_add_suite(runner, names_suite());
    srunner_add_suite(runner, precondition_suite());
    srunner_add_suite(runner, query_suite());
    srunner_add_suite(runner, response_suite());
    srunner_add_suite(runner, route_suite());
    srunner_run_all(runner, getenv("CK_VERBOSITY") ? CK_ENV : CK_NORMAL);
    n_failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return n_failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
