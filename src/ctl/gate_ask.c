/* SPDX-License-Identifier: MIT */
/* A FastCGI client for one question. */
#include "ctl/gate_ask.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/number.h"
#include "serve/record.h"

/* Of a write, and of a read.  adit-gate answers within 4 s, and 503 if the database does not. */
#define WAIT_S 5

/* Bytes of an answer that are read.  The status comes first. */
#define ANSWER_MAX 65536

#define STATUS "Status: "
#define STATUS_DIGITS 3

/* Connects.  Returns whether it did, with errno if not. */
static bool connect_to(int fd, const char *path)
{
    struct sockaddr_un local = {.sun_family = AF_UNIX};
    struct sockaddr_in port = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};

    port.sin_port = htons((uint16_t)strtoul(GATE_ASK_PORT, NULL, 10));
    if (!path)
        return connect(fd, (const struct sockaddr *)&port, sizeof port) == 0;
    if (strlen(path) >= sizeof local.sun_path) {
        errno = ENAMETOOLONG;
        return false;
    }
    memcpy(local.sun_path, path, strlen(path));
    return connect(fd, (const struct sockaddr *)&local, sizeof local) == 0;
}

/* Returns a connected socket, or -1 with errno. */
static int open_connection(const char *path)
{
    const struct timeval wait = {.tv_sec = WAIT_S};
    int fd = socket(path ? AF_UNIX : AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    int fault;

    if (fd < 0 ||
        (setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &wait, sizeof wait) == 0 &&
         setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &wait, sizeof wait) == 0 && connect_to(fd, path)))
        return fd;
    fault = errno;
    close(fd);
    errno = fault;
    return -1;
}

/* Names and values have fewer than 128 bytes, so a length is one byte. */
static void put_variable(struct buf *out, const char *name, const char *value)
{
    const char lengths[2] = {(char)strlen(name), (char)strlen(value)};

    buf_add(out, lengths, sizeof lengths);
    buf_puts(out, name);
    buf_puts(out, value);
}

static bool send_bytes(int fd, const char *data, size_t len)
{
    while (len > 0) {
        ssize_t n = send(fd, data, len, MSG_NOSIGNAL);

        if (n < 0 && errno != EINTR)
            return false;
        data += n > 0 ? n : 0;
        len -= n > 0 ? (size_t)n : 0;
    }
    return true;
}

static bool put_question(int fd, const char *account_id)
{
    /* A responder, which closes the connection after its answer. */
    static const char begin[SERVE_RECORD_BEGIN_SIZE] = {1, SERVE_RECORD_BEGIN, 0, 1, 0, 8, 0, 0, 0,
                                                        1};
    unsigned char end[SERVE_RECORD_HEADER_SIZE];
    struct buf params = {0};
    bool ok;

    serve_record_begin(&params);
    put_variable(&params, "ADIT_CHECK", "1");
    put_variable(&params, "ADIT_EDGE", "aditctl-doctor");
    put_variable(&params, "ADIT_ROUTE", "aditctl-doctor");
    put_variable(&params, "ADIT_ACCOUNT", account_id);
    put_variable(&params, "ADIT_URL", "http://localhost");
    put_variable(&params, "REQUEST_METHOD", "GET");
    put_variable(&params, "REQUEST_URI", "/");
    serve_record_frame(&params, SERVE_RECORD_PARAMS, 1);
    serve_record_empty(end, SERVE_RECORD_STDIN, 1);
    errno = ENOMEM;
    ok = !params.failed && send_bytes(fd, begin, sizeof begin) &&
         send_bytes(fd, params.data, params.len) && send_bytes(fd, (const char *)end, sizeof end);
    buf_free(&params);
    return ok;
}

/* Returns the status of an answer's first record, or 0.  adit-gate answers no JSON: that is the
 * responder's. */
static int status_of(const struct buf *answer)
{
    static const char json[] = "application/json";
    struct text text = buf_text(answer);
    uint64_t status;

    if (answer->data && memmem(answer->data, answer->len, json, strlen(json)))
        return 0;
    if (text.len < SERVE_RECORD_HEADER_SIZE + strlen(STATUS) + STATUS_DIGITS ||
        text.s[1] != SERVE_RECORD_STDOUT)
        return 0;
    text = text_part(text, SERVE_RECORD_HEADER_SIZE, text.len);
    if (!text_begins(text, STATUS) ||
        !number_read(text_part(text, strlen(STATUS), strlen(STATUS) + STATUS_DIGITS), 10, 599,
                     &status))
        return 0;
    return status >= 100 ? (int)status : 0;
}

static int receive_status(int fd, const char **why)
{
    struct buf answer = {0};
    ssize_t n = 1;
    int status;

    while (n != 0 && answer.len < ANSWER_MAX) {
        char *room = buf_room(&answer, ANSWER_MAX);

        n = room ? recv(fd, room, ANSWER_MAX, 0) : 0;
        if (n < 0 && errno != EINTR)
            break;
        answer.len += n > 0 ? (size_t)n : 0;
    }
    status = status_of(&answer);
    *why = n < 0 ? errno == EAGAIN ? "no answer in time" : strerror(errno)
                 : "the answer is not one of adit-gate";
    buf_free(&answer);
    return n < 0 ? 0 : status;
}

int gate_ask(const char *socket, const char *account_id, const char **why)
{
    int fd = open_connection(socket);
    int status = 0;

    if (fd < 0)
        *why = strerror(errno);
    else if (!put_question(fd, account_id))
        *why = errno == EAGAIN ? "no answer in time" : strerror(errno);
    else
        status = receive_status(fd, why);
    if (fd >= 0)
        close(fd);
    return status;
}
