/* SPDX-License-Identifier: MIT */
/* A client for tests of the API. */
#ifndef ADIT_TESTS_API_CLIENT_H
#define ADIT_TESTS_API_CLIENT_H

#include <check.h>

#include "api/api.h"

/* API keys: of an admin, of an ordinary User, a Bot's read-only key, a gateway's, an admin's key
 * for own credentials, a revoked key, a key of another account's admin, and a well-formed key that
 * was never issued. */
#define CLIENT_ADMIN_KEY "adit_admin0000000000000000000000000000000000000004QSU4"
#define CLIENT_MEMBER_KEY "adit_member00000000000000000000000000000000000003phblN"
#define CLIENT_READ_ONLY_KEY "adit_readonly000000000000000000000000000000000003d0YI7"
#define CLIENT_GATEWAY_KEY "adit_gateway00000000000000000000000000000000000045piAN"
#define CLIENT_OWN_KEY "adit_own00000000000000000000000000000000000000000DWbPd"
#define CLIENT_REVOKED_KEY "adit_revoked0000000000000000000000000000000000000kAoVv"
#define CLIENT_OTHER_KEY "adit_other000000000000000000000000000000000000002hdHpZ"
#define CLIENT_UNKNOWN_KEY "adit_unknown000000000000000000000000000000000000301XUl"

/* The holders of some of them. */
#define CLIENT_ADMIN_ID "usr_admin0000000000000000000000"
#define CLIENT_MEMBER_ID "usr_member000000000000000000000"
#define CLIENT_OTHER_ID "usr_other0000000000000000000000"

/* The two accounts. */
#define CLIENT_ACCOUNT_ID "ac_000000000000000000000000001"
#define CLIENT_OTHER_ACCOUNT_ID "ac_000000000000000000000000002"

/* The API over a store, and its current request. */
struct client {
    struct api_settings settings;
    struct pg *owner; /* a superuser's connection */
    struct pg *pg;    /* the store's */
    struct store *store;
    struct arena arena;
    char authorization[80];
    const char *remote_addr; /* of the requests that client_prepare() makes */
    struct request request;
    struct response response;
};

/* Adds tests with such a client: a database that their program makes once, and a key file. */
void client_add(TCase *tcase, SFun set_up, SFun tear_down);

/* Opens a client whose database has no resources. */
void client_open(struct client *client);
void client_close(struct client *client);

/* Makes every later statement of the store fail with the code and the cause CLIENT_CAUSE.  ERR_NONE
 * ends that. */
void client_fail(enum error_code code);

/* The cause of such a failure.  No answer may contain it. */
#define CLIENT_CAUSE "fault: host=db.example SQLSTATE 42601"

/* Returns a number that is another one after each change of the database. */
int64_t client_changes(const struct client *client);

/* Makes a valid request from an admin.  body "" is no body. */
void client_prepare(struct client *client, const char *method, const char *path, const char *body);

/* Sends the request, and checks the rules of every answer.  Returns the status. */
int client_send(struct client *client);

/* Calls client_prepare() and client_send(). */
int client_ask(struct client *client, const char *method, const char *path, const char *body);

/* The same with that API key. */
int client_ask_as(struct client *client, const char *key, const char *method, const char *path,
                  const char *body);

/* Returns the number of the error in the answer, or 0. */
int client_error(const struct client *client);

/* Returns the body of the answer. */
const char *client_body(const struct client *client);

/* Returns whether the answer has that header line. */
bool client_has_header(const struct client *client, const char *line);

/* Copies a string member of the answer's object to out. */
void client_member(const struct client *client, const char *name, char *out, size_t size);

#define CLIENT_KEY                                                                                 \
    "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAID5SbIpVnFfJIc9McVvd+X81MKSG/SHWfskTzyZTpF9R"
#define CLIENT_OTHER_PUBLIC_KEY                                                                    \
    "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAID5SbIpVnFfJIc9McVvd+X81MKSG/SHWfskTzyZTpF9S"
#define CLIENT_CREDENTIAL "{\"public_key\":\"" CLIENT_KEY "\"}"
#define CLIENT_FINGERPRINT "SHA256:PQ5XwsUOwKSLkInJ7UPnhscFU1uqDuqBj/D4/V75bGo"
#define CLIENT_DECISION "{\"fingerprint\":\"" CLIENT_FINGERPRINT "\"}"
#define CLIENT_OAUTH "/edges/https/e/routes/r/oauth"
#define CLIENT_MUTUAL_TLS "/edges/tls/e/mutual_tls"

#endif
