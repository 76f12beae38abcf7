/* SPDX-License-Identifier: MIT */
/* Where requests come from: FastCGI on a listening socket (libfcgi), or one request as plain CGI.
 */
#ifndef ADIT_WRAP_FCGI_H
#define ADIT_WRAP_FCGI_H

#include <signal.h>
#include <stdbool.h>

#include "base/log.h"
#include "base/request.h"

struct fcgi;

/* Returns whether the process was started as a CGI program: descriptor 0 is no listening socket. */
bool fcgi_is_cgi(void);

/* Returns a source of requests from the listening socket, or NULL with errno set.  Requests name
 * the version header by version_variable ("HTTP_<NAME>_VERSION"), which must outlive it, as must
 * the log.
 *
 * SIGTERM must be blocked from before this call on, and *stop set by its handler: the wait for
 * requests is the only place that lets it in, so that it can cut no request and is never lost. */
struct fcgi *fcgi_open(int listen_fd, const char *version_variable, const struct log *log,
                       const volatile sig_atomic_t *stop);

/* Waits for a request that is there whole; nobody who is silent or slow holds the caller.  Returns
 * true with *request, which lasts until fcgi_answer(), or false once *stop is set and what had
 * arrived is answered. */
bool fcgi_next(struct fcgi *fcgi, struct request *request);

/* Sends the answer to the request, what the peer does not take at once while others are served.  A
 * peer that does not take it in time loses its connection. */
void fcgi_answer(struct fcgi *fcgi, const struct response *response);

/* Closes all connections and frees it; the listening socket stays open.  NULL is fine. */
void fcgi_close(struct fcgi *fcgi);

/* Reads the one request of a CGI program from the environment and descriptor 0; its body goes into
 * *body, which the caller frees.  Returns false where there is no request, or no memory. */
bool cgi_read(struct request *request, struct buf *body, const char *version_variable);

/* Writes the answer to descriptor 1.  Returns whether all of it could be written. */
bool cgi_answer(const struct response *response);

#endif
