/* SPDX-License-Identifier: MIT */
/* Plain CGI, and what FastCGI has in common with it: variables in, lines of headers out (RFC 3875).
 */
#ifndef ADIT_SERVE_CGI_H
#define ADIT_SERVE_CGI_H

#include <stdbool.h>
#include <stdint.h>

#include "serve/request.h"

/* More of a body that is too large is read than is kept, so that the peer gets as far as reading
 * the answer; a peer that sends even more loses its connection. */
#define SERVE_CGI_DRAIN_MAX (1024 * 1024)

/* What the variables say of the body that comes with the request. */
struct serve_cgi_announced {
    bool is_given;   /* CONTENT_LENGTH is there and a number */
    uint64_t length; /* bytes */
    bool is_chunked; /* the client's Transfer-Encoding says so, and there may be no length */
};

/* Takes the variables of a request one by one, and knows where each belongs. */
#define SERVE_CGI_N_VARIABLES 19

struct serve_cgi_reader {
    struct serve_cgi_variable {
        struct text name;
        const char **value;
        bool *repeated; /* of a header that must not come twice; else NULL */
    } known[SERVE_CGI_N_VARIABLES];
    struct request *request;
    const char *https;
    const char *content_length;
    const char *transfer_encoding;
    const char *redirect_authorization;
};

/* Fill in the request, but for its body: serve_cgi_begin(), then serve_cgi_see() with each
 * variable, whose value is a C string by the time of serve_cgi_end() and outlives the request, then
 * serve_cgi_end(). */
void serve_cgi_begin(struct serve_cgi_reader *reader, struct request *request,
                     const char *version_variable);
void serve_cgi_see(void *reader, struct text name, const char *value);
void serve_cgi_end(const struct serve_cgi_reader *reader, struct serve_cgi_announced *announced);

/* All three, with an environment of "NAME=value" strings that ends with NULL. */
void serve_cgi_read_variables(char *const *variables, const char *version_variable,
                              struct request *request, struct serve_cgi_announced *announced);

/* Sets the state and the text of the request's body, which was read into *body up to
 * REQUEST_BODY_MAX + 1 bytes. */
void serve_cgi_set_body(struct request *request, const struct buf *body,
                        const struct serve_cgi_announced *announced);

/* Appends the status line, the headers and the body of an answer. */
void serve_cgi_write(struct buf *out, const struct response *response);

/* Reads the one request of a CGI program from the environment and descriptor 0; its body goes into
 * *body, which the caller frees.  Returns false where there is no request, or no memory. */
bool serve_cgi_read(struct request *request, struct buf *body, const char *version_variable);

/* Writes the answer to descriptor 1.  Returns whether all of it could be written. */
bool serve_cgi_answer(const struct response *response);

#endif
