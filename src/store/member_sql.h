/* SPDX-License-Identifier: MIT */
/* Made from model/member_table.h by store/member_sql.awk: "make regen" makes it again.
 *
 *     N_COLUMNS, COLUMNS, TYPES   that a statement returns; row is a name and a dot
 *     NO_COLUMNS                  in their place where there is no row
 *     PROVIDER                    which of them is the position of the provider, from 0
 *     WRITTEN, VALUES             columns and values of an INSERT; owner is SQL
 *     WANTED                      the values with their names
 *     EXCLUDED                    SET of ON CONFLICT
 *     CHANGED                     SET of an UPDATE: what is not given stays
 *     PARAMS, CHANGE_PARAMS       the parameters of a row, for a call of a function
 *     PARAM_n, CHANGE_PARAM_n     the n-th parameter after them
 *
 * The first parameters are the caller's (store/executor.h); those of the row follow.  What
 * an UPDATE changes follows $4, the id. */
#ifndef ADIT_STORE_MEMBER_SQL_H
#define ADIT_STORE_MEMBER_SQL_H

/* clang-format off */

#define SSH_CREDENTIAL_N_COLUMNS 9
#define SSH_CREDENTIAL_COLUMNS(row) \
    row "id" ", " \
    row "created_at" ", " \
    row "description" ", " \
    row "metadata" ", " \
    row "public_key" ", " \
    row "acl" ", " \
    row "owner_id" ", " \
    row "enabled" ", " \
    row "revision"
#define SSH_CREDENTIAL_TYPES \
    PG_TEXT \
    PG_TIME \
    PG_TEXT \
    PG_TEXT \
    PG_TEXT \
    PG_TEXTS \
    PG_TEXT \
    PG_BOOL \
    PG_BIGINT
#define SSH_CREDENTIAL_NO_COLUMNS \
    "NULL::text COLLATE \"C\" AS listed_id" ", " \
    "NULL::timestamptz" ", " \
    "NULL::text" ", " \
    "NULL::text" ", " \
    "NULL::text" ", " \
    "NULL::text[]" ", " \
    "NULL::text COLLATE \"C\" AS listed_owner_id" ", " \
    "NULL::boolean" ", " \
    "NULL::bigint"
#define SSH_CREDENTIAL_WRITTEN(row) \
    row "id" ", " \
    row "description" ", " \
    row "metadata" ", " \
    row "public_key" ", " \
    row "key_type" ", " \
    row "fingerprint" ", " \
    row "acl" ", " \
    row "owner_id" ", " \
    row "enabled"
#define SSH_CREDENTIAL_VALUES(owner) \
    "$4::text" ", " \
    "coalesce($5::text, '')" ", " \
    "coalesce($6::text, '')" ", " \
    "$7::text" ", " \
    "$8::text" ", " \
    "$9::text" ", " \
    "coalesce($10::text[], '{}')" ", " \
    owner ", " \
    "$12::boolean"
#define SSH_CREDENTIAL_PARAMS \
    "$4::text" ", " \
    "$5::text" ", " \
    "$6::text" ", " \
    "$7::text" ", " \
    "$8::text" ", " \
    "$9::text" ", " \
    "$10::text[]" ", " \
    "$11::text" ", " \
    "$12::boolean"
#define SSH_CREDENTIAL_PARAM_1 "$13"
#define SSH_CREDENTIAL_PARAM_2 "$14"
#define SSH_CREDENTIAL_PARAM_3 "$15"
#define SSH_CREDENTIAL_PARAM_4 "$16"
#define SSH_CREDENTIAL_OWNER "$11"
#define SSH_CREDENTIAL_WANTED(owner) \
    "$4::text" " AS id" ", " \
    "coalesce($5::text, '')" " AS description" ", " \
    "coalesce($6::text, '')" " AS metadata" ", " \
    "$7::text" " AS public_key" ", " \
    "$8::text" " AS key_type" ", " \
    "$9::text" " AS fingerprint" ", " \
    "coalesce($10::text[], '{}')" " AS acl" ", " \
    owner " AS owner_id" ", " \
    "$12::boolean" " AS enabled"
#define SSH_CREDENTIAL_CHANGED(row) \
    "description = coalesce($5::text, " row "description)" ", " \
    "metadata = coalesce($6::text, " row "metadata)" ", " \
    "acl = coalesce($7::text[], " row "acl)" ", " \
    "enabled = coalesce($8::boolean, " row "enabled)"
#define SSH_CREDENTIAL_CHANGE_PARAMS \
    "$5::text" ", " \
    "$6::text" ", " \
    "$7::text[]" ", " \
    "$8::boolean"
#define SSH_CREDENTIAL_CHANGE_PARAM_1 "$9"
#define SSH_CREDENTIAL_CHANGE_PARAM_2 "$10"

#define OAUTH_MODULE_N_COLUMNS 16
#define OAUTH_MODULE_COLUMNS(row, sealed) \
    row "enabled" ", " \
    row "provider" ", " \
    row "client_id" ", " \
    row "client_secret_key_id" ", " \
    sealed ", " \
    row "scopes" ", " \
    row "email_addresses" ", " \
    row "email_domains" ", " \
    row "teams" ", " \
    row "organizations" ", " \
    row "options_passthrough" ", " \
    row "cookie_prefix" ", " \
    row "inactivity_timeout" ", " \
    row "maximum_duration" ", " \
    row "auth_check_interval" ", " \
    row "revision"
#define OAUTH_MODULE_TYPES \
    PG_BOOL \
    PG_SMALLINT \
    PG_TEXT \
    PG_TEXT \
    PG_BYTEA \
    PG_TEXTS \
    PG_TEXTS \
    PG_TEXTS \
    PG_TEXTS \
    PG_TEXTS \
    PG_BOOL \
    PG_TEXT \
    PG_BIGINT \
    PG_BIGINT \
    PG_BIGINT \
    PG_BIGINT
#define OAUTH_MODULE_NO_COLUMNS \
    "NULL::boolean" ", " \
    "NULL::smallint" ", " \
    "NULL::text" ", " \
    "NULL::text" ", " \
    "NULL::bytea" ", " \
    "NULL::text[]" ", " \
    "NULL::text[]" ", " \
    "NULL::text[]" ", " \
    "NULL::text[]" ", " \
    "NULL::text[]" ", " \
    "NULL::boolean" ", " \
    "NULL::text" ", " \
    "NULL::bigint" ", " \
    "NULL::bigint" ", " \
    "NULL::bigint" ", " \
    "NULL::bigint"
#define OAUTH_MODULE_PROVIDER 1
#define OAUTH_MODULE_WRITTEN(row) \
    row "edge_id" ", " \
    row "route_id" ", " \
    row "enabled" ", " \
    row "provider" ", " \
    row "client_id" ", " \
    row "client_secret_key_id" ", " \
    row "client_secret_sealed" ", " \
    row "scopes" ", " \
    row "email_addresses" ", " \
    row "email_domains" ", " \
    row "teams" ", " \
    row "organizations" ", " \
    row "options_passthrough" ", " \
    row "cookie_prefix" ", " \
    row "inactivity_timeout" ", " \
    row "maximum_duration" ", " \
    row "auth_check_interval"
#define OAUTH_MODULE_VALUES \
    "$4::text" ", " \
    "$5::text" ", " \
    "$6::boolean" ", " \
    "$7::smallint" ", " \
    "$8::text" ", " \
    "$9::text" ", " \
    "$10::bytea" ", " \
    "coalesce($11::text[], '{}')" ", " \
    "coalesce($12::text[], '{}')" ", " \
    "coalesce($13::text[], '{}')" ", " \
    "coalesce($14::text[], '{}')" ", " \
    "coalesce($15::text[], '{}')" ", " \
    "$16::boolean" ", " \
    "$17::text" ", " \
    "$18::bigint" ", " \
    "$19::bigint" ", " \
    "$20::bigint"
#define OAUTH_MODULE_PARAMS \
    "$4::text" ", " \
    "$5::text" ", " \
    "$6::boolean" ", " \
    "$7::smallint" ", " \
    "$8::text" ", " \
    "$9::text" ", " \
    "$10::bytea" ", " \
    "$11::text[]" ", " \
    "$12::text[]" ", " \
    "$13::text[]" ", " \
    "$14::text[]" ", " \
    "$15::text[]" ", " \
    "$16::boolean" ", " \
    "$17::text" ", " \
    "$18::bigint" ", " \
    "$19::bigint" ", " \
    "$20::bigint"
#define OAUTH_MODULE_PARAM_1 "$21"
#define OAUTH_MODULE_PARAM_2 "$22"
#define OAUTH_MODULE_PARAM_3 "$23"
#define OAUTH_MODULE_PARAM_4 "$24"
#define OAUTH_MODULE_EXCLUDED \
    "enabled = excluded.enabled" ", " \
    "provider = excluded.provider" ", " \
    "client_id = excluded.client_id" ", " \
    "client_secret_key_id = excluded.client_secret_key_id" ", " \
    "client_secret_sealed = excluded.client_secret_sealed" ", " \
    "scopes = excluded.scopes" ", " \
    "email_addresses = excluded.email_addresses" ", " \
    "email_domains = excluded.email_domains" ", " \
    "teams = excluded.teams" ", " \
    "organizations = excluded.organizations" ", " \
    "options_passthrough = excluded.options_passthrough" ", " \
    "cookie_prefix = excluded.cookie_prefix" ", " \
    "inactivity_timeout = excluded.inactivity_timeout" ", " \
    "maximum_duration = excluded.maximum_duration" ", " \
    "auth_check_interval = excluded.auth_check_interval"

#define MUTUAL_TLS_MODULE_N_COLUMNS 3
#define MUTUAL_TLS_MODULE_COLUMNS(row) \
    row "enabled" ", " \
    row "certificate_authority_ids" ", " \
    row "revision"
#define MUTUAL_TLS_MODULE_TYPES \
    PG_BOOL \
    PG_TEXTS \
    PG_BIGINT
#define MUTUAL_TLS_MODULE_NO_COLUMNS \
    "NULL::boolean" ", " \
    "NULL::text[]" ", " \
    "NULL::bigint"
#define MUTUAL_TLS_MODULE_WRITTEN(row) \
    row "edge_id" ", " \
    row "enabled" ", " \
    row "certificate_authority_ids"
#define MUTUAL_TLS_MODULE_VALUES \
    "$4::text" ", " \
    "$5::boolean" ", " \
    "$6::text[]"
#define MUTUAL_TLS_MODULE_PARAMS \
    "$4::text" ", " \
    "$5::boolean" ", " \
    "$6::text[]"
#define MUTUAL_TLS_MODULE_PARAM_1 "$7"
#define MUTUAL_TLS_MODULE_PARAM_2 "$8"
#define MUTUAL_TLS_MODULE_PARAM_3 "$9"
#define MUTUAL_TLS_MODULE_PARAM_4 "$10"
#define MUTUAL_TLS_MODULE_EXCLUDED \
    "enabled = excluded.enabled" ", " \
    "certificate_authority_ids = excluded.certificate_authority_ids"

/* clang-format on */

#endif
