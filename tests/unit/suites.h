/* SPDX-License-Identifier: MIT */
/* The functions that make the suites. */
#ifndef ADIT_TESTS_SUITES_H
#define ADIT_TESTS_SUITES_H

#include <check.h>

/* Each returns a new suite; the runner that it is added to frees it. */
#define SUITE(function) Suite *function(void);
#include "suite_table.h"
#undef SUITE

#endif
