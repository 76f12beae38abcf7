/* SPDX-License-Identifier: MIT */
/* A request as a web server passes it on (RFC 3875), and its answer. */
#ifndef ADIT_SERVE_REQUEST_H
#define ADIT_SERVE_REQUEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/address.h"
#include "base/buf.h"
#include "base/text.h"

/* Bytes of the largest body that is accepted. */
#define REQUEST_BODY_MAX 65536

enum body_state {
    BODY_WHOLE,
    BODY_CUT,      /* shorter than announced */
    BODY_OVERLONG, /* longer than announced */
    BODY_TOO_LARGE /* past REQUEST_BODY_MAX; its bytes were not kept */
};

/* How long a request may keep a lane. */
enum request_work {
    REQUEST_LONG,   /* it may wait in the database for others */
    REQUEST_SCAN,   /* the same, and it may read all rows of an account: few may run at a time */
    REQUEST_SHORT,  /* it reads few rows by a key */
    REQUEST_PROBE,  /* the same, and it waits behind no other request */
    REQUEST_INSTANT /* it needs neither the database nor a lane */
};

#define REQUEST_N_WORKS (REQUEST_INSTANT + 1)

/* Numbers that tell callers apart.  Nothing is checked: anybody can make a key that names an
 * account of others. */
struct request_caller {
    uint32_t account; /* the account that the key names */
    uint32_t key;     /* the whole key */
    /* The client's address, and the networks of address_widths that it is in; 0: unknown, or none.
     */
    uint32_t networks[ADDRESS_N_WIDTHS];
};

/* Variables that a program may ask for beyond those that every request has. */
#define REQUEST_MAX_OTHERS 16

/* What a program wants of requests.  All of it must outlive their source. */
struct request_wants {
    const char *version; /* the version header's variable, "HTTP_<NAME>_VERSION"; NULL: none */
    const char *const *others; /* names of further variables */
    size_t n_others;           /* at most REQUEST_MAX_OTHERS */
    bool authorizers;          /* it answers FastCGI's authorizers too */
};

/* All strings are C strings that the request's source owns.  A variable that is absent is "".  A
 * condition or an Idempotency-Key that is absent is NULL, because an empty one means something
 * else. */
struct request {
    const char *method;
    const char *path;  /* PATH_INFO: decoded by the server */
    const char *query; /* QUERY_STRING: as the client sent it */
    const char *script_name;
    const char *scheme; /* "http" or "https" */
    const char *host;   /* of the Host header */
    const char *server_name;
    const char *server_port;
    const char *remote_addr; /* REMOTE_ADDR: the client's address, as the web server says */
    const char *authorization;
    const char *version; /* of the version header */
    const char *content_type;
    const char *content_encoding; /* may be NULL: none */
    const char *origin;           /* of a browser */
    const char *preflight_method; /* Access-Control-Request-Method */
    const char *if_match;         /* may be NULL, as the next two */
    const char *if_none_match;
    const char *idempotency_key;
    const char *others[REQUEST_MAX_OTHERS]; /* as many as wanted, in that order */
    bool authorization_repeated;
    bool version_repeated;
    bool condition_repeated; /* If-Match or If-None-Match */
    bool idempotency_key_repeated;
    enum body_state body_state;
    struct text body; /* any bytes, NUL included */

    int64_t arrived_us; /* when its last byte came, on the steady clock; 0: unknown */
    /* Whom the source counts it for, if it is a scan: a number of the source's.  0: unknown. */
    uint64_t scans_for;
    bool is_authorizer; /* FastCGI's role: the web server asks whether it may answer; no body */
    bool is_at_once;    /* to be answered without the database, or refused */
    bool is_draining;   /* this host is about to stop */

    /* Returns whether the client has gone, so that nobody waits for the answer.  NULL: unknown. */
    bool (*peer_gone)(void *peer);
    /* Returns whether an answer of so many bytes may be held for this payer until the peer has read
     * it.  NULL: it may. */
    bool (*has_room)(void *peer, uint32_t payer, size_t bytes);
    void *peer;
};

/* All zero: empty.  Its owner frees the buffers. */
struct response {
    int status;         /* HTTP status */
    struct buf headers; /* lines that end in CR LF */
    struct buf body;
    bool omit_body; /* the answer to HEAD: neither body nor Content-Length */
    uint32_t payer; /* a checksum of the account that is charged for its memory; 0: none */
};

#endif
