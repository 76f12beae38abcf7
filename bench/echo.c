/* SPDX-License-Identifier: MIT */
/* A minimal FastCGI responder on libfcgi: every request gets the bytes of a file.  tools/bench
 * compares Adit with it.
 *
 * Each worker waits for new and for kept connections at once, so that no connection waits until
 * another ends.  It closes the other connections itself, since libfcgi would first wait for the
 * peer. */
#include <fcgiapp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#define BACKLOG 1024
#define MAX_CONNECTIONS 64
#define ANSWER_MAX (1024 * 1024)
#define WORKERS_MAX 256
#define LISTENER UINT32_MAX

static char answer[ANSWER_MAX];
static int answer_len;
static FCGX_Request requests[MAX_CONNECTIONS]; /* ipcFd -1: free */

static void die(const char *what)
{
    perror(what);
    exit(1);
}

static void read_answer(const char *path)
{
    FILE *file = fopen(path, "rb");

    if (!file)
        die(path);
    answer_len = (int)fread(answer, 1, sizeof answer, file);
    if (answer_len == 0 || !feof(file))
        die(path);
    fclose(file);
}

static int listen_at(const char *path)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0);

    if (strlen(path) >= sizeof address.sun_path)
        die("path of the socket");
    memcpy(address.sun_path, path, strlen(path) + 1);
    unlink(path);
    if (fd < 0 || bind(fd, (const struct sockaddr *)&address, sizeof address) != 0 ||
        listen(fd, BACKLOG) != 0)
        die("listen");
    return fd;
}

static void watch(int epoll_fd, int fd, uint32_t events, uint32_t id)
{
    struct epoll_event event = {.events = events, .data.u32 = id};

    if (epoll_ctl(epoll_fd, EPOLL_CTL_ADD, fd, &event) != 0)
        die("epoll_ctl");
}

static FCGX_Request *accept_request(int listen_fd)
{
    for (int i = 0; i < MAX_CONNECTIONS; i++) {
        if (requests[i].ipcFd >= 0)
            continue;
        FCGX_InitRequest(&requests[i], -1, 0);
        requests[i].ipcFd = accept(listen_fd, NULL, NULL);
        return requests[i].ipcFd < 0 ? NULL : &requests[i];
    }
    return NULL;
}

/* Answers the next request on a connection.  Returns whether the connection stays open. */
static int serve(FCGX_Request *request)
{
    char body[4096];
    int keep;

    request->keepConnection = 1; /* otherwise FCGX_Accept_r() closes it and accepts another */
    if (FCGX_Accept_r(request) != 0) {
        request->ipcFd = -1;
        return 0;
    }
    keep = request->keepConnection;
    while (FCGX_GetStr(body, sizeof body, request->in) > 0)
        continue;
    FCGX_PutStr(answer, answer_len, request->out);
    request->keepConnection = 1; /* otherwise FCGX_Finish_r() waits for the peer */
    FCGX_Finish_r(request);
    if (!keep && request->ipcFd >= 0) {
        close(request->ipcFd);
        request->ipcFd = -1;
    }
    return request->ipcFd >= 0;
}

static void work(int listen_fd)
{
    int epoll_fd = epoll_create1(EPOLL_CLOEXEC);

    if (FCGX_Init() != 0)
        die("FCGX_Init");
    for (int i = 0; i < MAX_CONNECTIONS; i++)
        requests[i].ipcFd = -1;
    watch(epoll_fd, listen_fd, EPOLLIN | EPOLLEXCLUSIVE, LISTENER);
    for (;;) {
        struct epoll_event event;
        FCGX_Request *request;

        if (epoll_wait(epoll_fd, &event, 1, -1) != 1)
            continue;
        if (event.data.u32 != LISTENER) {
            serve(&requests[event.data.u32]);
            continue;
        }
        request = accept_request(listen_fd);
        if (request && serve(request))
            watch(epoll_fd, request->ipcFd, EPOLLIN, (uint32_t)(request - requests));
    }
}

int main(int argc, char **argv)
{
    long n_workers = argc == 4 ? strtol(argv[3], NULL, 10) : 0;
    pid_t master = getpid();
    int listen_fd;

    if (n_workers < 1 || n_workers > WORKERS_MAX) {
        fprintf(stderr, "usage: %s ANSWER-FILE SOCKET WORKERS\n", argv[0]);
        return 2;
    }
    read_answer(argv[1]);
    signal(SIGPIPE, SIG_IGN);
    listen_fd = listen_at(argv[2]);
    for (long i = 0; i < n_workers; i++) {
        if (fork() != 0)
            continue;
        prctl(PR_SET_PDEATHSIG, SIGKILL); /* libfcgi handles SIGTERM itself */
        if (getppid() == master)
            work(listen_fd);
        return 0;
    }
    while (wait(NULL) > 0)
        continue;
    return 1;
}
