/* SPDX-License-Identifier: MIT */
/* Runs the unit tests of src/serve. */
#include <stdlib.h>

#include "suites.h"

int main(void)
{
    SRunner *runner = srunner_create(serve_cgi_suite());
    int n_failed;

    srunner_add_suite(runner, serve_connection_suite());
    srunner_add_suite(runner, serve_fiber_suite());
    srunner_add_suite(runner, serve_handover_suite());
    srunner_add_suite(runner, serve_lane_suite());
    srunner_add_suite(runner, serve_loop_suite());
    srunner_add_suite(runner, serve_record_suite());
    srunner_run_all(runner, getenv("CK_VERBOSITY") ? CK_ENV : CK_NORMAL);
    n_failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return n_failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
