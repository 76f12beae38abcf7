/* SPDX-License-Identifier: MIT */
/* The suite of public keys. */
#ifndef ADIT_TESTS_MODEL_PUBLIC_KEY_TEST_H
#define ADIT_TESTS_MODEL_PUBLIC_KEY_TEST_H

#include <check.h>

Suite *public_key_suite(void);

#endif
