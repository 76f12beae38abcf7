/* SPDX-License-Identifier: MIT */
/* Within serve/: connections, the line of whole requests, lanes, and the loop.  README.md draws
 * the states. */
#ifndef ADIT_SERVE_LOOP_H
#define ADIT_SERVE_LOOP_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "serve/fiber.h"
#include "serve/peer.h"
#include "serve/serve.h"

#define SERVE_MAX_CONNECTIONS 128
#define SERVE_MAX_LANES 64

/* Accounts with the same remainder share their turn in the line, and keys their places. */
#define SERVE_N_TURNS 256

/* So many keys are known to be good: the latest of each place. */
#define SERVE_N_GOOD_KEYS 1024

/* The loop checks the deadlines of connections this often. */
#define SERVE_SWEEP_MS 250

/* The responder does not close a connection that has been idle for less: the web server may just be
 * sending a request on it.  nginx closes connections that are idle for 3 s
 * (nginx/upstream.conf.in). */
#define SERVE_LEAVE_MS 4000

/* An offered scan is left for so long to workers where it may start.  Then any worker takes it: it
 * must not keep those behind it waiting. */
#define SERVE_SCAN_LEFT_MS 50

/* A response keeps at most this many bytes of memory for the next answer. */
#define SERVE_KEPT_ANSWER ((size_t)256 * 1024)

/* Bytes of the largest request that workers hand over, with its head.  The kernel queues at most
 * some 200 KiB on a socket. */
#define SERVE_MESSAGE_MAX ((size_t)128 * 1024)

/* Event targets.  A number below SERVE_EVENT_FIRST_LANE is the index of a connection.  Events of
 * connections and lanes also carry a serial number: one batch of events may hold an event of a
 * connection that an earlier event of the batch has replaced. */
#define SERVE_EVENT_FIRST_LANE UINT32_C(0x10000)
#define SERVE_EVENT_LISTENER UINT32_C(0x20000)
#define SERVE_EVENT_SIGNALS UINT32_C(0x20001)
#define SERVE_EVENT_SHARED UINT32_C(0x20002)
#define SERVE_EVENT_HANDOVER UINT32_C(0x20003)

enum serve_connection_state {
    SERVE_CONNECTION_FREE,    /* an unused place: it has no descriptor */
    SERVE_CONNECTION_NEW,     /* accepted; no byte of its first request has come */
    SERVE_CONNECTION_IDLE,    /* kept after an answer; no byte of the next request has come */
    SERVE_CONNECTION_READING, /* part of a request has come */
    SERVE_CONNECTION_WAITING, /* its request is whole and stands in the line */
    SERVE_CONNECTION_WORKING, /* a lane, or the loop itself, answers its request */
    SERVE_CONNECTION_SENDING, /* its answer goes out */
    SERVE_CONNECTION_N_STATES
};

struct serve_connection {
    struct serve_peer peer;
    struct serve *serve;
    enum serve_connection_state state; /* serve_connection_move() alone sets it */
    uint32_t serial;
    bool is_watched; /* epoll knows its descriptor */
    bool is_sorted;  /* work is known */
    enum request_work work;
    bool was_offered;             /* its request came from another worker */
    bool has_caller;              /* caller is known */
    struct request_caller caller; /* as it says */
    uint64_t account;             /* whose turn and place its request takes, see line.c */
    uint32_t payer;               /* of its answer */
    size_t charged;               /* bytes of memory that its answer takes */
    int64_t whole_us;             /* when its request was whole, on the steady clock */
    int64_t since_ms; /* when its state began; in the line, when its request was whole */
    int64_t moved_ms; /* when bytes last came or went */
};

enum serve_lane_state {
    SERVE_LANE_FREE,
    SERVE_LANE_RUNNING, /* its own stack is in use now */
    SERVE_LANE_PAUSED,  /* waits for a descriptor, a deadline or another lane */
    SERVE_LANE_WOKEN,   /* another lane has ended its wait; the loop resumes it next */
    SERVE_LANE_DONE,    /* its answer is made; the loop takes it next */
    SERVE_LANE_N_STATES
};

struct serve_lane {
    struct serve *serve;
    struct serve_fiber *fiber;
    serve_answerer *answerer;
    void *context;
    enum serve_lane_state state;         /* serve_lane_move() alone sets it */
    struct serve_connection *connection; /* NULL: it does a chore, or is free */
    struct request request;
    struct response *response; /* once it is done */
    int64_t deadline_ms;       /* of its wait */
    uint32_t serial;           /* of its wait */
    bool is_in_time;           /* its wait ended before the deadline */
};

struct serve {
    int listen_fd;
    int handover[2]; /* requests go into the first, and come out of the second; -1: none */
    int successor;   /* once it is stopping, idle connections go in here; -1: none */
    int epoll_fd;
    int signal_fd;    /* readable while SIGTERM or SIGINT is pending */
    int drain_ms;     /* between SIGTERM and stopping */
    pid_t supervisor; /* the parent at the start; a worker that has lost it does not drain */
    const struct request_wants *wants;
    const struct log *log;
    struct metrics_slot *counts; /* NULL: nothing is counted */
    const struct serve_callbacks *callbacks;
    bool is_listening;
    bool is_draining; /* it goes on, and says that it will stop */
    bool is_stopping;
    bool is_offered;       /* the handover may hold a request */
    bool has_grown;        /* a large answer was made since memory was last given back */
    int64_t deaf_until_ms; /* accepts nothing until then */
    int64_t stop_at_ms;    /* once it is draining */
    int64_t stopped_ms;    /* once it is stopping: since when */
    int64_t leaves_ms;     /* once it is stopping: when it closes the connections that are idle */
    int64_t late_ms;       /* once it is stopping: when it next accepts what no other worker has */
    int64_t sweep_ms;      /* when it next checks deadlines */
    int64_t freed_ms;      /* when a lane last became free */
    size_t n_owed;         /* connections to accept while lanes are busy, at most n_lanes */
    uint32_t serial;
    size_t n_wrong_moves; /* changes of state that the tables do not allow: bugs */
    struct serve_lane lanes[SERVE_MAX_LANES];
    struct serve_lane *free_lanes[SERVE_MAX_LANES]; /* the last is used next: its session is warm */
    size_t n_lanes;
    size_t n_free;
    struct serve_connection connections[SERVE_MAX_CONNECTIONS];
    size_t n_in[SERVE_CONNECTION_N_STATES];
    struct serve_connection *line[SERVE_MAX_CONNECTIONS]; /* those that wait, the oldest first */
    size_t n_line;
    /* When a request of each account last started, as a turn, by its work; the second half is of
     * addresses. */
    uint64_t turns[REQUEST_N_WORKS][2 * SERVE_N_TURNS];
    /* The same of each key; the second half is of keys that are not known to be good. */
    uint64_t key_turns[REQUEST_N_WORKS][2 * SERVE_N_TURNS];
    uint64_t turn;                                      /* the latest */
    struct request_caller good_keys[SERVE_N_GOOD_KEYS]; /* their accounts and keys */
    int64_t kept_ms[2 * SERVE_N_TURNS]; /* when a request of each last ended that kept a lane */
    uint64_t latest_account;            /* of a good key; 0: none yet */
    int64_t mixed_ms;                   /* when it last changed; 0: never */
    bool has_probed;                    /* the request that started last is a probe */
    size_t answers_held;                /* bytes: the sum of all that is charged */
    struct serve_chunk chunk;
    char offered[SERVE_MESSAGE_MAX]; /* for a request from the handover */
};

/* ---- loop.c ---- */

/* What an event of a descriptor is for: the id of a connection, a lane or SERVE_EVENT_..., and the
 * serial of what waits there. */
static inline uint64_t serve_mark(uint32_t id, uint32_t serial)
{
    return (uint64_t)serial << 32 | id;
}

/* Has epoll report these events on fd with the mark; how is EPOLL_CTL_ADD or EPOLL_CTL_MOD. Returns
 * false with errno set. */
MUST_CHECK bool serve_watch(const struct serve *serve, int how, int fd, uint32_t events,
                            uint64_t mark);

/* The same for a descriptor that epoll may know already. */
MUST_CHECK bool serve_watch_anew(const struct serve *serve, int fd, uint32_t events, uint64_t mark);

/* Has epoll forget fd, which it knows. */
void serve_unwatch(const struct serve *serve, int fd);

/* Counts and logs a change of state that the tables do not allow.  what: "connection" or "lane";
 * from and to: the numbers of the states. */
void serve_wrong_move(struct serve *serve, const char *what, int from, int to);

/* ---- connection.c ---- */

/* Returns whether a connection may go from one state to another. */
MUST_CHECK bool serve_connection_may_move(enum serve_connection_state from,
                                          enum serve_connection_state to);

/* Changes the state.  Takes the connection out of the line if it stood there. */
void serve_connection_move(struct serve_connection *connection, enum serve_connection_state to);

/* Returns whether one more connection has a place, perhaps in place of an idle or stalled one. */
MUST_CHECK bool serve_connection_has_place(const struct serve *serve);

/* Takes over a descriptor and reads what has come.  If all places are taken, ends the connection
 * that is idle or has stalled longest.  serve_connection_has_place() must be true. */
void serve_connection_open(struct serve *serve, int fd);

/* Takes over a descriptor with a whole request that another worker has read, and empties *intake.
 * The request has waited since since_ms, which is its place in the line.
 * serve_connection_has_place() must be true. */
void serve_connection_take_over(struct serve *serve, int fd, struct serve_intake *intake,
                                int64_t since_ms);

/* Reads or sends after epoll has reported the connection. */
void serve_connection_attend(struct serve_connection *connection);

/* Fills in the request, which must be whole.  To be called once for each request. */
void serve_connection_request(struct serve_connection *connection, struct request *request);

/* Copies the answer, starts to send it, and empties the response. */
void serve_connection_answer(struct serve_connection *connection, struct response *response);

/* Answers a request of the line without a lane: with 503 if the answer needs the database. */
void serve_connection_answer_at_once(struct serve_connection *connection);

/* Takes over a descriptor on which the web server may send a request. */
void serve_connection_adopt(struct serve *serve, int fd);

/* Passes the idle connections on. */
void serve_connections_pass_on(struct serve *serve);

/* Closes this worker's descriptor of a connection that another worker has now. */
void serve_connection_forget(struct serve_connection *connection);

/* Ends the connections, and answers the requests of the line, whose deadline has passed. */
void serve_connections_sweep(struct serve *serve, int64_t now_ms);

/* Closes the connection and logs nothing.  A free place stays free. */
void serve_connection_drop(struct serve_connection *connection);

/* ---- lane.c ---- */

/* Returns whether a lane may go from one state to another. */
MUST_CHECK bool serve_lane_may_move(enum serve_lane_state from, enum serve_lane_state to);

/* Changes the state. */
void serve_lane_move(struct serve_lane *lane, enum serve_lane_state to);

/* Starts each request of the line that can be started: at once, or in a lane that is free for it.
 * Offers those that have waited too long to other workers. */
void serve_lanes_start(struct serve *serve);

/* Starts the chore if it is due, unless a request needs the lane or the worker stops. */
void serve_lanes_start_chore(struct serve *serve, int64_t now_ms);

/* Returns when the chore is due, on the steady clock; INT64_MAX: there is none, or the worker
 * stops.
 */
MUST_CHECK int64_t serve_lanes_chore_due_ms(const struct serve *serve);

/* Resumes the lanes that were woken, and those that these wake. */
void serve_lanes_resume_woken(struct serve *serve);

/* Resumes a lane whose descriptor epoll has reported, unless it waits for something else now. */
void serve_lane_attend(struct serve_lane *lane, uint32_t serial);

/* Ends the waits whose deadline has passed. */
void serve_lanes_sweep(struct serve *serve, int64_t now_ms);

/* Returns whether every lane is free and the line is empty. */
MUST_CHECK bool serve_lanes_are_idle(const struct serve *serve);

/* Returns whether this worker should accept connections: a lane is free for any work, kept
 * connections have brought requests, or no lane has become free for so long that other work has to
 * get through. */
MUST_CHECK bool serve_lanes_want_more(const struct serve *serve);

/* Returns the milliseconds until a lane or the line needs the loop, at most most_ms. */
MUST_CHECK int serve_lanes_wait_ms(const struct serve *serve, int most_ms);

/* ---- line.c ---- */

/* Returns whether more than the lane that long work leaves free is free. */
MUST_CHECK bool serve_line_has_spare_lane(const struct serve *serve);

/* Returns whether a lane is free for long work. */
MUST_CHECK bool serve_line_may_start_long(const struct serve *serve);

/* Returns the work of a request that stands in the line. */
MUST_CHECK enum request_work serve_line_work_of(struct serve_connection *connection);

/* Returns the request of the line to start now, or NULL.  Requests are sorted only while others run
 * or wait. */
MUST_CHECK struct serve_connection *serve_line_next(struct serve *serve);

/* Notes that a request of the line starts.  To be called while it still stands there. */
void serve_line_note_start(struct serve *serve, struct serve_connection *connection);

/* Notes that a lane has worked on a request.  To be called before its answer is sent. */
void serve_line_note_end(struct serve *serve, const struct serve_connection *connection);

/* Returns whether another worker should start it: lanes are short here, or scans of others take the
 * places of scans.  For the latter it is offered once.  What waits for its own account stays. */
MUST_CHECK bool serve_line_may_offer(const struct serve *serve,
                                     struct serve_connection *connection);

/* Returns whether a request of the line is a scan; sets *account, then. */
MUST_CHECK bool serve_line_is_scan(struct serve_connection *connection, uint64_t *account);

/* Returns whether a scan of this account may start, once a lane is free for it. */
MUST_CHECK bool serve_line_may_scan(const struct serve *serve, uint64_t account);

/* Returns whom a request counts for if it is a scan: the account of its turns.  0: it did not stand
 * in the line. */
MUST_CHECK uint64_t serve_line_scans_for(const struct serve_connection *connection);

/* Learns from the answer whether the key of a request that stood in the line is good. */
void serve_line_note_answer(const struct serve_connection *connection,
                            const struct response *response);

/* Answers 503 to the scans that are too many to wait: to the latest of a key with too many, and
 * then of the address with the most.  If no place is free and the line does not move, also to one
 * request of the address with the most. */
void serve_line_refuse_surplus(struct serve *serve);

/* ---- handover.c ---- */

/* Returns whether the request of a connection can be handed over: it fits into a message, and its
 * peer has sent nothing after it. */
MUST_CHECK bool serve_handover_fits(const struct serve_connection *connection);

/* Offers a request of the line to all workers and forgets its connection.  Returns false if the
 * handover has enough; the request then stays in the line. */
MUST_CHECK bool serve_handover_send(struct serve_connection *connection);

/* Passes an idle connection on to a later worker and forgets it.  Returns false if the socket is
 * full; the connection then stays. */
MUST_CHECK bool serve_handover_pass_on(struct serve_connection *connection);

/* Takes over one offered request.  Returns false if there is none, no place for it, or if it is a
 * scan that may not start here and was offered less than SERVE_SCAN_LEFT_MS ago. */
MUST_CHECK bool serve_handover_receive(struct serve *serve);

#endif
