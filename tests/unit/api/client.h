/* SPDX-License-Identifier: MIT */
/* What the tests of the interface ask it with. */
#ifndef ADIT_TESTS_API_CLIENT_H
#define ADIT_TESTS_API_CLIENT_H

#include "api/api.h"
#include "stub_store.h"

/* An interface over a store in memory, and one request to it at a time. */
struct client {
    struct api_settings settings;
    struct store *store;
    struct arena arena;
    struct request request;
    struct response response;
};

void client_open(struct client *client);
void client_close(struct client *client);

/* Makes a request that nothing is wrong with, from an admin; without a body where body is "". */
void client_prepare(struct client *client, const char *method, const char *path, const char *body);

/* Sends it, and checks what holds for every answer.  Returns the status. */
int client_send(struct client *client);

/* Both of them. */
int client_ask(struct client *client, const char *method, const char *path, const char *body);

/* Returns the number of the error that was answered; 0 where it was none. */
int client_error(const struct client *client);

/* Returns the body of the answer. */
const char *client_body(const struct client *client);

/* Returns whether the answer has that line of headers. */
bool client_has_header(const struct client *client, const char *line);

/* Copies the text member of that name in the answer's object into out. */
void client_member(const struct client *client, const char *name, char *out, size_t size);

#define CLIENT_KEY                                                                                 \
    "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAID5SbIpVnFfJIc9McVvd+X81MKSG/SHWfskTzyZTpF9R"
#define CLIENT_CREDENTIAL "{\"public_key\":\"" CLIENT_KEY "\"}"
#define CLIENT_OAUTH "/edges/https/e/routes/r/oauth"
#define CLIENT_MUTUAL_TLS "/edges/tls/e/mutual_tls"

#endif
