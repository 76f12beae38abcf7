/* SPDX-License-Identifier: MIT */
/* A client for tests of the API. */
#ifndef ADIT_TESTS_API_CLIENT_H
#define ADIT_TESTS_API_CLIENT_H

#include "api/api.h"
#include "stub_store.h"

/* The API over a store in memory, and its current request. */
struct client {
    struct api_settings settings;
    struct store *store;
    struct arena arena;
    struct request request;
    struct response response;
};

void client_open(struct client *client);
void client_close(struct client *client);

/* Makes a valid request from an admin.  body "" is no body. */
void client_prepare(struct client *client, const char *method, const char *path, const char *body);

/* Sends the request, and checks the rules of every answer.  Returns the status. */
int client_send(struct client *client);

/* Calls client_prepare() and client_send(). */
int client_ask(struct client *client, const char *method, const char *path, const char *body);

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
#define CLIENT_CREDENTIAL "{\"public_key\":\"" CLIENT_KEY "\"}"
#define CLIENT_FINGERPRINT "SHA256:PQ5XwsUOwKSLkInJ7UPnhscFU1uqDuqBj/D4/V75bGo"
#define CLIENT_DECISION "{\"fingerprint\":\"" CLIENT_FINGERPRINT "\"}"
#define CLIENT_OAUTH "/edges/https/e/routes/r/oauth"
#define CLIENT_MUTUAL_TLS "/edges/tls/e/mutual_tls"

#endif
