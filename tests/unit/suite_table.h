/* SPDX-License-Identifier: MIT */
/* The suites of the unit tests, one per row.  A new suite needs a row here, and its file in
 * Makefile.am.
 *
 * SUITE(function): the function that creates the suite.
 */
/* clang-format off */

/* base */
SUITE(address_suite)
SUITE(arena_suite)
SUITE(ascii_suite)
SUITE(base62_suite)
SUITE(buf_suite)
SUITE(clock_suite)
SUITE(error_suite)
SUITE(exposition_suite)
SUITE(ident_suite)
SUITE(listen_suite)
SUITE(log_suite)
SUITE(metrics_suite)
SUITE(number_suite)
SUITE(standard_fds_suite)
SUITE(time_suite)
SUITE(invisible_suite)
SUITE(utf8_suite)

/* confine */
SUITE(confine_calls_suite)

/* crypt */
SUITE(crypt_certificate_suite)
SUITE(crypt_key_suite)
SUITE(crypt_suite)

/* filter */
SUITE(filter_suite)

/* json */
SUITE(json_check_suite)
SUITE(json_suite)
SUITE(json_pieces_suite)
SUITE(json_plain_suite)
SUITE(json_write_suite)

/* pg */
SUITE(pg_ad_hoc_suite)
SUITE(pg_answer_suite)
SUITE(pg_connect_suite)
SUITE(pg_driver_suite)
SUITE(pg_failure_suite)
SUITE(pg_fence_suite)
SUITE(pg_files_suite)
SUITE(pg_nodes_suite)
SUITE(pg_operator_suite)
SUITE(pg_outage_suite)
SUITE(pg_pipeline_suite)
SUITE(pg_session_suite)
SUITE(pg_shed_suite)
SUITE(pg_value_suite)

/* nodes */
SUITE(late_nodes_suite)
SUITE(nodes_suite)

/* serve */
SUITE(serve_authorizer_suite)
SUITE(serve_cgi_suite)
SUITE(serve_connection_suite)
SUITE(serve_fiber_suite)
SUITE(serve_handover_suite)
SUITE(serve_lane_suite)
SUITE(serve_line_networks_suite)
SUITE(serve_line_suite)
SUITE(serve_line_turns_suite)
SUITE(serve_loop_suite)
SUITE(serve_record_suite)
SUITE(serve_workers_suite)

/* http */
SUITE(cors_suite)
SUITE(header_suite)
SUITE(names_suite)
SUITE(precondition_suite)
SUITE(query_suite)
SUITE(response_suite)
SUITE(route_suite)

/* model */
SUITE(acl_suite)
SUITE(audit_event_suite)
SUITE(document_suite)
SUITE(domain_suite)
SUITE(key_kind_suite)
SUITE(field_suite)
SUITE(mutual_tls_suite)
SUITE(oauth_admission_suite)
SUITE(oauth_module_suite)
SUITE(public_key_suite)
SUITE(ssh_credential_suite)
SUITE(ssh_decision_suite)
SUITE(ssh_options_suite)

/* gate */
SUITE(gate_provider_answer_suite)
SUITE(gate_call_suite)
SUITE(gate_cookie_suite)
SUITE(gate_counts_suite)
SUITE(gate_form_suite)
SUITE(gate_fetch_suite)
SUITE(gate_link_suite)
SUITE(gate_meaning_suite)
SUITE(gate_provider_suite)
SUITE(gate_html_page_suite)
SUITE(gate_recheck_suite)
SUITE(gate_rules_suite)
SUITE(gate_login_state_suite)
SUITE(gate_visitor_session_suite)
SUITE(gate_turn_suite)
SUITE(gate_waiting_suite)

/* gateway */
SUITE(gateway_authority_suite)
SUITE(gateway_client_suite)
SUITE(gateway_edges_suite)
SUITE(gateway_crowd_suite)
SUITE(gateway_edges_turn_suite)
SUITE(gateway_folder_lock_suite)
SUITE(gateway_follow_suite)
SUITE(gateway_haproxy_watch_suite)
SUITE(gateway_heavy_keys_suite)
SUITE(gateway_job_suite)
SUITE(gateway_login_suite)
SUITE(gateway_proc_suite)
SUITE(gateway_judge_feed_suite)
SUITE(gateway_judge_key_suite)
SUITE(gateway_judge_edges_suite)
SUITE(gateway_judge_nodes_suite)
SUITE(gateway_judge_volume_suite)
SUITE(gateway_ssh_session_suite)
SUITE(gateway_reload_suite)

/* keyring */
SUITE(keyring_suite)

/* store */
SUITE(callers_suite)
SUITE(gateway_suite)
SUITE(key_use_suite)
SUITE(page_rows_suite)
SUITE(resources_suite)
SUITE(schema_sql_suite)
SUITE(statements_suite)
SUITE(store_filter_suite)
SUITE(store_permission_suite)
SUITE(store_plans_suite)
SUITE(store_script_suite)
SUITE(store_document_suite)
SUITE(store_ssh_decision_suite)

/* api */
SUITE(api_metrics_suite)
SUITE(cross_origin_suite)
SUITE(answers_suite)
SUITE(dispatch_suite)
SUITE(idempotency_suite)
SUITE(page_suite)
SUITE(route_table_suite)
SUITE(routes_suite)

/* whole */
SUITE(judge_suite)
/* clang-format on */
