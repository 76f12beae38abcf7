/* SPDX-License-Identifier: MIT */
/* One request to the gate: what it asks, what is stored about its route, and its answer. */
#ifndef ADIT_GATE_GATE_CALL_H
#define ADIT_GATE_GATE_CALL_H

#include "base/error.h"
#include "base/must_check.h"
#include "gate/cookie.h"
#include "gate/counts.h"
#include "gate/gate.h"
#include "gate/html_page.h"
#include "gate/visitor_session.h"
#include "store/gate.h"

/* Who reads the answer. */
enum call_voice {
    CALL_NGINX,   /* auth_request: a status and headers */
    CALL_APACHE,  /* mod_authnz_fcgi: it passes on all but 200 */
    CALL_BROWSER, /* a page or a redirect */
};

/* How far a call is: what of struct gate_call is valid. */
enum call_phase {
    CALL_READ,      /* what was asked */
    CALL_LOOKED_UP, /* and what is stored */
    CALL_ANSWERED,  /* and the outcome; what is stored, if it was looked up */
};

/* Texts belong to the request, or to the arena of the lane. */
struct gate_call {
    enum call_phase phase;

    /* What was asked. */
    struct gate_lane *lane;
    const struct request *request;
    enum call_voice voice;
    struct text path; /* of REQUEST_URI, as the client sent it */
    struct cookies cookies;
    int64_t now;                   /* seconds since 1970 */
    struct gate_question question; /* its session_ids are filled in before it is asked */

    /* What is stored; see stored_look_up().  All empty until then. */
    struct gate_answer stored;
    struct sealed_place place;
    struct text cookie_prefix;

    struct gate_waiting waiting; /* while it waits for a provider: see waiting_follow() */

    /* What the answer is to say. */
    bool is_back;      /* the visitor comes back from the provider */
    struct text again; /* where a page's "Try again" leads; absent: to the request's own path */
    size_t outcome;    /* what it counts as, of enum counts_outcome */
};

/* Reads the variables of the request.  Returns false, with the answer made, if they do not name a
 * route. */
MUST_CHECK bool gate_call_begin(struct gate_call *call, struct gate_lane *lane,
                                const struct request *request);

/* Returns a variable of the web server. */
struct text gate_call_variable(const struct gate_call *call, enum gate_variable variable);

/* Returns whether the web server asks for the gate's metrics.  A check never does: the answer would
 * let it pass. */
bool gate_call_is_for_metrics(const struct request *request);

/* Returns whether the method asks for something and changes nothing: GET or HEAD. */
bool gate_call_is_read(const struct gate_call *call);

/* Returns whether browsers reach the route by https. */
bool gate_call_is_secure(const struct gate_call *call);

/* Appends the name of a cookie: the module's prefix and a suffix. */
void gate_call_cookie_name(const struct gate_call *call, struct buf *out, const char *suffix);

/* Moves what a buffer holds into the arena of the lane, and frees it.  Absent if memory ran out;
 * gate_call_end() knows that then. */
MUST_CHECK struct text gate_call_keep(const struct gate_call *call, struct buf *from);

/* Returns the source of the lines about this route. */
struct log_source gate_call_route_source(const struct gate_call *call);

/* Logs an event of this route.  The limit of lines is kept for each route in errors and warnings,
 * whoever meets the fault, and else for each visitor whom the lists let in, or for each address of
 * others. */
void gate_call_log(const struct gate_call *call, enum log_level level, const char *event,
                   const char *cause, const struct identity *who);

/* ---- answers ---- */

/* Lets the request pass.  who: NULL on an open route.  set_cookie: a Set-Cookie header's value;
 * absent: none. */
void gate_call_pass(struct gate_call *call, const struct identity *who, struct text set_cookie);

/* Sends the visitor to a URL, with a cookie.  An absent URL: the request cannot be sent anywhere,
 * because it is not a browser's navigation; it gets 401. */
void gate_call_send_to(struct gate_call *call, struct text url, struct text set_cookie);

/* Does not let the request pass, and shows a page where there is somebody to read it.  who: NULL:
 * nobody is signed in; else the page has a button to sign out. */
void gate_call_refuse(struct gate_call *call, enum html_page page, const struct identity *who);

/* Adds another Set-Cookie header to the answer. */
void gate_call_set_cookie(struct gate_call *call, struct text set_cookie);

/* Ends each call: if nothing has answered it, or memory ran out meanwhile, refuses it, whatever was
 * answered. */
void gate_call_end(struct gate_call *call);

#endif
