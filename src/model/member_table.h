/* SPDX-License-Identifier: MIT */
/* The members of the resources: one row each.  From here come the tables of fields and the JSON of
 * src/model, the lists of columns and parameters of src/store (by members.awk), what filters may
 * name, and what documents and the record of changes show.
 *
 * MEMBER(with, name, kind, use, fixed, shown, filter, absent, ...)
 *
 *     with    what the includer hands over
 *     name    of the member, its column and its place in the resource's struct
 *     kind    of the value, and so the type of the column:
 *             TEXT    struct text, text           BOOL      bool, boolean
 *             TEXTS   struct text_list, text[]    UINT32    uint32_t, bigint
 *             NUMBER  int64_t, bigint             TIME      int64_t in seconds, timestamptz
 *             SECRET  struct field_secret, sealed: the columns name_key_id and name_sealed
 *             PROVIDER  int, smallint: the position of the identity provider; 0, NULL: none
 *             TIME_OR_NULL  int64_t in seconds, timestamptz; 0, NULL: none.  A body's null is none
 *             A column of BOOL, UINT32, NUMBER and TIME is NOT NULL.  Beside a BOOL, UINT32 and
 *             TIME_OR_NULL that bodies change, the struct has NAME_given: whether a body gives it.
 *     use     KEY     identifies the resource in its account
 *             PATH    the same, and the resource's struct has it not
 *             CHANGE  in the bodies of POST, PUT and PATCH
 *             CREATE  in the body of POST; PATCH refuses it
 *             OWNER   the same; absent, it is the caller
 *             MADE    in no body: the responder makes it of others
 *             SERVER  in no body: PostgreSQL makes it
 *     fixed   for CREATE and OWNER, PATCH's error; else ERR_NONE
 *     shown   SHOWN   in answers, documents and the record of changes
 *             READ    in none of them, but read with them
 *             HIDDEN
 *     filter  FILTERED, a filter may name it; UNFILTERED
 *     absent  what a new row has if the body lacks it: EMPTY, an empty text or list; YES, true;
 *             ASIS, NULL, false or 0.  FILLED: as EMPTY, and statements rely on the model
 *     ...     the rest of its struct field
 *
 * The order is that of answers, of columns and of parameters.
 */
#ifndef ADIT_MODEL_MEMBER_TABLE_H
#define ADIT_MODEL_MEMBER_TABLE_H

/* clang-format off */

#define SSH_CREDENTIAL_MEMBERS(MEMBER, with)                                                       \
    MEMBER(with, id, TEXT, KEY, ERR_NONE, SHOWN, FILTERED, ASIS)                                   \
    MEMBER(with, created_at, TIME, SERVER, ERR_NONE, SHOWN, FILTERED, ASIS)                        \
    MEMBER(with, description, TEXT, CHANGE, ERR_NONE, SHOWN, FILTERED, EMPTY,                      \
           .max = 255, .too_long = ERR_DESCRIPTION_TOO_LONG)                                       \
    MEMBER(with, metadata, TEXT, CHANGE, ERR_NONE, SHOWN, FILTERED, EMPTY,                         \
           .max = 4096, .too_long = ERR_METADATA_TOO_LONG)                                         \
    MEMBER(with, public_key, TEXT, CREATE, ERR_PUBLIC_KEY_FIXED, SHOWN, UNFILTERED, ASIS,          \
           .is_secret = true, .max = PUBLIC_KEY_MAX, .too_long = ERR_PUBLIC_KEY_TOO_LONG,          \
           .empty = ERR_PUBLIC_KEY_MISSING)                                                        \
    MEMBER(with, key_type, TEXT, MADE, ERR_NONE, HIDDEN, FILTERED, ASIS)                           \
    MEMBER(with, fingerprint, TEXT, MADE, ERR_NONE, HIDDEN, FILTERED, ASIS)                        \
    MEMBER(with, acl, TEXTS, CHANGE, ERR_NONE, SHOWN, FILTERED, EMPTY,                             \
           .too_many = ERR_ACL_TOO_MANY, .valid = acl_rule_valid, .forms = ACL_RULE_FORMS,         \
           .invalid = ERR_ACL_RULE)                                                                \
    MEMBER(with, owner_id, TEXT, OWNER, ERR_OWNER_FIXED, SHOWN, FILTERED, ASIS,                    \
           .valid = field_ident_valid, .invalid = ERR_OWNER_ID_MALFORMED)                          \
    MEMBER(with, enabled, BOOL, CHANGE, ERR_NONE, SHOWN, FILTERED, YES)                            \
    MEMBER(with, revision, NUMBER, SERVER, ERR_NONE, READ, UNFILTERED, ASIS)

/* PROVIDER_MEMBER is for those of the provider's configuration.  Only a provider that has teams has
 * the last OAUTH_N_HOSTING_FIELDS. */
#define OAUTH_MODULE_MEMBERS(MEMBER, PROVIDER_MEMBER, with)                                        \
    MEMBER(with, edge_id, TEXT, PATH, ERR_NONE, HIDDEN, FILTERED, ASIS)                            \
    MEMBER(with, route_id, TEXT, PATH, ERR_NONE, HIDDEN, UNFILTERED, ASIS)                         \
    MEMBER(with, enabled, BOOL, CHANGE, ERR_NONE, SHOWN, FILTERED, YES)                            \
    MEMBER(with, provider, PROVIDER, CHANGE, ERR_NONE, SHOWN, UNFILTERED, ASIS)                    \
    PROVIDER_MEMBER(with, client_id, TEXT, CHANGE, ERR_NONE, SHOWN, UNFILTERED, ASIS,              \
           .max = OAUTH_TEXT_MAX, .too_long = ERR_CLIENT_ID_TOO_LONG)                              \
    PROVIDER_MEMBER(with, client_secret, SECRET, CHANGE, ERR_NONE, SHOWN, UNFILTERED, ASIS,        \
           .max = OAUTH_TEXT_MAX, .too_long = ERR_CLIENT_SECRET_TOO_LONG)                          \
    PROVIDER_MEMBER(with, scopes, TEXTS, CHANGE, ERR_NONE, SHOWN, UNFILTERED, EMPTY,               \
           .max = OAUTH_TEXT_MAX, .too_long = ERR_SCOPE_TOO_LONG, .too_many = ERR_SCOPES_TOO_MANY, \
           .empty = ERR_SCOPE_EMPTY, .repeated = ERR_SCOPE_REPEATED)                               \
    PROVIDER_MEMBER(with, email_addresses, TEXTS, CHANGE, ERR_NONE, SHOWN, FILTERED, EMPTY,        \
           .too_many = ERR_EMAIL_ADDRESSES_TOO_MANY, .empty = ERR_EMAIL_ADDRESS_EMPTY,             \
           .repeated = ERR_EMAIL_ADDRESS_REPEATED, .valid = oauth_email_address_valid,             \
           .invalid = ERR_EMAIL_ADDRESS_MALFORMED)                                                 \
    PROVIDER_MEMBER(with, email_domains, TEXTS, CHANGE, ERR_NONE, SHOWN, FILTERED, EMPTY,          \
           .too_many = ERR_EMAIL_DOMAINS_TOO_MANY, .empty = ERR_EMAIL_DOMAIN_EMPTY,                \
           .repeated = ERR_EMAIL_DOMAIN_REPEATED, .valid = email_domain_valid,                     \
           .invalid = ERR_EMAIL_DOMAIN_MALFORMED)                                                  \
    PROVIDER_MEMBER(with, teams, TEXTS, CHANGE, ERR_NONE, SHOWN, FILTERED, EMPTY,                  \
           .max = OAUTH_TEXT_MAX, .too_long = ERR_TEAM_MALFORMED, .too_many = ERR_TEAMS_TOO_MANY,  \
           .empty = ERR_TEAM_EMPTY, .repeated = ERR_TEAM_REPEATED, .valid = team_valid,            \
           .invalid = ERR_TEAM_MALFORMED)                                                          \
    PROVIDER_MEMBER(with, organizations, TEXTS, CHANGE, ERR_NONE, SHOWN, FILTERED, EMPTY,          \
           .max = OAUTH_TEXT_MAX, .too_long = ERR_ORGANIZATION_TOO_LONG,                           \
           .too_many = ERR_ORGANIZATIONS_TOO_MANY, .empty = ERR_ORGANIZATION_EMPTY,                \
           .repeated = ERR_ORGANIZATION_REPEATED, .valid = organization_valid,                     \
           .invalid = ERR_ORGANIZATION_MALFORMED)                                                  \
    MEMBER(with, options_passthrough, BOOL, CHANGE, ERR_NONE, SHOWN, UNFILTERED, ASIS)             \
    MEMBER(with, cookie_prefix, TEXT, CHANGE, ERR_NONE, SHOWN, UNFILTERED, ASIS,                   \
           .max = COOKIE_PREFIX_MAX, .too_long = ERR_COOKIE_PREFIX_MALFORMED,                      \
           .valid = cookie_prefix_valid, .invalid = ERR_COOKIE_PREFIX_MALFORMED)                   \
    MEMBER(with, inactivity_timeout, UINT32, CHANGE, ERR_NONE, SHOWN, UNFILTERED, ASIS)            \
    MEMBER(with, maximum_duration, UINT32, CHANGE, ERR_NONE, SHOWN, UNFILTERED, ASIS)              \
    MEMBER(with, auth_check_interval, UINT32, CHANGE, ERR_NONE, SHOWN, UNFILTERED, ASIS)           \
    MEMBER(with, revision, NUMBER, SERVER, ERR_NONE, READ, UNFILTERED, ASIS)

#define MUTUAL_TLS_MODULE_MEMBERS(MEMBER, with)                                                    \
    MEMBER(with, edge_id, TEXT, PATH, ERR_NONE, HIDDEN, FILTERED, ASIS)                            \
    MEMBER(with, enabled, BOOL, CHANGE, ERR_NONE, SHOWN, FILTERED, YES)                            \
    MEMBER(with, certificate_authority_ids, TEXTS, CHANGE, ERR_NONE, SHOWN, FILTERED, FILLED,      \
           .answered = "certificate_authorities", .path = "/certificate_authorities/",             \
           .too_many = ERR_AUTHORITIES_TOO_MANY, .repeated = ERR_AUTHORITY_REPEATED,               \
           .valid = field_ident_valid, .invalid = ERR_AUTHORITY_ID_MALFORMED)                      \
    MEMBER(with, revision, NUMBER, SERVER, ERR_NONE, READ, UNFILTERED, ASIS)

/* clang-format on */

#endif
