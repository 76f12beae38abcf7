/* SPDX-License-Identifier: MIT */
/* Where requests come from: web servers that speak FastCGI on a listening socket. */
#ifndef ADIT_WRAP_FCGI_H
#define ADIT_WRAP_FCGI_H

#include <stdbool.h>

#include "base/log.h"
#include "base/request.h"
#include "wrap/wait.h"

struct fcgi;

/* Returns whether the process was started as a CGI program: descriptor 0 is no listening socket. */
bool fcgi_is_cgi(void);

/* Returns a source of requests from the listening socket, or NULL with errno set.  Requests name
 * the version header by version_variable ("HTTP_<NAME>_VERSION"), which must outlive it, as must
 * the log.  SIGTERM must be blocked: what is pending of it ends fcgi_serve(). */
struct fcgi *fcgi_open(int listen_fd, const char *version_variable, const struct log *log);

/* Answers a request, which lasts until it returns; the answer must last until the next call. */
typedef const struct response *fcgi_answerer(void *context, const struct request *request);

/* Adds a lane: as many requests as there are lanes are worked on at once.  Sets *wait, which is how
 * the answerer has to wait for anything; others go on meanwhile.  Returns false without memory. */
bool fcgi_add_lane(struct fcgi *fcgi, fcgi_answerer *answerer, void *context, struct wait *wait);

/* What all lanes share.  before_wait() is called each time that all have done what they can without
 * waiting, on_input() when something can be read from what one of them has had watched. */
struct fcgi_shared {
    void (*before_wait)(void *context);
    void (*on_input)(void *context);
    void *context;
};

/* Answers requests until SIGTERM comes, and then what had arrived.  Only a request that is there
 * whole takes a lane, and an answer leaves it at once: nobody who is silent or slow, on either way,
 * keeps others waiting, and one who stays so loses the connection. */
void fcgi_serve(struct fcgi *fcgi, const struct fcgi_shared *shared);

/* Closes all connections and frees it; the listening socket stays open.  NULL is fine. */
void fcgi_close(struct fcgi *fcgi);

#endif
