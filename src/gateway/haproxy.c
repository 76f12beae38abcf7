/* SPDX-License-Identifier: MIT */
/* Speaks HAProxy's runtime API: a connection for each command, and the answer until it is closed.
 */
#include "gateway/haproxy.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/buf.h"
#include "gateway/edge_files.h"
#include "gateway/unissued_ca.h"
#include "gateway/whole_file.h"

#define ANSWER_TIMEOUT_S 2
#define ANSWER_BYTES_MAX 65536

/* What HAProxy says to "set ssl ca-file" for a file that its configuration does not name. */
#define NOT_NAMED "not referenced by the configuration"

/* What it says while a transaction for another file is open, before the file's name. */
#define ANOTHER_IS_OPEN "The ongoing transaction is about '"

/* The edge, and the answer to the last command. */
struct talk {
    const char *socket_path;
    const char *folder;
    const char *id;
    struct buf command;
    struct buf answer;
};

/* ---- one command ---- */

static int connect_to_haproxy(const char *socket_path)
{
    const struct timeval timeout = {.tv_sec = ANSWER_TIMEOUT_S};
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

    snprintf(address.sun_path, sizeof address.sun_path, "%s", socket_path);
    if (fd < 0 || (setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof timeout) == 0 &&
                   setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &timeout, sizeof timeout) == 0 &&
                   connect(fd, (const struct sockaddr *)&address, sizeof address) == 0))
        return fd;
    close(fd);
    return -1;
}

/* HAProxy closes the connection after its answer, and also in the middle of a command that is too
 * large for it. */
static bool exchange(int fd, struct talk *talk)
{
    struct text rest = buf_text(&talk->command);
    ssize_t n;

    while (rest.len > 0) {
        n = send(fd, rest.s, rest.len, MSG_NOSIGNAL);
        if (n < 0)
            return errno == EPIPE || errno == ECONNRESET;
        rest = text_part(rest, (size_t)n, rest.len);
    }
    do {
        char *room = buf_room(&talk->answer, 4096);

        if (!room)
            return false;
        n = recv(fd, room, 4096, 0);
        talk->answer.len += n > 0 ? (size_t)n : 0;
    } while (n > 0 && talk->answer.len < ANSWER_BYTES_MAX);
    return n == 0 || (n < 0 && errno == ECONNRESET);
}

/* Sends talk->command.  Returns whether there is an answer, which may be empty. */
static bool ask_haproxy(struct talk *talk)
{
    int fd = talk->command.failed ? -1 : connect_to_haproxy(talk->socket_path);
    bool ok;

    buf_clear(&talk->answer);
    ok = fd >= 0 && exchange(fd, talk);
    if (!ok)
        fprintf(stderr, "%s: %s\n", talk->socket_path,
                talk->command.failed || talk->answer.failed ? "out of memory" : strerror(errno));
    if (fd >= 0)
        close(fd);
    buf_puts(&talk->answer, ""); /* makes it a string */
    return ok && !talk->answer.failed;
}

/* Reports a step whose answer is not the one for success. */
static bool refused(const struct talk *talk, const char *step)
{
    const char *answer = talk->answer.data + strspn(talk->answer.data, "\n");

    if (!*answer)
        answer = "no answer; its tune.bufsize may be too small for the authorities";
    fprintf(stderr, "edge %s: HAProxy refuses to %s: %.*s\n", talk->id, step,
            (int)strcspn(answer, "\n"), answer);
    return false;
}

static bool has_answered(const struct talk *talk, const char *wanted)
{
    return strstr(talk->answer.data, wanted) != NULL;
}

/* Whether the answer has nothing but ends of lines, as commands without output have. */
static bool is_silent(const struct talk *talk)
{
    return talk->answer.len > 0 && strspn(talk->answer.data, "\n") == talk->answer.len;
}

/* ---- the steps ---- */

static bool send_authorities(struct talk *talk, const struct buf *pem)
{
    buf_clear(&talk->command);
    buf_printf(&talk->command, "set ssl ca-file %s/%s" EDGE_FILES_PEM " <<\n", talk->folder,
               talk->id);
    buf_add(&talk->command, pem->data, pem->len);
    buf_puts(&talk->command, "\n");
    return ask_haproxy(talk);
}

/* Ends the transaction that the answer is about.  HAProxy has one at a time.  If whoever began it
 * never ends it, no edge could be changed. */
static bool abort_transaction(struct talk *talk)
{
    const char *name = strstr(talk->answer.data, ANOTHER_IS_OPEN) + strlen(ANOTHER_IS_OPEN);
    size_t len = strcspn(name, "' ;<\\\n");

    if (name[len] != '\'')
        return refused(talk, "take the authorities");
    fprintf(stderr, "edge %s: ended the transaction that was open in HAProxy for %.*s\n", talk->id,
            (int)len, name);
    buf_clear(&talk->command);
    buf_printf(&talk->command, "abort ssl ca-file %.*s\n", (int)len, name);
    return ask_haproxy(talk);
}

/* Replaces the authorities.  Sets *named to whether the configuration has the file. */
static bool set_authorities(struct talk *talk, const struct buf *pem, bool *named)
{
    *named = true;
    if (!send_authorities(talk, pem))
        return false;
    if (has_answered(talk, ANOTHER_IS_OPEN) &&
        (!abort_transaction(talk) || !send_authorities(talk, pem)))
        return false;
    if (has_answered(talk, NOT_NAMED)) {
        *named = false;
        return true;
    }
    if (!has_answered(talk, "transaction created") && !has_answered(talk, "transaction updated"))
        return refused(talk, "take the authorities");
    buf_clear(&talk->command);
    buf_printf(&talk->command, "commit ssl ca-file %s/%s" EDGE_FILES_PEM "\n", talk->folder,
               talk->id);
    return ask_haproxy(talk) &&
           (has_answered(talk, "Success!") || refused(talk, "commit the authorities"));
}

/* Does so, or makes the edge refuse all. */
static bool set_authorities_or_none(struct talk *talk, bool *named)
{
    struct buf pem = {0};
    char name[512];
    bool ok;

    *named = true;
    snprintf(name, sizeof name, "%s" EDGE_FILES_PEM, talk->id);
    ok = whole_file_read(talk->folder, name, EDGE_FILES_PEM_MAX, &pem);
    if (!ok)
        fprintf(stderr, "%s/%s: %s\n", talk->folder, name, strerror(errno));
    ok = ok && set_authorities(talk, &pem, named);
    if (!ok) {
        buf_clear(&pem);
        buf_puts(&pem, UNISSUED_CA_PEM);
        if (set_authorities(talk, &pem, named) && *named)
            fprintf(stderr, "edge %s refuses all certificates in HAProxy\n", talk->id);
    }
    buf_free(&pem);
    return ok;
}

/* Whatever the file says that is not for "none" is for certificates. */
static bool set_verify(struct talk *talk)
{
    struct buf map = {0};
    char name[512];
    bool asks;

    snprintf(name, sizeof name, "%s" EDGE_FILES_HAPROXY, talk->id);
    asks = !whole_file_read(talk->folder, name, 4096, &map) ||
           !text_eq(buf_text(&map), text_of(EDGE_FILES_KEY " none\n"));
    buf_free(&map);
    buf_clear(&talk->command);
    buf_printf(&talk->command, "set map %s/%s %s %s\n", talk->folder, name, EDGE_FILES_KEY,
               edge_files_value(asks));
    return ask_haproxy(talk) && (is_silent(talk) || refused(talk, "set the map"));
}

static bool end_connections(struct talk *talk, const char *which)
{
    char backend[512];

    snprintf(backend, sizeof backend, "%s%s", talk->id, which);
    for (char *at = backend; *at; at++)
        *at = *at == '~' ? ':' : *at;
    buf_clear(&talk->command);
    buf_printf(&talk->command, "shutdown sessions server %s/%s\n", backend, HAPROXY_SERVER);
    return ask_haproxy(talk) && (is_silent(talk) || refused(talk, "end open connections"));
}

/* The authorities come before the map, and the end of connections last: a connection that is made
 * after its step obeys the new rule. */
bool haproxy_tell(const char *socket_path, const char *folder, const char *id, bool ends)
{
    struct talk talk = {.socket_path = socket_path, .folder = folder, .id = id};
    bool named;
    bool ok = set_authorities_or_none(&talk, &named);

    if (named) {
        ok = set_verify(&talk) && ok;
        ok = (!ends ||
              (end_connections(&talk, HAPROXY_ON) && end_connections(&talk, HAPROXY_OFF))) &&
             ok;
    }
    buf_free(&talk.command);
    buf_free(&talk.answer);
    return ok;
}
