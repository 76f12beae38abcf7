/* SPDX-License-Identifier: MIT */
/* A worker in the test's own process. */
#include "serve/worker.h"

#include <check.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/clock.h"
#include "serve/faults.h"

int listen_fd;
int handover[2];
int silent[2];
int clients[MAX_CLIENTS];
struct request_wants wants = {.version = "HTTP_SERVICE_VERSION"};

static struct log warnings = {.level = LOG_LEVEL_WARNING};
static struct sockaddr_un address = {.sun_family = AF_UNIX};

/* ---- the worker ---- */

size_t lane_number(const struct worker_lane *lane)
{
    return (size_t)(lane - lane->worker->lanes);
}

void worker_stay(struct worker_lane *lane, const struct request *request)
{
    struct worker *worker = lane->worker;

    if (!strstr(request->path, "stuck"))
        return;
    worker->n_stuck++;
    while (worker->n_answered < worker->n_due)
        lane->wait.until(lane->wait.context, silent[0], POLLIN, clock_steady_ms() + 3600 * 1000);
}

static void answer_path(struct worker *worker, const struct request *request,
                        struct response *response)
{
    buf_clear(&response->body);
    buf_puts(&response->body, request->path);
    if (worker->padding > 0) {
        memset(buf_room(&response->body, worker->padding), 'x', worker->padding);
        response->body.len += worker->padding;
    }
    response->status = 200;
    response->payer = (uint32_t)strlen(request->path);
    worker->n_answered++;
    worker->n_turns = 0;
}

static struct response *answer(void *context, const struct request *request)
{
    struct worker_lane *lane = context;

    if (lane->worker->task)
        lane->worker->task(lane, request);
    answer_path(lane->worker, request, &lane->response);
    return &lane->response;
}

static struct response *answer_at_once(void *context, const struct request *request)
{
    struct worker *worker = context;

    ck_assert(request->is_at_once);
    worker->n_at_once++;
    answer_path(worker, request, &worker->at_once);
    if (strcmp(request->path, "/instant") != 0)
        worker->at_once.status = 503;
    return &worker->at_once;
}

static bool begins_with(struct text text, const char *prefix)
{
    return text.len >= strlen(prefix) && memcmp(text.s, prefix, strlen(prefix)) == 0;
}

/* The header is two letters: of the account, and of the key.  An address is one, or three: of a
 * wide network, of one in it, and of one in that. */
static struct request_caller caller_of(struct text authorization, struct text remote)
{
    struct request_caller caller = {.account = 0};

    if (authorization.len == 2) {
        caller.account = (uint32_t)authorization.s[0];
        caller.key = caller.account * 256 + (unsigned char)authorization.s[1];
    }
    for (size_t i = 0; i < remote.len; i++) {
        const uint32_t wider = i == 0 ? 0 : caller.networks[remote.len - i];

        caller.networks[remote.len - 1 - i] = wider << 8 | (unsigned char)remote.s[i];
    }
    return caller;
}

static enum request_work sort(struct text method, struct text path, struct text query)
{
    ck_assert_uint_eq(method.len, 3);
    if (begins_with(path, "/short"))
        return REQUEST_SHORT;
    if (begins_with(path, "/probe"))
        return REQUEST_PROBE;
    if (begins_with(query, "scan"))
        return REQUEST_SCAN;
    return path.len == 8 && memcmp(path.s, "/instant", 8) == 0 ? REQUEST_INSTANT : REQUEST_LONG;
}

static void wake_all(struct worker *worker)
{
    for (size_t i = 0; i < worker->serve->n_lanes; i++)
        worker->lanes[i].wait.wake(worker->lanes[i].wait.context);
}

/* Ends the loop when all is answered, or when nothing comes for long.  Lanes that stay end after
 * that: no other request, and no chore, may begin in their place. */
static void before_wait(void *context)
{
    struct worker *worker = context;

    if (worker->turn)
        worker->turn(worker);
    if (worker->n_answered >= worker->n_due || ++worker->n_turns > 400)
        raise(SIGTERM);
    if (worker->serve->is_stopping && worker->n_answered >= worker->n_due)
        wake_all(worker);
}

static void on_input(void *context)
{
    struct worker *worker = context;
    char byte;

    worker->n_inputs++;
    ck_assert_int_eq(recv(silent[0], &byte, 1, MSG_DONTWAIT), 1);
    wake_all(worker);
}

void worker_know(struct worker *worker, const char *key)
{
    struct serve_connection connection = {.serve = worker->serve, .has_caller = true};
    const struct response response = {.status = 200, .payer = 1};

    connection.caller = caller_of(text_of(key), text_of(""));
    serve_line_note_answer(&connection, &response);
}

void worker_add_lane(struct worker *worker)
{
    struct worker_lane *lane = &worker->lanes[worker->serve->n_lanes];

    lane->worker = worker;
    ck_assert(serve_add_lane(worker->serve, answer, lane, &lane->wait));
}

void worker_open(struct worker *worker, int n_due)
{
    *worker = (struct worker){
        .callbacks = {.sort = sort,
                      .caller = caller_of,
                      .answer_at_once = answer_at_once,
                      .before_wait = before_wait,
                      .on_input = on_input,
                      .context = worker},
        .n_due = n_due,
        .task = worker_stay,
    };
    clock_stop();
    worker->serve = serve_open(listen_fd, handover, &wants, &warnings);
    ck_assert_ptr_nonnull(worker->serve);
    worker->serve->callbacks = &worker->callbacks;
    for (size_t i = 0; i < N_LANES; i++)
        worker_add_lane(worker);
}

void worker_run(struct worker *worker)
{
    clock_run();
    serve_run(worker->serve, &worker->callbacks);
    clock_stop();
}

void worker_close(struct worker *worker)
{
    ck_assert_uint_eq(worker->serve->n_wrong_moves, 0);
    serve_close(worker->serve);
    clock_run();
    for (size_t i = 0; i <= N_LANES; i++) {
        buf_free(&worker->lanes[i].response.headers);
        buf_free(&worker->lanes[i].response.body);
    }
    buf_free(&worker->at_once.headers);
    buf_free(&worker->at_once.body);
}

void worker_accept(struct worker *worker, int n)
{
    for (int i = 0; i < n; i++) {
        int fd = accept(listen_fd, NULL, NULL);

        ck_assert_int_ge(fd, 0);
        serve_connection_open(worker->serve, fd);
    }
}

void worker_set_up(void)
{
    sigset_t blocked;

    faults_clear();
    sigemptyset(&blocked);
    sigaddset(&blocked, SIGTERM);
    sigprocmask(SIG_BLOCK, &blocked, NULL);
    /* An abstract name, which leaves no file behind. */
    snprintf(address.sun_path + 1, sizeof address.sun_path - 1, "adit-serve-test-%ld",
             (long)getpid());
    listen_fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    ck_assert_int_ge(listen_fd, 0);
    ck_assert_int_eq(bind(listen_fd, (struct sockaddr *)&address, sizeof address), 0);
    ck_assert_int_eq(listen(listen_fd, MAX_CLIENTS), 0);
    ck_assert(serve_handover_open(handover));
    ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, silent), 0);
    for (size_t i = 0; i < MAX_CLIENTS; i++)
        clients[i] = -1;
}

void worker_tear_down(void)
{
    close(listen_fd);
    close(handover[0]);
    close(handover[1]);
    close(silent[0]);
    close(silent[1]);
    for (size_t i = 0; i < MAX_CLIENTS; i++) {
        if (clients[i] >= 0)
            close(clients[i]);
    }
}

/* ---- its clients ---- */

static void add_variable(struct buf *params, const char *name, const char *value)
{
    char lengths[2] = {(char)strlen(name), (char)strlen(value)};

    buf_add(params, lengths, sizeof lengths);
    buf_puts(params, name);
    buf_puts(params, value);
}

struct variables {
    const char *query, *key, *address; /* NULL: none */
};

static void write_request(struct buf *wire, const char *path, struct variables more,
                          size_t body_len, bool keep)
{
    const char begin[SERVE_RECORD_BEGIN_SIZE] = {1, SERVE_RECORD_BEGIN, 0, 1, 0, 8, 0, 0, 0,
                                                 1, (char)keep};
    struct buf part = {0};

    buf_add(wire, begin, sizeof begin);
    serve_record_begin(&part);
    add_variable(&part, "REQUEST_METHOD", "GET");
    add_variable(&part, "PATH_INFO", path);
    if (more.query)
        add_variable(&part, "QUERY_STRING", more.query);
    if (more.key)
        add_variable(&part, "HTTP_AUTHORIZATION", more.key);
    if (more.address)
        add_variable(&part, "REMOTE_ADDR", more.address);
    serve_record_frame(&part, SERVE_RECORD_PARAMS, 1);
    buf_add(wire, part.data, part.len);
    buf_clear(&part);
    serve_record_begin(&part);
    memset(buf_room(&part, body_len), 'x', body_len);
    part.len += body_len;
    serve_record_frame(&part, SERVE_RECORD_STDIN, 1);
    buf_add(wire, part.data, part.len);
    buf_free(&part);
}

void client_write_request(struct buf *wire, const char *path, size_t body_len, bool keep)
{
    write_request(wire, path, (struct variables){0}, body_len, keep);
}

void client_write_check(struct buf *wire, const char *path, bool keep)
{
    size_t role_at = wire->len + SERVE_RECORD_HEADER_SIZE + 1;

    client_write_request(wire, path, 0, keep);
    wire->data[role_at] = FCGI_AUTHORIZER;
    wire->len -= SERVE_RECORD_HEADER_SIZE; /* the end of STDIN */
}

void client_connect(int client)
{
    clients[client] = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    ck_assert_int_ge(clients[client], 0);
    ck_assert_int_eq(connect(clients[client], (struct sockaddr *)&address, sizeof address), 0);
}

void client_send(int client, const void *data, size_t len)
{
    ck_assert_int_eq(send(clients[client], data, len, MSG_NOSIGNAL), (ssize_t)len);
}

static void send_request(int client, const char *path, size_t body_len, bool keep)
{
    struct buf wire = {0};

    client_write_request(&wire, path, body_len, keep);
    client_send(client, wire.data, wire.len);
    buf_free(&wire);
}

void client_ask(int client, const char *path)
{
    client_ask_with_body(client, path, 0);
}

void client_ask_with_body(int client, const char *path, size_t body_len)
{
    client_connect(client);
    send_request(client, path, body_len, false);
}

void client_ask_again(int client, const char *path)
{
    send_request(client, path, 0, true);
}

void client_scan(int client, const char *path, const char *key)
{
    client_scan_from(client, path, key, NULL);
}

static void ask_with(int client, const char *path, struct variables more)
{
    struct buf wire = {0};

    if (clients[client] < 0)
        client_connect(client);
    write_request(&wire, path, more, 0, true);
    client_send(client, wire.data, wire.len);
    buf_free(&wire);
}

void client_scan_from(int client, const char *path, const char *key, const char *remote)
{
    ask_with(client, path, (struct variables){"scan", key, remote});
}

void client_ask_from(int client, const char *path, const char *key, const char *remote)
{
    ask_with(client, path, (struct variables){NULL, key, remote});
}

void client_expect(int client, const char *text)
{
    char found[1024] = "";
    ssize_t n = recv(clients[client], found, sizeof found - 1, MSG_DONTWAIT);

    ck_assert_int_gt(n, 0);
    ck_assert_msg(memmem(found, (size_t)n, text, strlen(text)), "no '%s'", text);
}

bool client_is_answered(int client)
{
    char byte;

    return recv(clients[client], &byte, 1, MSG_PEEK | MSG_DONTWAIT) > 0;
}

/* A Unix socket that was closed with unread bytes is reset. */
bool client_is_closed(int client)
{
    char byte;
    ssize_t n = recv(clients[client], &byte, 1, MSG_PEEK | MSG_DONTWAIT);

    return n == 0 || (n < 0 && errno == ECONNRESET);
}

int64_t worker_deadline_ms;

void worker_wait(struct worker_lane *lane, const struct request *request)
{
    ck_assert_int_eq(lane->worker->serve->lanes[lane_number(lane)].state, SERVE_LANE_RUNNING);
    if (request->path[1] == 'w')
        lane->worker->in_time[lane_number(lane)] =
            lane->wait.until(lane->wait.context, silent[0], POLLIN, worker_deadline_ms);
}
