/* SPDX-License-Identifier: MIT */
/* FastCGI's records, in and out. */
#include "serve/record.h"

#include <string.h>

#include "serve/request.h"

/* A multiple of eight needs no padding. */
#define PIECE_SIZE SERVE_RECORD_PIECE_MAX

static void write_header(unsigned char *out, enum serve_record_type type, uint16_t id, size_t len)
{
    const unsigned char header[SERVE_RECORD_HEADER_SIZE] = {FCGI_VERSION_1,
                                                            (unsigned char)type,
                                                            (unsigned char)(id >> 8),
                                                            (unsigned char)(id & 0xFF),
                                                            (unsigned char)(len >> 8),
                                                            (unsigned char)(len & 0xFF)};

    memcpy(out, header, sizeof header);
}

void serve_record_empty(unsigned char out[SERVE_RECORD_HEADER_SIZE], enum serve_record_type type,
                        uint16_t id)
{
    write_header(out, type, id, 0);
}

/* All zero: exit status 0, and FCGI_REQUEST_COMPLETE. */
void serve_record_end(unsigned char out[SERVE_RECORD_END_SIZE], uint16_t id)
{
    memset(out, 0, SERVE_RECORD_END_SIZE);
    write_header(out, SERVE_RECORD_END, id, SERVE_RECORD_END_SIZE - SERVE_RECORD_HEADER_SIZE);
}

void serve_record_begin(struct buf *buf)
{
    static const char room[SERVE_RECORD_HEADER_SIZE];

    buf_add(buf, room, sizeof room);
}

void serve_record_frame_one(struct buf *buf, enum serve_record_type type, uint16_t id,
                            size_t next_len)
{
    write_header((unsigned char *)buf->data, type, id,
                 buf->len - SERVE_RECORD_HEADER_SIZE + next_len);
}

/* In place: the first piece is where it belongs, each other one moves up by the headers before it.
 * The last piece moves first. */
void serve_record_frame(struct buf *buf, enum serve_record_type type, uint16_t id)
{
    size_t len = buf->failed ? 0 : buf->len - SERVE_RECORD_HEADER_SIZE;
    size_t n = (len + PIECE_SIZE - 1) / PIECE_SIZE;
    size_t headers = n * SERVE_RECORD_HEADER_SIZE;
    unsigned char *data;

    if (!buf_room(buf, headers))
        return;
    data = (unsigned char *)buf->data;
    write_header(data + len + headers, type, id, 0);
    for (size_t i = n; i-- > 0;) {
        size_t from = i * PIECE_SIZE;
        size_t to = from + i * SERVE_RECORD_HEADER_SIZE;
        size_t piece = len - from < PIECE_SIZE ? len - from : PIECE_SIZE;

        if (i > 0)
            memmove(data + to + SERVE_RECORD_HEADER_SIZE, data + from + SERVE_RECORD_HEADER_SIZE,
                    piece);
        write_header(data + to, type, id, piece);
    }
    buf->len += headers;
    buf->data[buf->len] = '\0';
}

/* ---- a request on its way in ---- */

static bool broken(struct serve_intake *intake, const char *cause)
{
    intake->cause = cause;
    return false;
}

/* Reads the length of a name or a value.  Returns false past the end. */
static bool read_pair_length(const unsigned char **at, size_t *left, size_t *len)
{
    const unsigned char *s = *at;
    size_t size = *left > 0 && s[0] >= 0x80 ? 4 : 1;

    if (*left < size)
        return false;
    *len = s[0];
    if (size == 4)
        *len = (size_t)(s[0] & 0x7F) << 24 | (size_t)s[1] << 16 | (size_t)s[2] << 8 | s[3];
    *at += size;
    *left -= size;
    return true;
}

/* Every name and value must lie within the content.  A NUL would cut it short. */
static bool check_params(struct serve_intake *intake)
{
    const unsigned char *at = (const unsigned char *)intake->params.data;
    size_t left = intake->params.len;

    while (left > 0) {
        size_t name;
        size_t value;

        if (!read_pair_length(&at, &left, &name) || !read_pair_length(&at, &left, &value) ||
            name > left || value > left - name)
            return broken(intake, "a variable's length is wrong");
        if (memchr(at, '\0', name + value))
            return broken(intake, "a variable holds a NUL");
        at += name + value;
        left -= name + value;
    }
    return true;
}

static bool check_begin(struct serve_intake *intake)
{
    if (intake->begin[0] != 0 ||
        (intake->begin[1] != FCGI_RESPONDER && intake->begin[1] != FCGI_AUTHORIZER))
        return broken(intake, "the role is unknown");
    intake->is_authorizer = intake->begin[1] == FCGI_AUTHORIZER;
    intake->keep = intake->begin[2] & FCGI_KEEP_CONN;
    return true;
}

static bool open_record(struct serve_intake *intake)
{
    const unsigned char *header = intake->header;
    uint16_t id = (uint16_t)(header[2] << 8 | header[3]);

    if (!intake->awaited)
        intake->awaited = SERVE_RECORD_BEGIN;
    if (header[0] != FCGI_VERSION_1)
        return broken(intake, "the peer does not speak FastCGI version 1");
    if (header[1] == SERVE_RECORD_ABORT)
        return broken(intake, "the web server aborted the request");
    if (header[1] != intake->awaited)
        return broken(intake, "a record is out of place");
    intake->content_len = (size_t)(header[4] << 8 | header[5]);
    intake->content_taken = 0;
    intake->padding_left = header[6];
    if (intake->awaited == SERVE_RECORD_BEGIN) {
        intake->id = id;
        return (id != 0 && intake->content_len == sizeof intake->begin) ||
               broken(intake, "a record is out of place");
    }
    return id == intake->id || broken(intake, "a record of a second request");
}

static bool take_params(struct serve_intake *intake, const char *data, size_t len)
{
    if (len > SERVE_PARAMS_MAX - intake->params.len)
        return broken(intake, "there are too many variables");
    buf_add(&intake->params, data, len);
    return !intake->params.failed || broken(intake, "out of memory");
}

/* Keeps one byte over the limit, which shows that the body exceeds it. */
static bool take_stdin(struct serve_intake *intake, const char *data, size_t len)
{
    size_t room = REQUEST_BODY_MAX + 1 - intake->body.len;
    size_t kept = len < room ? len : room;

    buf_add(&intake->body, data, kept);
    intake->dropped += len - kept;
    intake->is_too_much = intake->dropped > SERVE_RECORD_DRAIN_MAX;
    return !intake->body.failed || broken(intake, "out of memory");
}

static bool take_content(struct serve_intake *intake, const char *data, size_t len)
{
    bool ok = true;

    if (intake->awaited == SERVE_RECORD_BEGIN)
        memcpy(intake->begin + intake->content_taken, data, len);
    else if (intake->awaited == SERVE_RECORD_PARAMS)
        ok = take_params(intake, data, len);
    else
        ok = take_stdin(intake, data, len);
    intake->content_taken += len;
    return ok;
}

/* Called at a record's end.  Sets *whole if it was the request's last record. */
static bool close_record(struct serve_intake *intake, bool *whole)
{
    intake->header_len = 0;
    if (intake->awaited == SERVE_RECORD_BEGIN) {
        intake->awaited = SERVE_RECORD_PARAMS;
        return check_begin(intake);
    }
    if (intake->content_len > 0)
        return true;
    if (intake->awaited == SERVE_RECORD_STDIN) {
        *whole = true;
        return true;
    }
    *whole = intake->is_authorizer;
    intake->awaited = SERVE_RECORD_STDIN;
    return check_params(intake);
}

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* Takes some bytes, at most up to the end of a part of a record. */
static bool take_some(struct serve_intake *intake, const char *data, size_t len, size_t *used)
{
    size_t n = least(len, SERVE_RECORD_HEADER_SIZE - intake->header_len);

    if (n > 0) {
        memcpy(intake->header + intake->header_len, data, n);
        intake->header_len += n;
        *used += n;
        return intake->header_len < SERVE_RECORD_HEADER_SIZE || open_record(intake);
    }
    n = least(len, intake->content_len - intake->content_taken);
    if (n > 0) {
        *used += n;
        return take_content(intake, data, n);
    }
    n = least(len, intake->padding_left);
    intake->padding_left -= n;
    *used += n;
    return true;
}

static bool at_record_end(const struct serve_intake *intake)
{
    return intake->header_len == SERVE_RECORD_HEADER_SIZE &&
           intake->content_taken == intake->content_len && intake->padding_left == 0;
}

enum serve_progress serve_intake_take(struct serve_intake *intake, const char *data, size_t len,
                                      size_t *used)
{
    bool whole = false;

    *used = 0;
    while (*used < len && !whole) {
        if (!take_some(intake, data + *used, len - *used, used) ||
            (at_record_end(intake) && !close_record(intake, &whole)))
            return SERVE_BROKEN;
        whole = whole || intake->is_too_much;
    }
    return whole ? SERVE_WHOLE : SERVE_PART;
}

/* The length of the next name follows each value.  Once it is read, a NUL may take its place. */
void serve_intake_see(struct serve_intake *intake, serve_variable_seen *seen, void *context)
{
    const unsigned char *at = (const unsigned char *)intake->params.data;
    size_t left = intake->params.len;

    while (left > 0) {
        char *begin = intake->params.data + (intake->params.len - left);
        struct text name;
        size_t value_len;

        if (!read_pair_length(&at, &left, &name.len) || !read_pair_length(&at, &left, &value_len))
            return;
        *begin = '\0';
        name.s = (const char *)at;
        seen(context, name, name.s + name.len);
        at += name.len + value_len;
        left -= name.len + value_len;
    }
}

struct text serve_intake_find(const struct serve_intake *intake, const char *name)
{
    const unsigned char *at = (const unsigned char *)intake->params.data;
    size_t left = intake->params.len;
    size_t wanted_len = strlen(name);
    struct text found = {0};

    while (left > 0) {
        size_t name_len;
        size_t value_len;

        if (!read_pair_length(&at, &left, &name_len) || !read_pair_length(&at, &left, &value_len))
            break;
        if (name_len == wanted_len && memcmp(at, name, name_len) == 0)
            found = (struct text){(const char *)at + name_len, value_len};
        at += name_len + value_len;
        left -= name_len + value_len;
    }
    return found;
}

enum serve_progress serve_intake_refill(struct serve_intake *intake, uint16_t id, bool keep,
                                        struct text params, struct text body)
{
    intake->id = id;
    intake->keep = keep;
    intake->awaited = SERVE_RECORD_STDIN;
    return take_params(intake, params.s, params.len) && check_params(intake) &&
                   take_stdin(intake, body.s, body.len)
               ? SERVE_WHOLE
               : SERVE_BROKEN;
}

bool serve_intake_begun(const struct serve_intake *intake)
{
    return intake->header_len > 0 || intake->awaited != 0;
}

void serve_intake_clear(struct serve_intake *intake)
{
    buf_free(&intake->params);
    buf_free(&intake->body);
    *intake = (struct serve_intake){.id = 0};
}
