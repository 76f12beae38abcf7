/* SPDX-License-Identifier: MIT */
/* A connection of a web server: a request on its way in, then an answer on its way out, in whatever
 * pieces they go.  It waits for nothing, and knows no limits of time. */
#ifndef ADIT_SERVE_PEER_H
#define ADIT_SERVE_PEER_H

#include "serve/record.h"
#include "serve/request.h"

struct serve_peer {
    int fd;         /* -1: none */
    bool said_more; /* behind the end of its request */
    struct serve_intake intake;
    struct buf unsent; /* an answer, from sent on */
    size_t sent;
};

/* Room for what is read at once, which one peer after the other may use. */
struct serve_chunk {
    char bytes[65536];
};

/* Closes the connection and frees what it holds. */
void serve_peer_close(struct serve_peer *peer);

/* Reads what has come, once, so that nobody who sends much holds the worker.  Returns SERVE_BROKEN
 * where no request can come any more: with intake.cause, or without it where the peer has simply
 * gone. */
enum serve_progress serve_peer_receive(struct serve_peer *peer, struct serve_chunk *chunk);

/* Returns whether the web server gave up the request, which is there whole. */
bool serve_peer_gone(const struct serve_peer *peer);

/* Fills in the request, which is there whole, once.  It lasts until the next call for the peer. */
void serve_peer_request(struct serve_peer *peer, const char *version_variable,
                        struct request *request);

/* Sets the answer.  Returns false without memory. */
bool serve_peer_answer(struct serve_peer *peer, const struct response *response);

/* Sends what the peer takes of it at the moment. */
enum serve_sent { SERVE_SENT, SERVE_SENT_PART, SERVE_NOT_SENT };
enum serve_sent serve_peer_send(struct serve_peer *peer);

/* Makes it ready for the next request.  Returns false where there can be none. */
bool serve_peer_next(struct serve_peer *peer);

#endif
