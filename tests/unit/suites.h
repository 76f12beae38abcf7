/* SPDX-License-Identifier: MIT */
/* The functions that create the suites. */
#ifndef ADIT_TESTS_SUITES_H
#define ADIT_TESTS_SUITES_H

#include <check.h>

/* Each returns a new suite.  The runner frees it. */
#define SUITE(function) Suite *function(void);
#include "suite_table.h"
#undef SUITE

#endif
