/* SPDX-License-Identifier: MIT */
/* Runs the suites that are linked into this program, in the order of suite_table.h. */
#include <stdio.h>
#include <stdlib.h>

#include "suites.h"

/* Weak: a suite that belongs to another program is NULL here. */
#define SUITE(function) extern __typeof__(function) function __attribute__((weak));
#include "suite_table.h"
#undef SUITE

static Suite *(*const suites[])(void) = {
#define SUITE(function) function,
#include "suite_table.h"
#undef SUITE
};

int main(void)
{
    SRunner *runner = srunner_create(NULL);
    int n_failed;

    for (size_t i = 0; i < sizeof suites / sizeof suites[0]; i++) {
        if (suites[i])
            srunner_add_suite(runner, suites[i]());
    }
    srunner_run_all(runner, getenv("CK_VERBOSITY") ? CK_ENV : CK_NORMAL);
    n_failed = srunner_ntests_failed(runner);
    if (srunner_ntests_run(runner) == 0) {
        fputs("runner: no test has run\n", stderr);
        n_failed = 1;
    }
    srunner_free(runner);
    return n_failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
