/* SPDX-License-Identifier: MIT */
/* The catalogue of errors: one row a condition.  A number is never used for another condition.
 *
 * ERROR(symbol, number, HTTP status, text): the text is what the reference prints and what a client
 * reads where the code that found the fault has nothing more exact to say.  Numbers below 9000 are
 * those of the interface that this one mirrors.
 *
 * SERVER_ERROR(number, HTTP status, text): what the web server answers by itself, by way of
 * nginx/adit.conf.in and apache/common.conf.in.  Whoever includes this need not define it.
 *
 * doc/errors.md is made of this file: tests/doc-guard --write.
 */
#ifndef SERVER_ERROR
#define SERVER_ERROR(number, status, text)
#endif
/* clang-format off */
/* Authentication */
ERROR(AUTH_MISSING,        200, 401, "The request has no Authorization header. Send 'Authorization: Bearer <API key>'. A web server that does not pass the header on to the program also shows as this error.")
ERROR(AUTH_NOT_BEARER,     201, 401, "The Authorization header does not use the Bearer scheme. Send 'Authorization: Bearer <API key>'.")
ERROR(KEY_MALFORMED,       202, 401, "The credential presented does not have the form of an API key. Check that it was copied whole, and that the header is sent once.")
ERROR(KEY_UNKNOWN,         203, 401, "The API key is unknown, expired or revoked. Ask the operator for a new one.")
/* The request around its body */
ERROR(CONTENT_TYPE_UNSUPPORTED, 210, 415, "The Content-Type of the body is not supported. Send 'Content-Type: application/json'.")
ERROR(BODY_NOT_EXPECTED,   211, 400, "This method takes no body. Send the request without one.")
ERROR(BODY_SHORT,          212, 400, "The body is shorter than its Content-Length announced. Send it again, whole.")
ERROR(CONTENT_TYPE_MISSING, 216, 415, "A request with a body needs a Content-Type. Send 'Content-Type: application/json'.")
ERROR(VERSION_UNSUPPORTED, 217, 400, "The version asked for is not supported. Send the version header with the value 2.")
ERROR(VERSION_MISSING,     218, 400, "The version header is missing. Send it with the value 2.")
ERROR(QUERY_UNKNOWN,       231, 400, "The query string has a parameter that this operation does not know.")
ERROR(QUERY_REPEATED,      232, 400, "A query parameter is given more than once.")
ERROR(LIMIT_RANGE,         233, 400, "limit is out of its range, 1 to 100.")
ERROR(LIMIT_NOT_NUMBER,    244, 400, "limit is not a whole number. Give 1 to 100.")
/* The body */
ERROR(BODY_NOT_JSON,       213, 400, "The body is not a JSON object that is acceptable here.")
ERROR(UNKNOWN_MEMBER,      214, 400, "The body has a member that this operation does not know.")
ERROR(WRONG_VALUE,         215, 400, "A member has the wrong type or value.")
ERROR(AUTHORITY_ID_MALFORMED, 228, 400, "A certificate authority identifier is malformed: 1 to 255 characters out of A-Z a-z 0-9 . _ ~ -, and not '.' or '..'.")
/* OAuth module */
ERROR(CLIENT_SECRET_MISSING, 383, 400, "client_id is given without client_secret. Give both or neither.")
ERROR(CLIENT_ID_MISSING,   384, 400, "client_secret is given without client_id. Give both or neither.")
ERROR(SCOPES_MANAGED,      390, 400, "scopes are given without client_id and client_secret. Scopes cannot be set on the managed application.")
ERROR(PROVIDERS_SEVERAL,   7036, 400, "More than one identity provider is given. Give one.")
ERROR(EMAIL_DOMAIN_MALFORMED, 7039, 400, "An email domain is not a domain name.")
ERROR(TEAM_MALFORMED,      7040, 400, "A team is not of the form <org>/<team>.")
ERROR(COOKIE_PREFIX_MALFORMED, 7042, 400, "cookie_prefix is not 1 to 100 characters that RFC 6265 allows in a cookie's name.")
ERROR(EMAIL_ADDRESS_MALFORMED, 7043, 400, "An email address is malformed.")
ERROR(EMAIL_ADDRESS_REPEATED, 7046, 400, "An email address is given more than once.")
ERROR(EMAIL_DOMAIN_REPEATED, 7047, 400, "An email domain is given more than once.")
ERROR(TEAM_REPEATED,       7048, 400, "A team is given more than once.")
ERROR(ORGANIZATION_REPEATED, 7049, 400, "An organization is given more than once.")
ERROR(EMAIL_ADDRESS_EMPTY, 7051, 400, "An email address is empty.")
ERROR(EMAIL_DOMAIN_EMPTY,  7052, 400, "An email domain is empty.")
ERROR(TEAM_EMPTY,          7053, 400, "A team is empty.")
ERROR(ORGANIZATION_EMPTY,  7054, 400, "An organization is empty.")
ERROR(SCOPES_TOO_MANY,     7056, 400, "There are too many scopes, at most 1000.")
ERROR(TEAMS_TOO_MANY,      7057, 400, "There are too many teams, at most 1000.")
ERROR(ORGANIZATIONS_TOO_MANY, 7058, 400, "There are too many organizations, at most 1000.")
ERROR(EMAIL_ADDRESSES_TOO_MANY, 7060, 400, "There are too many email addresses, at most 1000.")
ERROR(EMAIL_DOMAINS_TOO_MANY, 7061, 400, "There are too many email domains, at most 1000.")
/* Mutual TLS module */
ERROR(AUTHORITIES_TOO_MANY, 7075, 400, "There are too many certificate authorities, at most 1000.")
/* SSH credential */
ERROR(ACL_RULE,            600, 400, "An ACL rule is malformed. A rule is '*', 'bind:<domain>', 'bind:*.<domain>', 'bind:<host>:<port>' or 'bind:<key>=<value>'.")
ERROR(DESCRIPTION_TOO_LONG, 604, 400, "description is longer than 255 bytes.")
ERROR(METADATA_TOO_LONG,   605, 400, "metadata is longer than 4096 bytes.")
ERROR(PUBLIC_KEY_EXISTS,   609, 409, "A credential with this public key exists already in the account.")
ERROR(PUBLIC_KEY_MISSING,  611, 400, "public_key is missing. Give the public half of an SSH key pair.")
ERROR(PUBLIC_KEY_INVALID,  612, 400, "public_key is not a public key that is accepted here.")
ERROR(NOT_ADMIN,           630, 403, "Only an admin may name an owner other than itself.")
/* Conditions that have no number in the mirrored interface */
ERROR(PATH_UNKNOWN,        9000, 404, "There is nothing at this path.")
ERROR(METHOD_NOT_ALLOWED,  9001, 405, "The path does not take this method. The Allow header names those that it takes.")
ERROR(CREDENTIAL_NOT_FOUND, 9002, 404, "There is no SSH credential with this identifier.")
ERROR(OAUTH_NOT_FOUND,     9003, 404, "There is no OAuth module on this route.")
ERROR(MUTUAL_TLS_NOT_FOUND, 9004, 404, "There is no mutual TLS module on this edge.")
ERROR(KEY_READ_ONLY,       9005, 403, "The API key is read-only. Use one that may write.")
ERROR(BODY_TOO_LARGE,      9006, 413, "The body is larger than 65536 bytes.")
ERROR(BODY_MISSING,        9007, 400, "The request needs a body, a JSON object, and has none.")
ERROR(BODY_LONG,           9008, 400, "The body is longer than its Content-Length announced.")
ERROR(BEFORE_ID_MALFORMED, 9009, 400, "before_id is not an identifier.")
ERROR(QUERY_MALFORMED,     9010, 400, "The query string is malformed: a '%' without two hexadecimal digits, or bytes that are not UTF-8.")
ERROR(OWNER_UNKNOWN,       9011, 400, "owner_id names no User or Bot of the account.")
ERROR(OWNER_ID_MALFORMED,  9012, 400, "owner_id is not an identifier.")
ERROR(ID_MISMATCH,         9013, 400, "An identifier in the body differs from the one in the path.")
ERROR(PUBLIC_KEY_FIXED,    9014, 400, "public_key cannot be changed. Create a credential with the new key and delete this one.")
ERROR(OWNER_FIXED,         9015, 400, "owner_id cannot be changed. Create a credential for the new owner and delete this one.")
ERROR(ACL_TOO_MANY,        9016, 400, "There are too many ACL rules, at most 1000.")
ERROR(SCOPE_REPEATED,      9017, 400, "A scope is given more than once.")
ERROR(SCOPE_EMPTY,         9018, 400, "A scope is empty.")
ERROR(SCOPE_TOO_LONG,      9019, 400, "A scope is longer than 1024 bytes.")
ERROR(ORGANIZATION_TOO_LONG, 9020, 400, "An organization is longer than 1024 bytes.")
ERROR(CLIENT_ID_TOO_LONG,  9021, 400, "client_id is longer than 1024 bytes.")
ERROR(CLIENT_SECRET_TOO_LONG, 9022, 400, "client_secret is longer than 1024 bytes.")
ERROR(AUTHORITY_REPEATED,  9023, 400, "A certificate authority identifier is given more than once.")
ERROR(HOST_MALFORMED,      9024, 400, "The Host header is missing or malformed.")
ERROR(MODULE_TWICE,        9025, 400, "The fields of the module are given both inside 'module' and beside it. Give them in one place.")
ERROR(PUBLIC_KEY_TOO_LONG, 9026, 400, "public_key is longer than 16384 bytes.")
/* Faults of the service */
ERROR(DATABASE_UNAVAILABLE, 9030, 503, "The service cannot reach its database. Try again shortly.")
ERROR(DATABASE_READ_ONLY,  9031, 503, "The database takes no writes at the moment. Try again shortly.")
ERROR(DATABASE_TIMEOUT,    9032, 503, "The database took too long. Try again shortly.")
ERROR(OUTCOME_UNKNOWN,     9033, 503, "The connection to the database was lost, or memory ran out, while the change was made: it may or may not be in effect. Look before you try again.")
ERROR(SCHEMA_MISMATCH,     9034, 503, "The database has not the schema that this build needs. The operator has to run 'aditctl migrate'.")
ERROR(OUT_OF_MEMORY,       9035, 503, "The service is short of memory. Try again shortly.")
ERROR(SECRET_UNREADABLE,   9036, 500, "A stored secret cannot be opened. The operator finds the reason in the log, under the operation id.")
ERROR(CLIENT_GONE,         9037, 503, "The peer closed the connection before the change was made, and nothing was changed.")
/* Conditions on requests */
ERROR(PRECONDITION_FAILED, 9038, 412, "The resource is not what If-Match or If-None-Match asks for. Read it again, and decide anew.")
ERROR(CONDITION_MALFORMED, 9039, 400, "If-Match or If-None-Match is malformed, or stands twice.")
ERROR(IDEMPOTENCY_KEY_MALFORMED, 9040, 400, "Idempotency-Key is not 1 to 255 printable ASCII characters without a comma, or stands twice.")
ERROR(IDEMPOTENCY_KEY_REUSED, 9041, 422, "The Idempotency-Key was sent with another body before. Send a key of its own with each new request.")
/* Sealing secrets */
ERROR(SECRET_NOT_SEALED,   9042, 503, "The client_secret cannot be sealed, and nothing was changed: the key file cannot be read. The operator finds the reason in the log, under the operation id.")
/* A service that has too much to do */
ERROR(BUSY,                9063, 503, "The request waited too long for its turn, and nothing was changed. Try again shortly.")
ERROR(ANSWERS_UNREAD,      9064, 503, "Too many earlier answers to this account are still being sent. Read them to their end, or ask for fewer rows with limit, then try again.")
/* The path */
ERROR(IDENTIFIER_MALFORMED, 9070, 404, "An identifier in the path is malformed. An identifier has 1 to 255 characters out of A-Z a-z 0-9 . _ ~ -, and is not '.' or '..'.")
/* A bug */
ERROR(INTERNAL,            10000, 500, "The service failed in a way that is a bug. The operator finds the reason in the log, under the operation id.")
/* Errors of the web server */
SERVER_ERROR(9050, 400, "The web server cannot read the request: its request line, its Host or another header is malformed, or a header that stands once is repeated.")
SERVER_ERROR(9051, 408, "The request did not arrive in time. Send it again.")
SERVER_ERROR(9052, 414, "The request line is too long. Send a shorter path or query string.")
SERVER_ERROR(9053, 429, "There are too many requests. Send fewer, and try again later.")
SERVER_ERROR(9054, 431, "A header is too large, or the headers are together. Send less.")
SERVER_ERROR(9055, 502, "The service cannot be reached or broke off. A change that was asked for may or may not be in effect: look before you try again.")
SERVER_ERROR(9056, 504, "The service did not answer in time. A change that was asked for may or may not be in effect: look before you try again.")
SERVER_ERROR(9057, 500, "The web server failed. The operator finds the reason in its log.")
SERVER_ERROR(9058, 501, "The web server does not know this Transfer-Encoding. Send the body as it is, or chunked.")
SERVER_ERROR(9059, 503, "The web server serves no requests at the moment. Try again later.")
SERVER_ERROR(9060, 505, "The web server does not speak this version of HTTP. Use HTTP/1.1.")
SERVER_ERROR(9061, 403, "The web server does not pass a path like this one on. Send a shorter one.")
SERVER_ERROR(9062, 417, "The web server does not know this expectation. Send no Expect header, or 100-continue.")
/* clang-format on */
#undef SERVER_ERROR
