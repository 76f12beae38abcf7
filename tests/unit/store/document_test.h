/* SPDX-License-Identifier: MIT */
/* For the test that prepares every statement. */
#ifndef ADIT_TESTS_STORE_DOCUMENT_TEST_H
#define ADIT_TESTS_STORE_DOCUMENT_TEST_H

#include "pg/pg.h"

/* Runs every statement of documents. */
void document_run_statements(struct pg *pg);

#endif
