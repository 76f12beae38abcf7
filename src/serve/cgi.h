/* SPDX-License-Identifier: MIT */
/* Plain CGI, and the part of it that FastCGI shares: variables in, header lines out (RFC 3875). */
#ifndef ADIT_SERVE_CGI_H
#define ADIT_SERVE_CGI_H

#include <stdbool.h>
#include <stdint.h>

#include "base/must_check.h"
#include "serve/request.h"

/* Bytes of a body that are read and dropped past REQUEST_BODY_MAX, so that the peer reads the
 * answer.  A peer that sends even more loses its connection. */
#define SERVE_CGI_DRAIN_MAX (1024 * 1024)

/* What the variables say about the request's body. */
struct serve_cgi_announced {
    bool is_given;   /* CONTENT_LENGTH is there and a number */
    uint64_t length; /* bytes */
    bool is_chunked; /* the client sent a Transfer-Encoding: there may be no length */
};

#define SERVE_CGI_N_VARIABLES 22

/* Takes the variables of a request one by one, and knows where each belongs. */
struct serve_cgi_reader {
    struct serve_cgi_variable {
        struct text name;
        const char **value;
        bool *repeated; /* of a header that must not come twice; else NULL */
    } known[SERVE_CGI_N_VARIABLES];
    bool is_seen[SERVE_CGI_N_VARIABLES]; /* it has come, perhaps empty */
    size_t n_known;
    const struct request_wants *wants;
    struct request *request;
    const char *https;
    const char *content_length;
    const char *transfer_encoding;
    const char *redirect_authorization;
};

/* Fill in the request without its body: serve_cgi_begin(), then serve_cgi_see() with each variable,
 * then serve_cgi_end().  A value must be a C string when serve_cgi_end() is called, and must
 * outlive the request.  The last variable of a name counts. */
void serve_cgi_begin(struct serve_cgi_reader *reader, struct request *request,
                     const struct request_wants *wants);
void serve_cgi_see(void *reader, struct text name, const char *value);
void serve_cgi_end(const struct serve_cgi_reader *reader, struct serve_cgi_announced *announced);

/* Does all three, with an environment of "NAME=value" strings that ends with NULL and must outlive
 * the request. */
void serve_cgi_read_variables(char *const *variables, const struct request_wants *wants,
                              struct request *request, struct serve_cgi_announced *announced);

/* Sets the state and the text of the request's body from *body, which holds up to
 * REQUEST_BODY_MAX + 1 bytes of it and must outlive the request. */
void serve_cgi_set_body(struct request *request, const struct buf *body,
                        const struct serve_cgi_announced *announced);

/* Appends the status line and the headers of an answer.  A failure is remembered in out->failed. */
void serve_cgi_write_head(struct buf *out, const struct response *response);

/* The same with the body. */
void serve_cgi_write(struct buf *out, const struct response *response);

/* Returns whether a web server runs the process as a CGI program: descriptor 0 is not a listening
 * socket.  Looks once, and returns the same from then on. */
MUST_CHECK bool serve_is_cgi(void);

/* Reads the one request of a CGI program from the environment and descriptor 0.  Its body goes into
 * *body, which the caller frees in any case.  Returns false without a request or without memory. */
MUST_CHECK bool serve_cgi_read(struct request *request, struct buf *body,
                               const struct request_wants *wants);

/* Writes the answer to descriptor 1.  Returns whether all of it was written. */
MUST_CHECK bool serve_cgi_answer(const struct response *response);

#endif
