/* SPDX-License-Identifier: MIT */
/* Where requests come from: web servers that speak FastCGI on a listening socket. */
#ifndef ADIT_SERVE_SERVE_H
#define ADIT_SERVE_SERVE_H

#include <stdbool.h>

#include "base/log.h"
#include "base/must_check.h"
#include "base/wait.h"
#include "serve/request.h"

struct serve;

/* Returns whether the process was started as a CGI program: descriptor 0 is no listening socket. */
bool serve_is_cgi(void);

/* Answers a request, which lasts until it returns; the answer lasts until the next call.  Of its
 * memory, what is too much to keep is given back meanwhile. */
typedef struct response *serve_answerer(void *context, const struct request *request);

/* What the loop calls.  All of it must outlive serve_run(). */
struct serve_callbacks {
    /* Returns how long a request may keep a lane.  Neither text ends with a NUL. */
    enum request_work (*sort)(struct text method, struct text path);
    /* Answers instant requests, and refuses others.  It must not wait. */
    serve_answerer *answer_at_once;
    /* Called each time that all lanes have done what they can without waiting. */
    void (*before_wait)(void *context);
    /* Called when something can be read from what a lane has had watched. */
    void (*on_input)(void *context);
    void *context;
};

/* Makes the socket pair by which workers hand requests to each other; to be called before they are
 * started.  Returns false with errno set. */
bool serve_handover_open(int handover[2]);

/* Returns a source of requests from the listening socket, or NULL with errno set.  A handover of
 * {-1, -1} means that there is no other worker.  Requests name the version header by
 * version_variable ("HTTP_<NAME>_VERSION"), which must outlive it, as must the log.  SIGTERM must
 * be blocked: serve_run() ends when it is pending. */
struct serve *serve_open(int listen_fd, const int handover[2], const char *version_variable,
                         const struct log *log);

/* Adds a lane: as many requests as there are lanes are worked on at once, and long work takes at
 * most all lanes but one.  Sets *wait, which is how the answerer has to wait for anything; other
 * lanes go on meanwhile.  Returns false without memory. */
bool serve_add_lane(struct serve *serve, serve_answerer *answerer, void *context,
                    struct wait *wait);

/* Answers requests until SIGTERM comes, and then what had arrived.  Only a request that is there
 * whole takes a lane, and an answer leaves it at once, so that a silent or slow peer keeps no other
 * waiting.  A peer that moves no bytes in time loses its connection. */
void serve_run(struct serve *serve, const struct serve_callbacks *callbacks);

/* Closes all connections and frees it; the listening socket and the handover stay open.  NULL is
 * fine. */
void serve_close(struct serve *serve);

#endif
