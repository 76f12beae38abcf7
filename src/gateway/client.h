/* SPDX-License-Identifier: MIT */
/* The connections over which questions come.  Everybody in the socket's group may connect, so none
 * may hold up another: their number, their bytes and their time are limited. */
#ifndef ADIT_GATEWAY_CLIENT_H
#define ADIT_GATEWAY_CLIENT_H

#include <stdint.h>

#include "base/buf.h"
#include "gateway/socket_question.h"

/* Connections at once.  One more ends the oldest one. */
#define CLIENTS_MAX 128

struct client {
    int fd;
    struct asker asker;
    int64_t deadline_ms; /* on the steady clock */
    struct buf question;
    struct buf answer;
    size_t sent;   /* bytes of the answer */
    bool is_asked; /* the question is complete */
    bool is_answered;
};

/* All connections, the oldest first.  All zero: none. */
struct clients {
    struct client items[CLIENTS_MAX];
    size_t n;
};

/* Accepts the connections that wait on the listening socket. */
void clients_accept(struct clients *clients, struct gateway *gateway, int listen_fd);

/* Reads or writes on the connection of a descriptor, as far as that goes without waiting, and
 * closes it when it is done. */
void clients_go_on(struct clients *clients, struct gateway *gateway, int fd);

/* Glances at the keys that the complete questions are about, if these are several. */
void clients_glance(const struct clients *clients, struct gateway *gateway);

/* Answers a complete question, the oldest, unless its deadline has passed.  Glances anew after a
 * poll.  Returns false if there was none. */
bool clients_answer(struct clients *clients, struct gateway *gateway);

/* Closes connections whose deadline has passed.  Returns the next deadline; INT64_MAX: none. */
int64_t clients_expire(struct clients *clients, int64_t now_ms);

/* Closes all. */
void clients_close(struct clients *clients);

#endif
