/* SPDX-License-Identifier: MIT */
/* "show info" over a socket that does not block. */
#include "gateway/haproxy_watch.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/number.h"
#include "base/text.h"

#define PAUSE_MS 1000

/* An answer that takes longer is given up. */
#define LIMIT_MS 2000

/* How often an answer is looked for. */
#define LOOK_MS 10

#define ANSWER_BYTES_MAX 65536

/* HAProxy tells whole seconds, and reads files soon after it begins. */
#define MARGIN_MS 5000

static const char question[] = "show info\n";

void haproxy_watch_init(struct haproxy_watch *watch)
{
    watch->fd = -1;
}

static void end_question(struct haproxy_watch *watch, int64_t now_ms)
{
    if (watch->fd >= 0)
        close(watch->fd);
    watch->fd = -1;
    watch->due_ms = now_ms + PAUSE_MS;
}

static void ask_for_process(struct haproxy_watch *watch, int64_t now_ms)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};

    snprintf(address.sun_path, sizeof address.sun_path, "%s", watch->path);
    buf_clear(&watch->answer);
    watch->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    watch->due_ms = now_ms + LIMIT_MS;
    if (watch->fd < 0 ||
        connect(watch->fd, (const struct sockaddr *)&address, sizeof address) != 0 ||
        send(watch->fd, question, strlen(question), MSG_NOSIGNAL) != (ssize_t)strlen(question))
        end_question(watch, now_ms);
}

/* Returns the number of a line "NAME: NUMBER" of the answer, or 0. */
static uint64_t number_after(struct text answer, const char *name)
{
    const char *at = strstr(answer.s, name);
    uint64_t number;
    size_t from;

    if (!at)
        return 0;
    from = (size_t)(at - answer.s) + strlen(name);
    if (!number_read(text_part(answer, from, from + strspn(answer.s + from, "0123456789")), 10,
                     INT32_MAX, &number))
        return 0;
    return number;
}

static bool take_process(struct haproxy_watch *watch, int64_t now_ms)
{
    struct text answer;
    uint64_t pid;

    buf_puts(&watch->answer, ""); /* makes it a string */
    answer = buf_text(&watch->answer);
    pid = number_after(answer, "\nPid: ");
    if (pid == 0 || pid == watch->pid)
        return false;
    watch->pid = pid;
    watch->begun_ms = now_ms - (int64_t)number_after(answer, "\nUptime_sec: ") * 1000 - MARGIN_MS;
    return true;
}

bool haproxy_watch_tick(struct haproxy_watch *watch, int64_t now_ms)
{
    bool is_new = false;
    ssize_t n = -1;

    if (watch->fd < 0 && now_ms < watch->due_ms)
        return false;
    if (watch->fd < 0) {
        ask_for_process(watch, now_ms);
        return false;
    }
    do {
        char *room = buf_room(&watch->answer, 4096);

        errno = ENOMEM;
        n = room ? recv(watch->fd, room, 4096, 0) : -1;
        watch->answer.len += n > 0 ? (size_t)n : 0;
    } while (n > 0 && watch->answer.len < ANSWER_BYTES_MAX);
    if (n < 0 && errno == EAGAIN && now_ms < watch->due_ms)
        return false;
    if (n == 0)
        is_new = take_process(watch, now_ms);
    end_question(watch, now_ms);
    return is_new;
}

int64_t haproxy_watch_next(const struct haproxy_watch *watch, int64_t now_ms)
{
    return watch->fd >= 0 ? now_ms + LOOK_MS : watch->due_ms;
}

void haproxy_watch_free(struct haproxy_watch *watch)
{
    if (watch->fd >= 0)
        close(watch->fd);
    watch->fd = -1;
    buf_free(&watch->answer);
}
