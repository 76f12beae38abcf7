/* SPDX-License-Identifier: MIT */
/* Runs the tests of src/api over src/store and a real PostgreSQL. */
#include <stdlib.h>

#include "suites.h"

int main(void)
{
    SRunner *runner = srunner_create(idempotency_suite());
    int n_failed;

    srunner_run_all(runner, getenv("CK_VERBOSITY") ? CK_ENV : CK_NORMAL);
    n_failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return n_failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
