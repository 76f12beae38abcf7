/* SPDX-License-Identifier: MIT */
/* A web server's connection. */
#include "serve/peer.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "serve/cgi.h"

/* Bytes for a status line, Content-Length and the headers of records: one record for each 64 KiB.
 */
#define ROOM_AROUND 4096

void serve_peer_close(struct serve_peer *peer)
{
    if (peer->fd >= 0)
        close(peer->fd);
    serve_intake_clear(&peer->intake);
    buf_free(&peer->unsent);
    *peer = (struct serve_peer){.fd = -1};
}

/* ---- in ---- */

enum serve_progress serve_peer_receive(struct serve_peer *peer, struct serve_chunk *chunk)
{
    ssize_t n = recv(peer->fd, chunk->bytes, sizeof chunk->bytes, MSG_DONTWAIT);
    enum serve_progress progress;
    size_t used;

    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return SERVE_PART;
    if (n <= 0)
        return SERVE_BROKEN;
    progress = serve_intake_take(&peer->intake, chunk->bytes, (size_t)n, &used);
    peer->said_more = used < (size_t)n;
    explicit_bzero(chunk->bytes, (size_t)n);
    return progress;
}

/* Before it has its answer, a web server sends nothing unless it gives up the request: it closes or
 * resets the connection, or sends ABORT_REQUEST.  Any byte means that, so nobody reads it. */
bool serve_peer_gone(const struct serve_peer *peer)
{
    char byte;

    return peer->said_more || recv(peer->fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT) >= 0 ||
           (errno != EAGAIN && errno != EINTR);
}

void serve_peer_request(struct serve_peer *peer, const char *version_variable,
                        struct request *request)
{
    struct serve_cgi_announced announced;
    struct serve_cgi_reader reader;

    serve_cgi_begin(&reader, request, version_variable);
    serve_intake_see(&peer->intake, serve_cgi_see, &reader);
    serve_cgi_end(&reader, &announced);
    serve_cgi_set_body(request, &peer->intake.body, &announced);
}

/* ---- out ---- */

bool serve_peer_answer(struct serve_peer *peer, const struct response *response)
{
    unsigned char end[SERVE_RECORD_END_SIZE];

    /* All at once: a buffer that has to grow doubles. */
    if (!buf_room(&peer->unsent, response->headers.len + response->body.len + ROOM_AROUND))
        return false;
    serve_cgi_write(&peer->unsent, response);
    serve_record_frame(&peer->unsent, SERVE_RECORD_STDOUT, peer->intake.id);
    serve_record_end(end, peer->intake.id);
    buf_add(&peer->unsent, (const char *)end, sizeof end);
    return !peer->unsent.failed;
}

/* Web servers have room for a whole answer, as a rule: one send() is enough. */
enum serve_sent serve_peer_send(struct serve_peer *peer)
{
    struct buf *unsent = &peer->unsent;
    ssize_t n;

    do
        n = send(peer->fd, unsent->data + peer->sent, unsent->len - peer->sent,
                 MSG_DONTWAIT | MSG_NOSIGNAL);
    while (n < 0 && errno == EINTR);
    if (n < 0)
        return errno == EAGAIN ? SERVE_SENT_PART : SERVE_NOT_SENT;
    peer->sent += (size_t)n;
    return peer->sent == unsent->len ? SERVE_SENT : SERVE_SENT_PART;
}

/* A connection that is not kept can be closed at once: its request was read to the end, so the
 * kernel does not reset it, and the answer is not lost. */
bool serve_peer_next(struct serve_peer *peer)
{
    if (!peer->intake.keep || peer->said_more || peer->intake.is_too_much)
        return false;
    serve_intake_clear(&peer->intake);
    buf_free(&peer->unsent);
    peer->sent = 0;
    return true;
}
