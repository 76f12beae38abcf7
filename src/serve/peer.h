/* SPDX-License-Identifier: MIT */
/* A connection of a web server: a request comes in, then an answer goes out, each in any pieces.
 * A peer waits for nothing and has no deadlines. */
#ifndef ADIT_SERVE_PEER_H
#define ADIT_SERVE_PEER_H

#include "serve/record.h"
#include "serve/request.h"

struct serve_peer {
    int fd;         /* -1: none */
    bool said_more; /* it sent bytes after the end of its request */
    bool is_last;   /* its answer tells it to send no more requests */
    struct serve_intake intake;
    struct buf unsent; /* an answer */
    size_t sent;       /* bytes of it */
};

/* Room for the bytes of one read.  All peers of a worker share it. */
struct serve_chunk {
    char bytes[65536];
};

/* Closes the connection and frees what it holds. */
void serve_peer_close(struct serve_peer *peer);

/* Reads what has come, at most one chunk, so that no peer holds the worker.  Wipes the chunk.
 * Returns SERVE_BROKEN if no request can come any more: intake.cause says why, or is NULL if the
 * peer has closed the connection. */
MUST_CHECK enum serve_progress serve_peer_receive(struct serve_peer *peer,
                                                  struct serve_chunk *chunk);

/* Returns whether the web server gave up the request, which must be whole. */
MUST_CHECK bool serve_peer_gone(const struct serve_peer *peer);

/* Fills in the request, which must be whole.  To be called once for each request.  The strings last
 * until the next call for the peer. */
void serve_peer_request(struct serve_peer *peer, const struct request_wants *wants,
                        struct request *request);

/* Sets the answer, sends as much of it as the peer takes at the moment, and copies the rest.
 * serve_peer_send() tells what became of it.  is_last: the connection ends after it, even if the
 * web server keeps its connections.  Returns false without memory. */
MUST_CHECK bool serve_peer_answer(struct serve_peer *peer, const struct response *response,
                                  bool is_last);

enum serve_sent {
    SERVE_SENT,      /* all of the answer */
    SERVE_SENT_PART, /* the peer takes no more at the moment */
    SERVE_NOT_SENT   /* the connection is broken */
};

/* Sends as much of the answer as the peer takes at the moment. */
MUST_CHECK enum serve_sent serve_peer_send(struct serve_peer *peer);

/* Prepares for the next request.  Returns false if the connection must be closed instead. */
MUST_CHECK bool serve_peer_next(struct serve_peer *peer);

#endif
