/* SPDX-License-Identifier: MIT */
/* For wrap/fcgi: connections, the line in which whole requests wait, lanes, and the loop. */
#ifndef ADIT_SERVE_LOOP_H
#define ADIT_SERVE_LOOP_H

#include <stddef.h>
#include <stdint.h>

#include "serve/fiber.h"
#include "serve/peer.h"
#include "serve/serve.h"

#define FCGI_MAX_CONNECTIONS 128
#define FCGI_MAX_LANES 16

/* How often deadlines are looked at. */
#define FCGI_SWEEP_MS 250

/* Bytes of an answer that a buffer may keep for the next one. */
#define FCGI_KEPT_ANSWER ((size_t)256 * 1024)

/* Event targets.  Connections and lanes add a serial number: one turn's events may hold one for a
 * connection that another of them has just replaced. */
#define FCGI_FIRST_LANE UINT32_C(0x10000)
#define FCGI_LISTENER UINT32_C(0x20000)
#define FCGI_SIGNALS UINT32_C(0x20001)
#define FCGI_SHARED UINT32_C(0x20002)
#define FCGI_HANDOVER UINT32_C(0x20003)

enum connection_state {
    CONNECTION_FREE,    /* there is none */
    CONNECTION_IDLE,    /* kept, and nothing of a next request has come */
    CONNECTION_READING, /* a request is coming in */
    CONNECTION_WAITING, /* its request is whole and waits for a lane */
    CONNECTION_WORKING, /* a lane works on its request */
    CONNECTION_SENDING, /* its answer is going out */
    CONNECTION_N_STATES
};

struct connection {
    struct fcgi_peer peer;
    struct fcgi *fcgi;
    enum connection_state state;
    uint32_t serial;
    bool is_watched; /* epoll knows it */
    bool is_sorted;  /* work is known */
    enum fcgi_work work;
    uint32_t payer;   /* of its answer */
    size_t charged;   /* bytes of memory that its answer takes */
    int64_t since_ms; /* when its state began */
    int64_t moved_ms; /* when bytes last went in or out */
};

enum lane_state {
    LANE_FREE,
    LANE_RUNNING, /* on its own stack now */
    LANE_PAUSED,  /* it waits for a descriptor, or to be woken */
    LANE_WOKEN    /* its wait is to end */
};

struct lane {
    struct fcgi *fcgi;
    struct fiber *fiber;
    fcgi_answerer *answerer;
    void *context;
    enum lane_state state;
    struct connection *connection;
    struct request request;
    struct response *response; /* NULL: not yet */
    int64_t deadline_ms;       /* of its wait */
    uint32_t serial;           /* of its wait */
    bool is_in_time;           /* how its wait ended */
};

struct fcgi {
    int listen_fd;
    int handover[2]; /* requests go into the first and come out of the second; -1: no other worker
                      */
    int epoll_fd;
    int signal_fd; /* readable while SIGTERM is pending */
    const char *version_variable;
    const struct log *log;
    const struct fcgi_callbacks *callbacks;
    bool is_listening;
    bool is_stopping;
    bool is_offered; /* there may be something in the handover */
    bool has_grown;  /* a large answer was made since memory was last given back */
    int64_t deaf_until_ms;
    int64_t drain_until_ms; /* where it is stopping */
    int64_t sweep_ms;       /* when deadlines are looked at next */
    int64_t freed_ms;       /* when a lane last became free */
    int64_t accepted_ms;    /* when a connection was last accepted */
    uint32_t serial;
    struct lane lanes[FCGI_MAX_LANES];
    struct lane *free_lanes[FCGI_MAX_LANES]; /* the last one is the next: its session is warm */
    size_t n_lanes;
    size_t n_free;
    struct connection connections[FCGI_MAX_CONNECTIONS];
    size_t n_in[CONNECTION_N_STATES];
    struct connection *line[FCGI_MAX_CONNECTIONS]; /* those that wait, in the order of arrival */
    size_t n_line;
    size_t answers_held; /* the sum of all that is charged */
    struct fcgi_chunk chunk;
};

/* ---- fcgi.c ---- */

/* Has epoll report these events on fd. */
bool fcgi_watch(const struct fcgi *fcgi, int how, int fd, uint32_t events, uint32_t id,
                uint32_t serial);

/* The same for a descriptor that may be watched for something else already. */
bool fcgi_watch_anew(const struct fcgi *fcgi, int fd, uint32_t events, uint32_t id,
                     uint32_t serial);

/* ---- fcgi_connection.c ---- */

/* Returns whether connection_open() will find a place. */
bool connection_has_place(struct fcgi *fcgi);

/* Takes over a descriptor and reads what has come.  Where all places are taken, it ends a
 * connection that is idle or has stalled.  connection_has_place() must hold. */
void connection_open(struct fcgi *fcgi, int fd);

/* Takes over a request that another worker has read, and since when it has waited, which is its
 * place in the line.  connection_has_place() must hold. */
void connection_take_over(struct fcgi *fcgi, int fd, struct fcgi_intake *intake, int64_t since_ms);

/* Goes on with a connection that epoll reports. */
void connection_attend(struct connection *connection);

/* Takes the connection out of the line, to be worked on. */
void connection_leave_line(struct connection *connection);

/* Fills in the request, once. */
void connection_request(struct connection *connection, struct request *request);

/* Sends the answer, of which a copy is made, and gives back what the response holds too much. */
void connection_answer(struct connection *connection, struct response *response);

/* Takes the connection out of the line, and answers its request without a lane: with 503 where the
 * answer needs the database. */
void connection_answer_at_once(struct connection *connection);

/* Forgets a connection whose descriptor another worker has. */
void connection_forget(struct connection *connection);

/* Ends what has passed its deadline. */
void connection_sweep(struct fcgi *fcgi, int64_t now_ms);

/* Closes it without a word. */
void connection_drop(struct connection *connection);

/* ---- fcgi_lane.c ---- */

/* Works on requests that wait: at once, in a lane that is free for such work, or by handing over to
 * another worker those that have waited for long. */
void lanes_start(struct fcgi *fcgi);

/* Resumes the lanes that were woken, and those that these wake. */
void lanes_resume_woken(struct fcgi *fcgi);

/* Goes on with a lane whose descriptor epoll reports. */
void lane_attend(struct lane *lane, uint32_t serial);

/* Ends waits that have passed their deadline. */
void lanes_sweep(struct fcgi *fcgi, int64_t now_ms);

/* Returns whether every lane is free and no request waits. */
bool lanes_are_idle(const struct fcgi *fcgi);

/* Returns whether this worker should accept connections: a lane is free for any work, or none has
 * become free for so long that other work has to be let through. */
bool lanes_want_more(const struct fcgi *fcgi);

/* Returns the milliseconds until a lane or the line needs the loop, at most most_ms. */
int lanes_wait_ms(const struct fcgi *fcgi, int most_ms);

/* ---- fcgi_handover.c ---- */

/* Returns whether a request in the line can be offered. */
bool handover_fits(const struct connection *connection);

/* Offers a request in the line to all workers, and takes it out of the line.  Returns false where
 * too many are offered already. */
bool handover_send(struct connection *connection);

/* Takes over a request that was offered.  Returns false where there is none, or no place for it. */
bool handover_receive(struct fcgi *fcgi);

#endif
