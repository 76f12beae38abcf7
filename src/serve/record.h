/* SPDX-License-Identifier: MIT */
/* FastCGI's records, version 1: a request put together as its bytes come, and content cut into
 * records.  It knows no socket; of libfcgi, the definitions of the protocol. */
#ifndef ADIT_SERVE_RECORD_H
#define ADIT_SERVE_RECORD_H

#include <fastcgi.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

#define FCGI_HEADER_SIZE FCGI_HEADER_LEN
#define FCGI_BEGIN_SIZE 16 /* record with its header */
#define FCGI_END_SIZE 16

enum fcgi_type {
    FCGI_TYPE_BEGIN = FCGI_BEGIN_REQUEST,
    FCGI_TYPE_ABORT = FCGI_ABORT_REQUEST,
    FCGI_TYPE_END = FCGI_END_REQUEST,
    FCGI_TYPE_PARAMS = FCGI_PARAMS,
    FCGI_TYPE_STDIN = FCGI_STDIN,
    FCGI_TYPE_STDOUT = FCGI_STDOUT
};

/* Bytes of variables that a request may bring; Apache lets less through. */
#define FCGI_PARAMS_MAX (256 * 1024)

/* Bytes of a body that are read and dropped past REQUEST_BODY_MAX, so that the peer gets as far as
 * reading the answer: Apache's mod_proxy_fcgi looks for one when it has sent everything. */
#define FCGI_DRAIN_MAX (16 * 1024 * 1024)

/* A request on its way in.  All zero: nothing has come yet.  fcgi_intake_clear() frees it. */
struct fcgi_intake {
    uint16_t id;
    bool keep;         /* the connection, after the answer */
    bool is_too_much;  /* more than FCGI_DRAIN_MAX: the rest of the request was not read */
    struct buf params; /* variables: the content of all PARAMS records */
    struct buf body;   /* content of all STDIN records, up to REQUEST_BODY_MAX + 1 bytes */
    const char *cause; /* why it is broken */

    /* What the next bytes are. */
    enum fcgi_type awaited;
    unsigned char header[FCGI_HEADER_SIZE];
    unsigned char begin[FCGI_BEGIN_SIZE - FCGI_HEADER_SIZE];
    size_t header_len;
    size_t content_len;   /* of the record */
    size_t content_taken; /* of that */
    size_t padding_left;
    size_t dropped; /* of the body */
};

enum fcgi_progress { FCGI_PART, FCGI_WHOLE, FCGI_BROKEN };

/* Takes in bytes, at most up to the request's end, and tells in *used how many.  What is no request
 * to a responder, and nothing but that, is broken, and so is what exceeds a limit.  Once it is
 * whole or broken it takes no more. */
enum fcgi_progress fcgi_intake_take(struct fcgi_intake *intake, const char *data, size_t len,
                                    size_t *used);

/* Calls seen() with each variable of a whole request, in their order; only once, for it writes a
 * NUL behind each value, which is there when this returns.  They last as long as the intake. */
typedef void fcgi_variable_seen(void *context, struct text name, const char *value);
void fcgi_intake_see(struct fcgi_intake *intake, fcgi_variable_seen *seen, void *context);

/* Finds a variable of a whole request, the last one of that name, as cgi_see() does.  To be called
 * before fcgi_intake_see().  Returns text that lasts as long as the intake, or text that is not
 * given. */
struct text fcgi_intake_find(const struct fcgi_intake *intake, const char *name);

/* Fills in an empty intake with a request that another one took in whole: its variables as the
 * content of PARAMS records, and its body.  Returns FCGI_BROKEN with intake->cause where they are
 * malformed or there is no memory, else FCGI_WHOLE. */
enum fcgi_progress fcgi_intake_refill(struct fcgi_intake *intake, uint16_t id, bool keep,
                                      struct text params, struct text body);

/* Returns whether anything of a request has come. */
bool fcgi_intake_begun(const struct fcgi_intake *intake);

/* Makes it ready for the next request, and frees its memory. */
void fcgi_intake_clear(struct fcgi_intake *intake);

/* Turns the bytes of a buffer into records of that type, and an empty one that ends them. */
void fcgi_record_frame(struct buf *buf, enum fcgi_type type, uint16_t id);

/* Writes one whole record: the end of a request that was answered. */
void fcgi_record_end(unsigned char out[FCGI_END_SIZE], uint16_t id);

#endif
