/* SPDX-License-Identifier: MIT */
/* Requests from web servers that speak FastCGI on a listening socket. */
#ifndef ADIT_SERVE_SERVE_H
#define ADIT_SERVE_SERVE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/log.h"
#include "base/metrics.h"
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
    /* Returns how long a request may keep a lane.  No text ends with a NUL. */
    enum request_work (*sort)(struct text method, struct text path, struct text query);
    /* Returns whom the header Authorization names, and REMOTE_ADDR: accounts take turns, and
     * addresses and keys have places to wait.  NULL: all requests are of one caller. */
    struct request_caller (*caller)(struct text authorization, struct text address);
    /* Answers instant requests, and refuses others.  It must not wait. */
    serve_answerer *answer_at_once;
    /* Called before the loop waits: no lane can go on. */
    void (*before_wait)(void *context);
    /* Called when a descriptor that a lane watches (struct wait) can be read from. */
    void (*on_input)(void *context);
    void *context;
    /* Returns when a chore is due: work that no request waits for.  In milliseconds on the steady
     * clock; INT64_MAX: there is none.  NULL: there never is. */
    int64_t (*chore_due_ms)(void *context);
    /* Does the chore in a lane that no request needs, with the lane's context.  It may wait as an
     * answerer does.  From before its first wait on, chore_due_ms() must return a later time:
     * otherwise the next lane begins the chore, too. */
    void (*do_chore)(void *context_of_lane);
};

/* Makes the socket pair on which workers hand requests to each other.  To be called before they
 * start; the caller closes both descriptors.  Returns false with errno set. */
MUST_CHECK bool serve_handover_open(int handover[2]);

/* Returns a connection that a worker has passed on (serve_pass_on()), or -1 if none waits at the
 * socket.  The caller closes it. */
MUST_CHECK int serve_handover_take(int socket);

/* Returns a source of requests from the listening socket, or NULL with errno set.  serve_close()
 * frees it; both sockets stay the caller's.  A handover of {-1, -1} means that there is no other
 * worker.  *wants and the log must outlive the source.  SIGTERM must be blocked: serve_run() ends
 * when it is pending.  The same holds for SIGINT if the caller blocks it. */
MUST_CHECK struct serve *serve_open(int listen_fd, const int handover[2],
                                    const struct request_wants *wants, const struct log *log);

/* Keeps the gauges of *counts, which must outlive the source.  To be called before serve_run(). */
void serve_count_in(struct serve *serve, struct metrics_slot *counts);

/* Adds a lane.  The lanes answer one request each at a time; long work takes at most all lanes but
 * one.  Sets *wait: the answerer must use it for every wait, so that other lanes go on meanwhile.
 * The context must outlive the source.  Returns false without memory, or if there are
 * SERVE_MAX_LANES already. */
MUST_CHECK bool serve_add_lane(struct serve *serve, serve_answerer *answerer, void *context,
                               struct wait *wait);

/* After SIGTERM, serve_run() goes on for drain_ms, and tells so in each request.  SIGINT, and
 * SIGTERM once the parent of serve_open() has ended, stop it at once.  Without this call, drain_ms
 * is 0. */
void serve_set_drain(struct serve *serve, int drain_ms);

/* Once it stops, the source passes its idle connections on through this socket, and ends without
 * waiting for them: see serve_handover_take().  The socket stays the caller's.  Without this call,
 * or with -1, it leaves them to the web server for a while. */
void serve_pass_on(struct serve *serve, int socket);

/* Takes over a connection that is idle, or closes it if there is no place.  To be called before
 * serve_run(). */
void serve_adopt(struct serve *serve, int fd);

/* Answers requests until SIGTERM, and then those that have arrived.  A request takes a lane once it
 * is whole, and its answer leaves the lane at once: a silent or slow peer keeps no other waiting.
 * A peer that moves no bytes in time loses its connection. */
void serve_run(struct serve *serve, const struct serve_callbacks *callbacks);

/* Closes all connections and frees the source.  The listening socket and the handover stay open.
 * NULL is fine. */
void serve_close(struct serve *serve);

#endif
