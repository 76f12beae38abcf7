/* SPDX-License-Identifier: MIT */
/* The connections. */
#include "gateway/client.h"

#include <errno.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "ask/ask.h"
#include "base/clock.h"
#include "gateway/watched.h"

/* adit-ssh-keys gives up at that time as well. */
#define TIME_MS 1500

#define READ_SIZE 4096

/* Connections that are accepted before others are served.  It is less than the loop serves in one
 * round, so that a flood of them ends none that has not been served. */
#define ACCEPTED_AT_ONCE 16

static void close_client(struct clients *clients, struct client *client)
{
    size_t at = (size_t)(client - clients->items);

    close(client->fd);
    buf_free(&client->question);
    buf_free(&client->answer);
    clients->n--;
    memmove(client, client + 1, (clients->n - at) * sizeof *client);
}

static void add_client(struct clients *clients, struct gateway *gateway, int fd)
{
    struct ucred peer;
    socklen_t size = sizeof peer;
    struct client *client;

    if (clients->n == CLIENTS_MAX)
        close_client(clients, clients->items);
    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0 ||
        !watched_add(gateway->epoll, fd, WATCHED_CLIENT)) {
        close(fd);
        return;
    }
    client = &clients->items[clients->n++];
    *client = (struct client){.fd = fd,
                              .asker = {.pid = peer.pid, .uid = peer.uid},
                              .deadline_ms = clock_steady_ms() + TIME_MS};
}

void clients_accept(struct clients *clients, struct gateway *gateway, int listen_fd)
{
    /* Without descriptors, the socket stays readable, and the loop would spin. */
    const struct timespec rest = {.tv_nsec = 10000000};

    for (int i = 0; i < ACCEPTED_AT_ONCE; i++) {
        int fd = accept4(listen_fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

        if (fd < 0) {
            if (errno == EMFILE || errno == ENFILE)
                nanosleep(&rest, NULL);
            return;
        }
        add_client(clients, gateway, fd);
    }
}

/* Returns whether the connection stays open. */
static bool read_question(struct client *client, bool *is_complete)
{
    for (;;) {
        char *room = buf_room(&client->question, READ_SIZE);
        ssize_t n = room ? recv(client->fd, room, READ_SIZE, 0) : -1;

        *is_complete = n == 0;
        if (n == 0)
            return client->question.len > 0;
        if (n < 0)
            return room && (errno == EAGAIN || errno == EINTR);
        client->question.len += (size_t)n;
        if (client->question.len > ASK_QUESTION_MAX)
            return false;
    }
}

/* Returns whether the connection stays open. */
static bool write_answer(struct client *client, int epoll)
{
    struct epoll_event event = {.events = EPOLLOUT};

    while (client->sent < client->answer.len) {
        ssize_t n = send(client->fd, client->answer.data + client->sent,
                         client->answer.len - client->sent, MSG_NOSIGNAL);

        if (n >= 0) {
            client->sent += (size_t)n;
        } else if (errno != EINTR) {
            event.data.u64 = watched_tag(client->fd, WATCHED_CLIENT);
            return errno == EAGAIN && epoll_ctl(epoll, EPOLL_CTL_MOD, client->fd, &event) == 0;
        }
    }
    return false;
}

void clients_go_on(struct clients *clients, struct gateway *gateway, int fd)
{
    struct client *client = clients->items;
    bool stays;

    while (client < clients->items + clients->n && client->fd != fd)
        client++;
    if (client == clients->items + clients->n)
        return;
    stays = client->is_answered ? write_answer(client, gateway->epoll)
                                : read_question(client, &client->is_asked);
    if (!stays)
        close_client(clients, client);
    else if (client->is_asked && client->asker.asked_us == 0)
        client->asker.asked_us = clock_steady_us();
}

static bool waits(const struct client *client)
{
    return client->is_asked && !client->is_answered;
}

void clients_glance(const struct clients *clients, struct gateway *gateway)
{
    struct gateway_key key;
    size_t n = 0;

    glanced_forget(gateway);
    for (size_t i = 0; i < clients->n; i++)
        n += waits(&clients->items[i]);
    for (size_t i = 0; n > 1 && i < clients->n; i++) {
        const struct client *client = &clients->items[i];

        if (waits(client) &&
            socket_question_names_key(gateway, &client->asker, buf_text(&client->question), &key))
            glanced_add(gateway, &key);
    }
    glanced_read(gateway);
}

static void answer_client(struct clients *clients, struct client *client, struct gateway *gateway)
{
    socket_question_answer(gateway, &client->asker, buf_text(&client->question), &client->answer);
    client->is_answered = !client->answer.failed;
    if (!client->is_answered || !write_answer(client, gateway->epoll))
        close_client(clients, client);
}

bool clients_answer(struct clients *clients, struct gateway *gateway)
{
    /* Whoever has given up is not to take the others' time. */
    (void)clients_expire(clients, clock_steady_ms());
    if (glanced_is_old(gateway))
        clients_glance(clients, gateway);
    for (size_t i = 0; i < clients->n; i++) {
        if (waits(&clients->items[i])) {
            answer_client(clients, &clients->items[i], gateway);
            return true;
        }
    }
    return false;
}

int64_t clients_expire(struct clients *clients, int64_t now_ms)
{
    int64_t next_ms = INT64_MAX;

    for (size_t i = 0; i < clients->n;) {
        if (clients->items[i].deadline_ms <= now_ms) {
            close_client(clients, &clients->items[i]);
        } else {
            next_ms = clock_earlier(next_ms, clients->items[i].deadline_ms);
            i++;
        }
    }
    return next_ms;
}

void clients_close(struct clients *clients)
{
    while (clients->n > 0)
        close_client(clients, &clients->items[clients->n - 1]);
}
