/* SPDX-License-Identifier: MIT */
/* Within serve/: connections, the line in which whole requests wait, lanes, and the loop. */
#ifndef ADIT_SERVE_LOOP_H
#define ADIT_SERVE_LOOP_H

#include <stddef.h>
#include <stdint.h>

#include "serve/fiber.h"
#include "serve/peer.h"
#include "serve/serve.h"

#define SERVE_MAX_CONNECTIONS 128
#define SERVE_MAX_LANES 16

/* How often deadlines are looked at. */
#define SERVE_SWEEP_MS 250

/* Bytes of an answer that a buffer may keep for the next one. */
#define SERVE_KEPT_ANSWER ((size_t)256 * 1024)

/* Bytes of the largest request that workers hand over, with its head.  The kernel queues at most
 * some 200 KiB on a socket. */
#define SERVE_MESSAGE_MAX ((size_t)128 * 1024)

/* Event targets.  Connections and lanes add a serial number: one turn's events may hold one for a
 * connection that another of them has just replaced. */
#define SERVE_EVENT_FIRST_LANE UINT32_C(0x10000)
#define SERVE_EVENT_LISTENER UINT32_C(0x20000)
#define SERVE_EVENT_SIGNALS UINT32_C(0x20001)
#define SERVE_EVENT_SHARED UINT32_C(0x20002)
#define SERVE_EVENT_HANDOVER UINT32_C(0x20003)

enum serve_connection_state {
    SERVE_CONNECTION_FREE,    /* there is none */
    SERVE_CONNECTION_IDLE,    /* kept, and nothing of a next request has come */
    SERVE_CONNECTION_READING, /* a request is coming in */
    SERVE_CONNECTION_WAITING, /* its request is whole and waits for a lane */
    SERVE_CONNECTION_WORKING, /* a lane works on its request */
    SERVE_CONNECTION_SENDING, /* its answer is going out */
    SERVE_CONNECTION_N_STATES
};

struct serve_connection {
    struct serve_peer peer;
    struct serve *serve;
    enum serve_connection_state state;
    uint32_t serial;
    bool is_watched; /* epoll knows it */
    bool is_sorted;  /* work is known */
    enum request_work work;
    uint32_t payer;   /* of its answer */
    size_t charged;   /* bytes of memory that its answer takes */
    int64_t since_ms; /* when its state began */
    int64_t moved_ms; /* when bytes last went in or out */
};

enum serve_lane_state {
    SERVE_LANE_FREE,
    SERVE_LANE_RUNNING, /* on its own stack now */
    SERVE_LANE_PAUSED,  /* it waits for a descriptor, or to be woken */
    SERVE_LANE_WOKEN    /* its wait is to end */
};

struct serve_lane {
    struct serve *serve;
    struct serve_fiber *fiber;
    serve_answerer *answerer;
    void *context;
    enum serve_lane_state state;
    struct serve_connection *connection;
    struct request request;
    struct response *response; /* NULL: not yet */
    int64_t deadline_ms;       /* of its wait */
    uint32_t serial;           /* of its wait */
    bool is_in_time;           /* how its wait ended */
};

struct serve {
    int listen_fd;
    int handover[2]; /* requests go into the first and come out of the second; -1: no other worker
                      */
    int epoll_fd;
    int signal_fd; /* readable while SIGTERM is pending */
    const char *version_variable;
    const struct log *log;
    const struct serve_callbacks *callbacks;
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
    struct serve_lane lanes[SERVE_MAX_LANES];
    struct serve_lane
        *free_lanes[SERVE_MAX_LANES]; /* the last one is the next: its session is warm */
    size_t n_lanes;
    size_t n_free;
    struct serve_connection connections[SERVE_MAX_CONNECTIONS];
    size_t n_in[SERVE_CONNECTION_N_STATES];
    struct serve_connection
        *line[SERVE_MAX_CONNECTIONS]; /* those that wait, in the order of arrival */
    size_t n_line;
    size_t answers_held; /* the sum of all that is charged */
    struct serve_chunk chunk;
    char offered[SERVE_MESSAGE_MAX]; /* for a request from the handover */
};

/* ---- loop.c ---- */

/* Has epoll report these events on fd. */
bool serve_watch(const struct serve *serve, int how, int fd, uint32_t events, uint32_t id,
                 uint32_t serial);

/* The same for a descriptor that may be watched for something else already. */
bool serve_watch_anew(const struct serve *serve, int fd, uint32_t events, uint32_t id,
                      uint32_t serial);

/* ---- connection.c ---- */

/* Returns whether serve_connection_open() will find a place. */
bool serve_connection_has_place(struct serve *serve);

/* Takes over a descriptor and reads what has come.  Where all places are taken, it ends a
 * connection that is idle or has stalled.  serve_connection_has_place() must hold. */
void serve_connection_open(struct serve *serve, int fd);

/* Takes over a request that another worker has read, and since when it has waited, which is its
 * place in the line.  serve_connection_has_place() must hold. */
void serve_connection_take_over(struct serve *serve, int fd, struct serve_intake *intake,
                                int64_t since_ms);

/* Goes on with a connection that epoll reports. */
void serve_connection_attend(struct serve_connection *connection);

/* Takes the connection out of the line, to be worked on. */
void serve_connection_leave_line(struct serve_connection *connection);

/* Fills in the request, once. */
void serve_connection_request(struct serve_connection *connection, struct request *request);

/* Sends the answer, of which a copy is made, and gives back what the response holds too much. */
void serve_connection_answer(struct serve_connection *connection, struct response *response);

/* Takes the connection out of the line, and answers its request without a lane: with 503 where the
 * answer needs the database. */
void serve_connection_answer_at_once(struct serve_connection *connection);

/* Forgets a connection whose descriptor another worker has. */
void serve_connection_forget(struct serve_connection *connection);

/* Ends what has passed its deadline. */
void serve_connections_sweep(struct serve *serve, int64_t now_ms);

/* Closes it without a word. */
void serve_connection_drop(struct serve_connection *connection);

/* ---- lane.c ---- */

/* Works on requests that wait: at once, in a lane that is free for such work, or by handing over to
 * another worker those that have waited for long. */
void serve_lanes_start(struct serve *serve);

/* Resumes the lanes that were woken, and those that these wake. */
void serve_lanes_resume_woken(struct serve *serve);

/* Goes on with a lane whose descriptor epoll reports. */
void serve_lane_attend(struct serve_lane *lane, uint32_t serial);

/* Ends waits that have passed their deadline. */
void serve_lanes_sweep(struct serve *serve, int64_t now_ms);

/* Returns whether every lane is free and no request waits. */
bool serve_lanes_are_idle(const struct serve *serve);

/* Returns whether this worker should accept connections: a lane is free for any work, or none has
 * become free for so long that other work has to be let through. */
bool serve_lanes_want_more(const struct serve *serve);

/* Returns the milliseconds until a lane or the line needs the loop, at most most_ms. */
int serve_lanes_wait_ms(const struct serve *serve, int most_ms);

/* ---- handover.c ---- */

/* Returns whether a request in the line can be offered. */
bool serve_handover_fits(const struct serve_connection *connection);

/* Offers a request in the line to all workers, and takes it out of the line.  Returns false where
 * too many are offered already. */
bool serve_handover_send(struct serve_connection *connection);

/* Takes over a request that was offered.  Returns false where there is none, or no place for it. */
bool serve_handover_receive(struct serve *serve);

#endif
