/* SPDX-License-Identifier: MIT */
/* For the test that prepares every statement. */
#ifndef ADIT_TESTS_STORE_HISTORY_STATEMENTS_H
#define ADIT_TESTS_STORE_HISTORY_STATEMENTS_H

#include "pg/pg.h"

/* Runs every statement of store/history and store/restore, as a superuser. */
void history_run_statements(struct pg *pg);

#endif
