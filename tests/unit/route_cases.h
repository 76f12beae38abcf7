/* SPDX-License-Identifier: MIT */
/* The cases of paths, for any table of routes. */
#ifndef ADIT_TESTS_ROUTE_CASES_H
#define ADIT_TESTS_ROUTE_CASES_H

#include "cases.h"
#include "http/route.h"

/* Checks a case of paths.cases against the table. */
void route_case_check(const struct route *routes, const struct test_case *test);

#endif
