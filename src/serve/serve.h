/* SPDX-License-Identifier: MIT */
/* Requests from web servers that speak FastCGI on a listening socket. */
#ifndef ADIT_SERVE_SERVE_H
#define ADIT_SERVE_SERVE_H

#include <stdbool.h>

#include "base/log.h"
#include "base/must_check.h"
#include "base/wait.h"
#include "serve/request.h"

struct serve;

/* Answers a request, which lasts until it returns.  Never returns NULL.  The answerer owns the
 * response, which must last until the next call with the same context.  The loop empties it in
 * between, and frees memory that is too much to keep. */
typedef struct response *serve_answerer(void *context, const struct request *request);

/* What the loop calls.  All of it must outlive serve_run(). */
struct serve_callbacks {
    /* Returns how long a request may keep a lane.  Neither text ends with a NUL. */
    enum request_work (*sort)(struct text method, struct text path);
    /* Answers instant requests, and refuses others.  It must not wait. */
    serve_answerer *answer_at_once;
    /* Called before the loop waits: no lane can go on. */
    void (*before_wait)(void *context);
    /* Called when a descriptor that a lane watches (struct wait) can be read from. */
    void (*on_input)(void *context);
    void *context;
};

/* Makes the socket pair on which workers hand requests to each other.  To be called before they
 * start; the caller closes both descriptors.  Returns false with errno set. */
MUST_CHECK bool serve_handover_open(int handover[2]);

/* Returns a source of requests from the listening socket, or NULL with errno set.  serve_close()
 * frees it; both sockets stay the caller's.  A handover of {-1, -1} means that there is no other
 * worker.  version_variable ("HTTP_<NAME>_VERSION") is the variable of the version header; it and
 * the log must outlive the source.  SIGTERM must be blocked: serve_run() ends when it is pending.
 */
MUST_CHECK struct serve *serve_open(int listen_fd, const int handover[2],
                                    const char *version_variable, const struct log *log);

/* Adds a lane.  The lanes answer one request each at a time; long work takes at most all lanes but
 * one.  Sets *wait: the answerer must use it for every wait, so that other lanes go on meanwhile.
 * The context must outlive the source.  Returns false without memory, or if there are
 * SERVE_MAX_LANES already. */
MUST_CHECK bool serve_add_lane(struct serve *serve, serve_answerer *answerer, void *context,
                               struct wait *wait);

/* Answers requests until SIGTERM, and then those that have arrived.  A request takes a lane once it
 * is whole, and its answer leaves the lane at once: a silent or slow peer keeps no other waiting.
 * A peer that moves no bytes in time loses its connection. */
void serve_run(struct serve *serve, const struct serve_callbacks *callbacks);

/* Closes all connections and frees the source.  The listening socket and the handover stay open.
 * NULL is fine. */
void serve_close(struct serve *serve);

#endif
