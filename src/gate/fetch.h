/* SPDX-License-Identifier: MIT */
/* HTTPS requests to identity providers (libcurl), which wait in a lane: other lanes go on. */
#ifndef ADIT_GATE_FETCH_H
#define ADIT_GATE_FETCH_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/must_check.h"
#include "base/text.h"
#include "gate/authorities.h"
#include "gate/turn.h"

/* Bytes of the largest answer that is read. */
#define FETCH_ANSWER_MAX ((size_t)1024 * 1024)

struct fetcher;

/* To be called once before the workers start.  Returns false if libcurl does not work, or has
 * the TLS of another library than libssl. */
MUST_CHECK bool fetch_start(void);

/* Returns the authorities of a PEM file, or, with "", the system's, as authorities_new(). */
MUST_CHECK struct authorities *fetch_authorities(const char *ca_file);

/* Returns a fetcher for the lane of a turn, which it copies, or NULL where memory is short;
 * fetcher_free() frees it.  It takes turns with the other fetchers of the worker.  It trusts the
 * authorities, as they are at each request.  All else that is passed must outlive the fetcher. */
MUST_CHECK struct fetcher *fetcher_new(const struct turn *turn, struct turns *turns,
                                       struct authorities *authorities);

/* NULL is fine. */
void fetcher_free(struct fetcher *fetcher);

struct fetch_request {
    const char *url;     /* https only */
    struct text form;    /* body of a POST, application/x-www-form-urlencoded; absent: GET */
    struct text bearer;  /* Authorization: Bearer; absent: none */
    const char *accept;  /* media type */
    int64_t deadline_ms; /* on the steady clock */
};

struct fetch_answer {
    int status;
    struct text body;         /* in the arena */
    struct text content_type; /* in the arena; "": none */
    struct text next;         /* URL of the next page (Link, RFC 8288, rel="next"), resolved (RFC
                               * 3986); absent: none */
    bool is_limited;          /* it says when to ask again, or that no request is left */
    struct text scopes_taken; /* of which the endpoint takes one, as GitHub says; absent: unsaid */
    struct text scopes_given; /* of the token, as GitHub says; absent: unsaid */
};

/* Sends the request, follows no redirect, and verifies the server's certificate and name.  Returns
 * false with the reason in *why, static or in the arena, without any part of form, bearer or the
 * URL's query: no connection, a certificate, too late, too large. */
MUST_CHECK bool fetch(struct fetcher *fetcher, const struct fetch_request *request,
                      struct arena *arena, struct fetch_answer *answer, const char **why);

/* Returns whether a second URL is at the same scheme, host and port as a first one (RFC 6454), and
 * names no user. */
MUST_CHECK bool fetch_is_same_origin(const char *a, const char *b);

#endif
