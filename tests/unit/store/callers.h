/* SPDX-License-Identifier: MIT */
/* All operations of callers, for the tests of their statements. */
#ifndef ADIT_TESTS_STORE_CALLERS_H
#define ADIT_TESTS_STORE_CALLERS_H

#include "store/request.h"

/* Makes what the operations need, and runs each with a good key.  Fails the test if one fails. */
void callers_run_all(const struct store_request *request);

#endif
