/* SPDX-License-Identifier: MIT */
/* A worker in the test's own process, and its clients, which play the web server.
 *
 * A test either calls the worker's steps one by one, or lets the loop run until so many requests
 * are answered: SIGTERM is raised then, which ends the loop. */
#ifndef ADIT_TESTS_SERVE_WORKER_H
#define ADIT_TESTS_SERVE_WORKER_H

#include "serve/loop.h"

#define N_LANES 3
#define MAX_CLIENTS 160

struct worker;

struct worker_lane {
    struct worker *worker;
    struct wait wait;
    struct response response;
};

/* What a lane does before it answers; NULL: nothing. */
typedef void worker_task(struct worker_lane *lane, const struct request *request);

/* Called in each turn of the loop; NULL: nothing. */
typedef void worker_turn(struct worker *worker);

struct worker {
    struct serve *serve;
    struct worker_lane lanes[N_LANES + 1]; /* the last: of worker_add_lane() */
    struct response at_once;
    struct serve_callbacks callbacks;
    worker_task *task;
    worker_turn *turn;
    int n_turns; /* since the last answer; many: nothing more comes */
    int n_stuck; /* lanes in worker_stay() */
    int n_at_once;
    int n_inputs; /* calls of on_input(), which wakes all lanes */
    int n_due;    /* answers after which the loop is to end */
    int n_answered;
    size_t padding;        /* bytes that answers are longer than the path */
    bool in_time[N_LANES]; /* for a task: what its wait returned */
};

/* Made by worker_set_up(), for each test. */
extern int listen_fd;
extern int handover[2];
extern int silent[2]; /* a connected pair on which nothing comes unless the test sends it */
extern int clients[MAX_CLIENTS];
extern struct request_wants wants; /* of the workers; a test that changes it restores it */

void worker_set_up(void);
void worker_tear_down(void);

/* Opens a worker whose loop ends after n_due answers.  Until it is closed, the steady clock stands
 * still outside of the loop.  The answer to a request is its path, with
 * status 503 if it is answered at once and is not "/instant". */
void worker_open(struct worker *worker, int n_due);

/* Adds one more lane: with two that scan, long work may still start. */
void worker_add_lane(struct worker *worker);

/* Closes it.  No state may have changed in a way that the tables do not allow. */
void worker_close(struct worker *worker);

/* Has the worker know a key of client_scan() as good. */
void worker_know(struct worker *worker, const char *key);

/* Runs the loop until n_due requests are answered. */
void worker_run(struct worker *worker);

/* Accepts that many connections outside of the loop. */
void worker_accept(struct worker *worker, int n);

/* Returns the number of the lane among the worker's. */
size_t lane_number(const struct worker_lane *lane);

/* The task of a worker, unless a test sets another: a request with "stuck" in its path waits until
 * the others are answered, and until a loop that runs is to end. */
worker_task worker_stay;

/* Another task: a request whose path begins with "/w" waits for a byte on silent[0], until
 * worker_deadline_ms. */
worker_task worker_wait;
extern int64_t worker_deadline_ms;

/* Connects a client, and sends nothing. */
void client_connect(int client);

/* Appends the records of a GET of the path to *wire. */
void client_write_request(struct buf *wire, const char *path, size_t body_len, bool keep);

/* Appends the records of a GET of the path to an authorizer. */
void client_write_check(struct buf *wire, const char *path, bool keep);

/* Connects a client and sends a GET of the path.  The connection is not kept. */
void client_ask(int client, const char *path);

/* The same with a body. */
void client_ask_with_body(int client, const char *path, size_t body_len);

/* Sends a GET of the path on the client's connection, which is kept. */
void client_ask_again(int client, const char *path);

/* Sends a scan with a key of two letters: of its account, and of the key.  Connects the client
 * unless it is.  The connection is kept. */
void client_scan(int client, const char *path, const char *key);

/* The same from an address, which is one letter; NULL: unknown. */
void client_scan_from(int client, const char *path, const char *key, const char *remote);

/* The same of a request that is no scan. */
void client_ask_from(int client, const char *path, const char *key, const char *remote);

/* Sends bytes. */
void client_send(int client, const void *data, size_t len);

/* The next bytes that the client reads have this text. */
void client_expect(int client, const char *text);

/* Returns whether the client has something to read. */
bool client_is_answered(int client);

/* Returns whether the worker has closed the connection, and sent nothing that was not read. */
bool client_is_closed(int client);

#endif
