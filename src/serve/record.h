/* SPDX-License-Identifier: MIT */
/* FastCGI's records, version 1: puts a request together as its bytes come, and cuts an answer into
 * records.  It knows no socket.  Of libfcgi it uses the definitions of the protocol. */
#ifndef ADIT_SERVE_RECORD_H
#define ADIT_SERVE_RECORD_H

#include <fastcgi.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/must_check.h"

#define SERVE_RECORD_HEADER_SIZE FCGI_HEADER_LEN
/* Bytes of a whole record, its header included. */
#define SERVE_RECORD_BEGIN_SIZE 16
#define SERVE_RECORD_END_SIZE 16

enum serve_record_type {
    SERVE_RECORD_BEGIN = FCGI_BEGIN_REQUEST,
    SERVE_RECORD_ABORT = FCGI_ABORT_REQUEST,
    SERVE_RECORD_END = FCGI_END_REQUEST,
    SERVE_RECORD_PARAMS = FCGI_PARAMS,
    SERVE_RECORD_STDIN = FCGI_STDIN,
    SERVE_RECORD_STDOUT = FCGI_STDOUT,
    SERVE_RECORD_STDERR = FCGI_STDERR
};

/* Bytes of variables that a request may bring.  Apache allows fewer. */
#define SERVE_PARAMS_MAX (256 * 1024)

/* Bytes of a body that are read and dropped past REQUEST_BODY_MAX, so that the peer reads the
 * answer: Apache's mod_proxy_fcgi looks for one only after it has sent everything. */
#define SERVE_RECORD_DRAIN_MAX (16 * 1024 * 1024)

/* A request on its way in.  All zero: nothing has come yet.  serve_intake_clear() frees it. */
struct serve_intake {
    uint16_t id;
    bool keep;          /* the connection, after the answer */
    bool is_authorizer; /* the role; a responder's otherwise */
    bool is_too_much;   /* more than SERVE_RECORD_DRAIN_MAX: the rest of the request is not read */
    struct buf params;  /* variables: the content of all PARAMS records */
    struct buf body;    /* content of all STDIN records, up to REQUEST_BODY_MAX + 1 bytes */
    const char *cause;  /* why it is broken: a constant */

    /* What the next bytes are. */
    enum serve_record_type awaited;
    unsigned char header[SERVE_RECORD_HEADER_SIZE];
    unsigned char begin[SERVE_RECORD_BEGIN_SIZE - SERVE_RECORD_HEADER_SIZE];
    size_t header_len;
    size_t content_len;   /* of the record */
    size_t content_taken; /* of that */
    size_t padding_left;
    size_t dropped; /* of the body */
};

enum serve_progress {
    SERVE_PART,  /* more bytes must come */
    SERVE_WHOLE, /* the request is complete */
    SERVE_BROKEN /* there is no request; intake.cause says why */
};

/* Takes in bytes, at most up to the request's end; *used says how many.  Anything but one request
 * to a responder or an authorizer is broken, and so is a request past a limit.  An authorizer's
 * request ends with its variables: no STDIN record follows (FastCGI specification 1.0, 6.3).  A
 * whole or broken intake takes no more bytes. */
MUST_CHECK enum serve_progress serve_intake_take(struct serve_intake *intake, const char *data,
                                                 size_t len, size_t *used);

/* Calls seen() with each variable of a whole request, in their order.  To be called once: it writes
 * a NUL behind each value.  A value is a C string only after this returns; it lasts as long as the
 * intake. */
typedef void serve_variable_seen(void *context, struct text name, const char *value);
void serve_intake_see(struct serve_intake *intake, serve_variable_seen *seen, void *context);

/* Finds a variable of a whole request, the last one of that name, as serve_cgi_see() does.  To be
 * called before serve_intake_see().  Returns text that lasts as long as the intake and has no NUL
 * behind it, or an absent text. */
MUST_CHECK struct text serve_intake_find(const struct serve_intake *intake, const char *name);

/* Fills in an intake that is empty but for its role with a whole request that another worker took
 * in: its variables as the content of PARAMS records, and its body.  Copies both.  Returns
 * SERVE_WHOLE, or SERVE_BROKEN if they are malformed or there is no memory. */
MUST_CHECK enum serve_progress serve_intake_refill(struct serve_intake *intake, uint16_t id,
                                                   bool keep, struct text params, struct text body);

/* Returns whether any byte of a request has come. */
MUST_CHECK bool serve_intake_begun(const struct serve_intake *intake);

/* Wipes and frees its memory: it is ready for the next request. */
void serve_intake_clear(struct serve_intake *intake);

/* The most bytes of content that a record gets here. */
#define SERVE_RECORD_PIECE_MAX 65528

/* Turns the content after the room of serve_record_begin(), and the next_len bytes that are sent
 * after it, into one record.  Together they have at most SERVE_RECORD_PIECE_MAX bytes. */
void serve_record_frame_one(struct buf *buf, enum serve_record_type type, uint16_t id,
                            size_t next_len);

/* Leaves room for the header of the first record in an empty buffer.  The content follows. */
void serve_record_begin(struct buf *buf);

/* Turns the content after that room into records of that type, with an empty one at the end.  A
 * failure is remembered in buf->failed. */
void serve_record_frame(struct buf *buf, enum serve_record_type type, uint16_t id);

/* Writes one whole END_REQUEST record: the request was answered. */
void serve_record_end(unsigned char out[SERVE_RECORD_END_SIZE], uint16_t id);

/* Writes one record without content. */
void serve_record_empty(unsigned char out[SERVE_RECORD_HEADER_SIZE], enum serve_record_type type,
                        uint16_t id);

#endif
