/* SPDX-License-Identifier: MIT */
/* The asker's side of the socket. */
#include "ask/ask.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/wait.h"

#define READ_SIZE 16384

/* Every answer ends with this line: an answer without it was cut. */
#define END "."

static enum ask_end not_answered(char *reason, const char *path, enum ask_end end, const char *what)
{
    snprintf(reason, ASK_REASON_SIZE, "%s: %s", path, end == ASK_LATE ? "no answer in time" : what);
    return end;
}

static enum ask_end end_of_connecting(int fault)
{
    switch (fault) {
    case EAGAIN:
        return ASK_LATE;
    case EACCES:
        return ASK_FORBIDDEN;
    case ENOENT:
    case ECONNREFUSED:
        return ASK_DOWN;
    default:
        return ASK_FAILED;
    }
}

static bool fill_question(struct buf *question, const char *const *lines)
{
    for (; *lines; lines++) {
        if (strchr(*lines, '\n'))
            return false;
        buf_printf(question, "%s\n", *lines);
    }
    return !question->failed && question->len <= ASK_QUESTION_MAX;
}

/* Returns a connected socket that does not block, or -1 with errno set.  connect(2) itself waits
 * while the daemon has to accept many others first. */
static int connect_socket(const char *path, int64_t deadline_ms)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int left_ms = clock_left_ms(deadline_ms) + 1; /* 0 would be for ever */
    const struct timeval left = {.tv_sec = left_ms / 1000, .tv_usec = left_ms % 1000 * 1000L};
    int fd, fault;

    if (strlen(path) >= sizeof address.sun_path) {
        errno = ENAMETOOLONG;
        return -1;
    }
    memcpy(address.sun_path, path, strlen(path));
    fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0 || (setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &left, sizeof left) == 0 &&
                   connect(fd, (const struct sockaddr *)&address, sizeof address) == 0 &&
                   fcntl(fd, F_SETFL, O_NONBLOCK) == 0))
        return fd;
    fault = errno;
    close(fd);
    errno = fault;
    return -1;
}

static bool send_question(int fd, const struct buf *question, int64_t deadline_ms)
{
    size_t sent = 0;

    while (sent < question->len) {
        ssize_t n = send(fd, question->data + sent, question->len - sent, MSG_NOSIGNAL);

        if (n >= 0)
            sent += (size_t)n;
        else if (errno != EINTR &&
                 (errno != EAGAIN || !wait_alone.until(NULL, fd, POLLOUT, deadline_ms)))
            return false;
    }
    return shutdown(fd, SHUT_WR) == 0;
}

static bool receive_answer(int fd, struct buf *answer, int64_t deadline_ms)
{
    for (;;) {
        char *room = buf_room(answer, READ_SIZE);
        ssize_t n = room ? recv(fd, room, READ_SIZE, 0) : 0;

        if (!room || n == 0)
            return room != NULL;
        if (n > 0)
            answer->len += (size_t)n;
        else if (errno != EINTR &&
                 (errno != EAGAIN || !wait_alone.until(NULL, fd, POLLIN, deadline_ms)))
            return false;
    }
}

/* Removes the line that ends an answer.  Returns false if it is not there. */
static bool remove_end(struct buf *answer)
{
    static const char end[] = "\n" END "\n";
    const size_t len = sizeof end - 1;

    if (answer->len < len || memcmp(answer->data + answer->len - len, end, len) != 0)
        return false;
    buf_cut(answer, answer->len - len + 1);
    return true;
}

static enum ask_end ask_socket(int fd, const struct buf *question, int64_t deadline_ms,
                               struct buf *answer)
{
    bool is_whole =
        send_question(fd, question, deadline_ms) && receive_answer(fd, answer, deadline_ms);

    if (!is_whole && clock_left_ms(deadline_ms) == 0)
        return ASK_LATE;
    return is_whole && remove_end(answer) ? ASK_ANSWERED : ASK_FAILED;
}

enum ask_end ask_gateway(const char *path, const char *const *lines, int timeout_ms,
                         struct buf *answer, char reason[ASK_REASON_SIZE])
{
    int64_t deadline_ms = clock_steady_ms() + timeout_ms;
    struct buf question = {0};
    enum ask_end end;
    int fd;

    if (!fill_question(&question, lines)) {
        buf_free(&question);
        return not_answered(reason, path, ASK_FAILED,
                            "the question is too long, or has a line break in a word");
    }
    fd = connect_socket(path, deadline_ms);
    if (fd < 0)
        end = not_answered(reason, path, end_of_connecting(errno), strerror(errno));
    else {
        end = ask_socket(fd, &question, deadline_ms, answer);
        if (end != ASK_ANSWERED)
            (void)not_answered(reason, path, end, "the answer was cut off");
        close(fd);
    }
    buf_free(&question);
    return end;
}

struct text ask_next_line(struct text *rest)
{
    struct text line = {0};
    const char *end = rest->len > 0 ? memchr(rest->s, '\n', rest->len) : NULL;

    if (!end)
        return line;
    line = text_part(*rest, 0, (size_t)(end - rest->s));
    *rest = text_part(*rest, line.len + 1, rest->len);
    return line;
}
