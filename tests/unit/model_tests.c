/* SPDX-License-Identifier: MIT */
/* Runs the unit tests of src/model. */
#include <stdlib.h>

#include "suites.h"

int main(void)
{
    SRunner *runner = srunner_create(acl_suite());
    int n_failed;

    srunner_add_suite(runner, domain_suite());
    srunner_add_suite(runner, field_suite());
    srunner_add_suite(runner, mutual_tls_suite());
    srunner_add_suite(runner, oauth_module_suite());
    srunner_add_suite(runner, public_key_suite());
    srunner_add_suite(runner, ssh_credential_suite());
    srunner_run_all(runner, getenv("CK_VERBOSITY") ? CK_ENV : CK_NORMAL);
    n_failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return n_failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
