/* SPDX-License-Identifier: MIT */
/* A web server's connection. */
#include "serve/peer.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
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

void serve_peer_request(struct serve_peer *peer, const struct request_wants *wants,
                        struct request *request)
{
    struct serve_cgi_announced announced;
    struct serve_cgi_reader reader;

    serve_cgi_begin(&reader, request, wants);
    serve_intake_see(&peer->intake, serve_cgi_see, &reader);
    serve_cgi_end(&reader, &announced);
    request->is_authorizer = peer->intake.is_authorizer;
    if (request->is_authorizer)
        announced = (struct serve_cgi_announced){.is_given = false};
    serve_cgi_set_body(request, &peer->intake.body, &announced);
}

/* ---- out ---- */

/* The end of an answer: an empty record of its stream, END_REQUEST, and perhaps one record more. */
#define TAIL_MAX (2 * SERVE_RECORD_HEADER_SIZE + SERVE_RECORD_END_SIZE)

/* Writes the end of an answer.  Returns its length.
 *
 * FastCGI has no record that says "no more requests".  If a connection only closed after an answer,
 * nginx could send the next request before it sees that.  So a record without content follows the
 * answer: nginx does not keep a connection on which bytes follow END_REQUEST, and closes it at
 * once. Other web servers ignore the record, also if it is the first one of their next answer. */
static size_t write_tail(const struct serve_peer *peer, unsigned char tail[TAIL_MAX])
{
    size_t len = SERVE_RECORD_HEADER_SIZE + SERVE_RECORD_END_SIZE;

    serve_record_empty(tail, SERVE_RECORD_STDOUT, peer->intake.id);
    serve_record_end(tail + SERVE_RECORD_HEADER_SIZE, peer->intake.id);
    if (!peer->is_last)
        return len;
    serve_record_empty(tail + len, SERVE_RECORD_STDERR, peer->intake.id);
    return len + SERVE_RECORD_HEADER_SIZE;
}

/* Sends an answer whose head is written, as much as the peer takes at once, and copies the rest. As
 * a rule there is none, so an answer is not copied. */
static bool send_or_copy(struct serve_peer *peer, const struct iovec *body,
                         const struct iovec *tail)
{
    struct buf *unsent = &peer->unsent;
    struct iovec parts[] = {{unsent->data, unsent->len}, *body, *tail};
    const struct msghdr message = {.msg_iov = parts, .msg_iovlen = sizeof parts / sizeof parts[0]};
    ssize_t n = sendmsg(peer->fd, &message, MSG_DONTWAIT | MSG_NOSIGNAL);

    peer->sent = n > 0 ? (size_t)n : 0;
    if (peer->sent == unsent->len + body->iov_len + tail->iov_len) {
        peer->sent = unsent->len;
        return true;
    }
    /* All at once: a buffer that has to grow doubles. */
    if (!buf_room(unsent, body->iov_len + tail->iov_len))
        return false;
    buf_add(unsent, body->iov_base, body->iov_len);
    buf_add(unsent, tail->iov_base, tail->iov_len);
    return true;
}

/* Cuts an answer whose head is written into several records. */
static bool copy_large(struct serve_peer *peer, const struct iovec *body, const struct iovec *tail)
{
    struct buf *unsent = &peer->unsent;

    if (!buf_room(unsent, body->iov_len + ROOM_AROUND))
        return false;
    buf_add(unsent, body->iov_base, body->iov_len);
    serve_record_frame(unsent, SERVE_RECORD_STDOUT, peer->intake.id); /* with the tail's first */
    buf_add(unsent, (const char *)tail->iov_base + SERVE_RECORD_HEADER_SIZE,
            tail->iov_len - SERVE_RECORD_HEADER_SIZE);
    return !unsent->failed;
}

bool serve_peer_answer(struct serve_peer *peer, const struct response *response, bool is_last)
{
    struct buf *unsent = &peer->unsent;
    unsigned char bytes[TAIL_MAX];
    const struct iovec body = {response->body.data, response->omit_body ? 0 : response->body.len};
    struct iovec tail = {.iov_base = bytes};

    peer->is_last = is_last && peer->intake.keep;
    tail.iov_len = write_tail(peer, bytes);
    serve_record_begin(unsent);
    serve_cgi_write_head(unsent, response);
    if (unsent->failed)
        return false;
    if (unsent->len + body.iov_len > SERVE_RECORD_PIECE_MAX)
        return copy_large(peer, &body, &tail);
    serve_record_frame_one(unsent, SERVE_RECORD_STDOUT, peer->intake.id, body.iov_len);
    return send_or_copy(peer, &body, &tail);
}

/* Web servers have room for a whole answer, as a rule: one send() is enough. */
enum serve_sent serve_peer_send(struct serve_peer *peer)
{
    struct buf *unsent = &peer->unsent;
    ssize_t n;

    if (peer->sent == unsent->len)
        return SERVE_SENT;
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
    if (!peer->intake.keep || peer->is_last || peer->said_more || peer->intake.is_too_much)
        return false;
    serve_intake_clear(&peer->intake);
    buf_free(&peer->unsent);
    peer->sent = 0;
    return true;
}
