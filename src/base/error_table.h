/* SPDX-License-Identifier: MIT */
/* The catalogue of errors: one row per condition.  A number is never reused for another condition.
 *
 * ERROR(symbol, number, HTTP status, text): the reference prints the text.  A client reads it
 * unless the code that found the fault has a more exact message.  Numbers below 9000 are those of
 * the interface that this one mirrors.
 *
 * SERVER_ERROR(number, HTTP status, text): answers that the web server makes by itself.
 * nginx/adit.conf.in and apache/common.conf.in name them by number.  An includer need not define
 * this macro.
 *
 * make regen makes doc/errors.md from this file.
 */
#ifndef SERVER_ERROR
#define SERVER_ERROR(number, status, text)
#endif
/* clang-format off */
/* Authentication */
ERROR(AUTH_MISSING,        200, 401, "The request has no Authorization header. Send 'Authorization: Bearer <API key>'. If you sent it, the web server does not pass it to the program: tell the operator.")
ERROR(AUTH_NOT_BEARER,     201, 401, "The Authorization header does not use the Bearer scheme. Send 'Authorization: Bearer <API key>'.")
ERROR(KEY_MALFORMED,       202, 401, "The Authorization header holds no well-formed API key. Copy the whole key, and send the header once.")
ERROR(KEY_UNKNOWN,         203, 401, "The API key is unknown, expired or revoked, or its User or Bot is disabled. Ask the operator.")
/* Headers, query string and length of the body */
ERROR(CONTENT_TYPE_UNSUPPORTED, 210, 415, "The Content-Type of the body is not supported. Send 'Content-Type: application/json'.")
ERROR(BODY_NOT_EXPECTED,   211, 400, "This method takes no body. Send the request without one.")
ERROR(BODY_SHORT,          212, 400, "The body is shorter than its Content-Length. Send the whole body.")
ERROR(CONTENT_TYPE_MISSING, 216, 415, "The request has a body but no Content-Type. Send 'Content-Type: application/json'.")
ERROR(VERSION_UNSUPPORTED, 217, 400, "The requested version is not supported. Send the version header once, with the value 2.")
ERROR(VERSION_MISSING,     218, 400, "The version header is missing. Send it with the value 2.")
ERROR(QUERY_UNKNOWN,       231, 400, "The query string has a parameter that this operation does not take. Remove it.")
ERROR(QUERY_REPEATED,      232, 400, "A query parameter is given more than once. Give it once.")
ERROR(LIMIT_RANGE,         233, 400, "limit is out of range. The message says what is accepted.")
ERROR(LIMIT_NOT_NUMBER,    244, 400, "limit is not a whole number. The message says what is accepted.")
ERROR(FILTER,              250, 400, "filter is malformed. Give an expression such as obj.owner_id == \"u_123\".")
/* Body */
ERROR(BODY_NOT_JSON,       213, 400, "The body is not an acceptable JSON object. Send one object in UTF-8, as RFC 8259 defines it.")
ERROR(UNKNOWN_MEMBER,      214, 400, "The body has a member that this operation does not take. Remove it.")
ERROR(WRONG_VALUE,         215, 400, "A member has the wrong type or value.")
ERROR(AUTHORITY_ID_MALFORMED, 228, 400, "A certificate authority identifier is malformed. Use 1 to 255 characters out of A-Z a-z 0-9 . _ ~ -, but not '.' or '..'.")
/* OAuth module */
ERROR(CLIENT_SECRET_MISSING, 383, 400, "client_id is given without client_secret. Give both or neither.")
ERROR(CLIENT_ID_MISSING,   384, 400, "client_secret is given without client_id. Give both or neither.")
ERROR(SCOPES_MANAGED,      390, 400, "scopes are given without client_id and client_secret. Give both, or no scopes: the managed application takes none.")
ERROR(PROVIDERS_SEVERAL,   7036, 400, "More than one identity provider is given. Give one.")
ERROR(EMAIL_DOMAIN_MALFORMED, 7039, 400, "An email domain is not a domain name. Give a domain without a wildcard.")
ERROR(TEAM_MALFORMED,      7040, 400, "A team is malformed. Give <org>/<team>.")
ERROR(COOKIE_PREFIX_MALFORMED, 7042, 400, "cookie_prefix is malformed. Use 1 to 100 characters that RFC 6265 allows in a cookie name.")
ERROR(EMAIL_ADDRESS_MALFORMED, 7043, 400, "An email address is malformed. Give <local part>@<domain>.")
ERROR(EMAIL_ADDRESS_REPEATED, 7046, 400, "An email address is given more than once. Give it once.")
ERROR(EMAIL_DOMAIN_REPEATED, 7047, 400, "An email domain is given more than once. Give it once.")
ERROR(TEAM_REPEATED,       7048, 400, "A team is given more than once. Give it once.")
ERROR(ORGANIZATION_REPEATED, 7049, 400, "An organization is given more than once. Give it once.")
ERROR(EMAIL_ADDRESS_EMPTY, 7051, 400, "An email address is empty. Give a value.")
ERROR(EMAIL_DOMAIN_EMPTY,  7052, 400, "An email domain is empty. Give a value.")
ERROR(TEAM_EMPTY,          7053, 400, "A team is empty. Give a value.")
ERROR(ORGANIZATION_EMPTY,  7054, 400, "An organization is empty. Give a value.")
ERROR(SCOPES_TOO_MANY,     7056, 400, "There are too many scopes. Give at most 1000.")
ERROR(TEAMS_TOO_MANY,      7057, 400, "There are too many teams. Give at most 1000.")
ERROR(ORGANIZATIONS_TOO_MANY, 7058, 400, "There are too many organizations. Give at most 1000.")
ERROR(EMAIL_ADDRESSES_TOO_MANY, 7060, 400, "There are too many email addresses. Give at most 1000.")
ERROR(EMAIL_DOMAINS_TOO_MANY, 7061, 400, "There are too many email domains. Give at most 1000.")
/* Mutual TLS module */
ERROR(AUTHORITIES_TOO_MANY, 7075, 400, "There are too many certificate authorities. Give at most 1000.")
/* SSH credential */
ERROR(ACL_RULE,            600, 400, "An ACL rule is malformed. A rule is '*', 'bind:<domain>', 'bind:*.<domain>', 'bind:<host>:<port>' or 'bind:<key>=<value>'.")
ERROR(DESCRIPTION_TOO_LONG, 604, 400, "description is longer than 255 bytes.")
ERROR(METADATA_TOO_LONG,   605, 400, "metadata is longer than 4096 bytes.")
ERROR(PUBLIC_KEY_EXISTS,   609, 409, "The account already has a credential with this public key. Use that credential, or delete it first.")
ERROR(PUBLIC_KEY_MISSING,  611, 400, "public_key is missing. Give the public half of an SSH key pair.")
ERROR(PUBLIC_KEY_INVALID,  612, 400, "public_key is not an accepted public key. Give one RSA, ECDSA or Ed25519 key as PEM, RFC 4716 or an OpenSSH line.")
ERROR(NOT_ADMIN,           630, 403, "Only an admin may name another owner. Leave owner_id out.")
/* Conditions without a number in the mirrored interface */
ERROR(PATH_UNKNOWN,        9000, 404, "There is nothing at this path.")
ERROR(METHOD_NOT_ALLOWED,  9001, 405, "The path does not take this method. The Allow header lists the methods that it takes.")
ERROR(CREDENTIAL_NOT_FOUND, 9002, 404, "There is no SSH credential with this identifier.")
ERROR(OAUTH_NOT_FOUND,     9003, 404, "There is no OAuth module on this route.")
ERROR(MUTUAL_TLS_NOT_FOUND, 9004, 404, "There is no mutual TLS module on this edge.")
ERROR(KEY_READ_ONLY,       9005, 403, "The API key is read-only. Use a key that may write.")
ERROR(BODY_TOO_LARGE,      9006, 413, "The body is larger than 65536 bytes.")
ERROR(BODY_MISSING,        9007, 400, "The request has no body. Send a JSON object.")
ERROR(BODY_LONG,           9008, 400, "The body is longer than its Content-Length. Send the exact length.")
ERROR(BEFORE_ID_MALFORMED, 9009, 400, "before_id is not an identifier. Take it from next_page_uri.")
ERROR(QUERY_MALFORMED,     9010, 400, "The query string has a '%' without two hexadecimal digits, bytes that are not UTF-8, or U+0000. Percent-encode it as UTF-8.")
ERROR(OWNER_UNKNOWN,       9011, 400, "owner_id names no User or Bot of the account. Give the identifier of one.")
ERROR(OWNER_ID_MALFORMED,  9012, 400, "owner_id is not an identifier. Give the identifier of a User or Bot.")
ERROR(ID_MISMATCH,         9013, 400, "An identifier in the body differs from the one in the path. Give the same one, or leave it out.")
ERROR(PUBLIC_KEY_FIXED,    9014, 400, "public_key cannot be changed. Create a credential with the new key and delete this one.")
ERROR(OWNER_FIXED,         9015, 400, "owner_id cannot be changed. Create a credential for the new owner and delete this one.")
ERROR(ACL_TOO_MANY,        9016, 400, "There are too many ACL rules. Give at most 1000.")
ERROR(SCOPE_REPEATED,      9017, 400, "A scope is given more than once. Give it once.")
ERROR(SCOPE_EMPTY,         9018, 400, "A scope is empty. Give a value.")
ERROR(SCOPE_TOO_LONG,      9019, 400, "A scope is longer than 1024 bytes.")
ERROR(ORGANIZATION_TOO_LONG, 9020, 400, "An organization is longer than 1024 bytes.")
ERROR(CLIENT_ID_TOO_LONG,  9021, 400, "client_id is longer than 1024 bytes.")
ERROR(CLIENT_SECRET_TOO_LONG, 9022, 400, "client_secret is longer than 1024 bytes.")
ERROR(AUTHORITY_REPEATED,  9023, 400, "A certificate authority identifier is given more than once. Give it once.")
ERROR(HOST_MALFORMED,      9024, 400, "The Host header is missing or malformed. Send a host name or address, and its port if it has one.")
ERROR(MODULE_TWICE,        9025, 400, "The fields of the module are given both inside 'module' and beside it. Give them in one place.")
ERROR(PUBLIC_KEY_TOO_LONG, 9026, 400, "public_key is longer than 16384 bytes.")
/* Faults of the service */
ERROR(DATABASE_UNAVAILABLE, 9030, 503, "The service cannot reach its database. Retry after the delay in Retry-After.")
ERROR(DATABASE_READ_ONLY,  9031, 503, "The database accepts no writes at the moment. Retry after the delay in Retry-After.")
ERROR(DATABASE_TIMEOUT,    9032, 503, "The database did not answer in time. Retry after the delay in Retry-After.")
ERROR(OUTCOME_UNKNOWN,     9033, 503, "The service lost its connection to the database, or ran out of memory, during the change. The change may or may not be in effect: check before you retry.")
ERROR(SCHEMA_MISMATCH,     9034, 503, "The database schema does not match this version of Adit. The operator must run 'aditctl migrate'.")
ERROR(OUT_OF_MEMORY,       9035, 503, "The service is out of memory. Retry shortly.")
ERROR(SECRET_UNREADABLE,   9036, 500, "A stored secret cannot be decrypted. The operator finds the cause in the log, under the operation id.")
ERROR(CLIENT_GONE,         9037, 503, "The client or the web server closed the connection before the change was made. Nothing was changed.")
/* Conditional and repeated requests */
ERROR(PRECONDITION_FAILED, 9038, 412, "The resource does not match If-Match or If-None-Match. GET it again, and decide whether to retry.")
ERROR(CONDITION_MALFORMED, 9039, 400, "If-Match or If-None-Match is malformed or repeated. Send each header once, with '*' or up to 16 tags.")
ERROR(IDEMPOTENCY_KEY_MALFORMED, 9040, 400, "Idempotency-Key is malformed or repeated. Send it once, with 1 to 255 printable ASCII characters and no comma.")
ERROR(IDEMPOTENCY_KEY_REUSED, 9041, 422, "This Idempotency-Key was sent before with another body. Use a new key for each new request.")
/* Encryption of secrets */
ERROR(SECRET_NOT_SEALED,   9042, 503, "The client_secret cannot be encrypted, because the key file cannot be read. Nothing was changed. The operator finds the cause in the log, under the operation id.")
/* Overload */
ERROR(BUSY,                9063, 503, "The service is busy: the request waited too long for its turn. Nothing was changed. Retry after the delay in Retry-After.")
ERROR(ANSWERS_UNREAD,      9064, 503, "Too many answers to this account are still being sent. Read them to their end, or lower limit, then retry.")
/* Path */
ERROR(IDENTIFIER_MALFORMED, 9070, 404, "An identifier in the path is malformed. Use 1 to 255 characters out of A-Z a-z 0-9 . _ ~ -, but not '.' or '..'.")
/* Decisions for gateways */
ERROR(KEY_GATEWAY,         9071, 403, "The API key is a gateway's: it may only POST /ssh_decisions. Use another key.")
ERROR(DECISION_KEY_MISSING, 9072, 400, "Neither fingerprint nor public_key is given. Give one of them.")
ERROR(DECISION_KEY_TWICE,  9073, 400, "Both fingerprint and public_key are given. Give one of them.")
ERROR(FINGERPRINT_MALFORMED, 9074, 400, "fingerprint is malformed. Give 'SHA256:' and 43 base64 characters, as 'ssh-keygen -l' prints it.")
ERROR(TARGET_MALFORMED,    9075, 400, "target is malformed. Give '<domain>', '*.<domain>', '<host>:<port>' or '<key>=<value>'.")
ERROR(GRANTS_TOO_MANY,     9076, 409, "Too many credentials have this key, or they have too many rules. At most 1000 credentials, 16384 rules, and 4096 distinct rules of 204800 bytes in all are united. Delete some.")
/* Filters */
ERROR(FILTER_TOO_SLOW,     9077, 503, "The filter looked at too many rows: it took more than 3 s. Narrow the filter.")
/* Lists of modules and of audit events */
ERROR(AUDIT_NOT_ADMIN,     9078, 403, "Only an admin may read audit events. Use an admin's API key.")
ERROR(AFTER_ID_MALFORMED,  9079, 400, "after_id names no place in the list. Take it from next_page_uri.")
/* Keys for own credentials */
ERROR(KEY_OWN,             9080, 403, "The API key may only change SSH credentials that its User or Bot owns. Use another key.")
/* Stopping */
ERROR(DRAINING,            9081, 503, "The service on this host is about to stop. Requests are still served: send new ones to another host.")
/* Audit events */
ERROR(AUDIT_EVENT_NOT_FOUND, 9083, 404, "There is no audit event with this identifier.")
/* Volume of one key */
ERROR(KEY_FULL,            9084, 409, "The account has 1000 credentials with this public key, or 500 where the API key is one for own credentials, which is the most. Use one of them, or delete some.")
/* Owners */
ERROR(OWNER_DISABLED,      9087, 400, "owner_id names a User or Bot that is disabled. Name another owner, or have the operator enable it.")
/* Headers about the body */
ERROR(CONTENT_ENCODING,    9088, 415, "The body has a Content-Encoding, which is not supported. Send the body as it is, without that header.")
/* Members that were meant otherwise */
ERROR(ORGANIZATION_MALFORMED, 9095, 400, "An organization is malformed. Give its slug, without '@'.")
ERROR(ACL_REQUIRED,        9096, 400, "acl has no rule. This service requires rules: give at least one, or [\"*\"] to permit everything.")
/* Keys of others */
ERROR(KEY_OF_OTHERS,       9098, 409, "Another User or Bot of the account has a credential with this public key. With an API key for own credentials, you can neither create, nor change the rules of, nor delete a credential with it: use a key pair of your own, or ask an admin.")
ERROR(OWN_FULL,            9099, 409, "The User or Bot has 1000 credentials that API keys for own credentials have stored, which is the most. Delete some, or ask an admin to store more.")
/* Bugs */
ERROR(INTERNAL,            10000, 500, "The service failed because of a bug. The operator finds the cause in the log, under the operation id.")
/* Errors of the web server */
SERVER_ERROR(9050, 400, "The web server cannot parse the request. The request line, Host or another header is malformed, or a header that may appear only once is repeated.")
SERVER_ERROR(9051, 408, "The request did not arrive in time. Send it again.")
SERVER_ERROR(9052, 414, "The request line is too long. Send a shorter path or query string.")
SERVER_ERROR(9053, 429, "Too many requests arrived. Send fewer, and retry later.")
SERVER_ERROR(9054, 431, "One header, or all headers together, are too large. Send less.")
SERVER_ERROR(9055, 502, "The service cannot be reached, or closed the connection. A change may or may not be in effect: check before you retry.")
SERVER_ERROR(9056, 504, "The service did not answer in time. A change may or may not be in effect: check before you retry.")
SERVER_ERROR(9057, 500, "The web server failed. The operator finds the cause in its log.")
SERVER_ERROR(9058, 501, "The web server does not support this Transfer-Encoding. Send the body with a Content-Length, or chunked.")
SERVER_ERROR(9059, 503, "The web server is not serving requests at the moment. Retry later.")
SERVER_ERROR(9060, 505, "The web server does not support this version of HTTP. Use HTTP/1.1.")
SERVER_ERROR(9061, 403, "The web server does not pass this path on. Send a shorter path.")
SERVER_ERROR(9062, 417, "The web server does not support this Expect header. Send none, or Expect: 100-continue.")
SERVER_ERROR(9082, 403, "The web server does not answer this path to your address. Send the request from the machine itself, or ask the operator to admit your address.")
/* clang-format on */
#undef SERVER_ERROR
