/* SPDX-License-Identifier: MIT */
/* The suites, one for each tested file. */
#ifndef ADIT_TESTS_SUITES_H
#define ADIT_TESTS_SUITES_H

#include <check.h>

/* base */
Suite *arena_suite(void);
Suite *ascii_suite(void);
Suite *base62_suite(void);
Suite *buf_suite(void);
Suite *clock_suite(void);
Suite *error_suite(void);
Suite *ident_suite(void);
Suite *log_suite(void);
Suite *number_suite(void);
Suite *utf8_suite(void);

/* confine */
Suite *confine_calls_suite(void);

/* crypt */
Suite *crypt_suite(void);

/* json */
Suite *json_check_suite(void);
Suite *json_suite(void);
Suite *json_write_suite(void);

/* pg */
Suite *pg_connect_suite(void);
Suite *pg_files_suite(void);
Suite *pg_session_suite(void);
Suite *pg_value_suite(void);

/* serve */
Suite *cgi_suite(void);
Suite *fiber_suite(void);
Suite *fcgi_loop_suite(void);
Suite *fcgi_record_suite(void);

/* http */
Suite *header_suite(void);
Suite *names_suite(void);
Suite *precondition_suite(void);
Suite *query_suite(void);
Suite *response_suite(void);
Suite *route_suite(void);

/* model */
Suite *acl_suite(void);
Suite *domain_suite(void);
Suite *field_suite(void);
Suite *mutual_tls_suite(void);
Suite *oauth_module_suite(void);
Suite *public_key_suite(void);
Suite *ssh_credential_suite(void);

/* store */
Suite *callers_suite(void);
Suite *keyring_suite(void);
Suite *resources_suite(void);
Suite *schema_sql_suite(void);

/* api */
Suite *answers_suite(void);
Suite *dispatch_suite(void);
Suite *routes_suite(void);

#endif
