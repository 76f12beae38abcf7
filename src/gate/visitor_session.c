/* SPDX-License-Identifier: MIT */
/* Sessions: their bytes before sealing, and how long they last. */
#include "gate/visitor_session.h"

#include <sys/random.h>

#include "crypt/key.h"
#include "gate/packed.h"

#define PURPOSE "gate.session"

/* Of the bytes of a cookie and of a row.  A gate that reads another layout asks the visitor to
 * sign in again. */
#define LAYOUT 5

/* Of a session's flags, in one number.  Who is older than IS_STRANGER never set it. */
#define IS_IN_ROW 1
#define IS_STRANGER 2

/* 9999-12-31T23:59:59Z */
#define TIME_MAX 253402300799

bool visitor_session_new_id(unsigned char id[VISITOR_SESSION_ID_LEN])
{
    return getrandom(id, VISITOR_SESSION_ID_LEN, 0) == VISITOR_SESSION_ID_LEN;
}

/* ---- identity and token ---- */

static void put_identity(struct buf *out, const struct visitor_session *session)
{
    const struct identity *identity = &session->identity;

    packed_put_text(out, identity->subject);
    packed_put_optional(out, identity->name);
    packed_put_number(out, identity->known);
    packed_put_list(out, &identity->emails);
    packed_put_list(out, &identity->organizations);
    packed_put_list(out, &identity->teams);
    packed_put_number(out, identity->is_narrowed);
    if (identity->is_narrowed)
        buf_add(out, (const char *)identity->narrowed_to, IDENTITY_LISTS_LEN);
    packed_put_list(out, &session->asked);
    packed_put_optional(out, session->token);
    packed_put_optional(out, session->refresh);
    packed_put_number(out, session->n_renewed);
}

static void take_identity(struct packed *packed, struct visitor_session *session)
{
    struct identity *identity = &session->identity;

    identity->subject = packed_take_text(packed);
    identity->name = packed_take_optional(packed);
    identity->known = (unsigned)packed_take_number(packed, IDENTITY_ALL);
    identity->emails = packed_take_list(packed);
    identity->organizations = packed_take_list(packed);
    identity->teams = packed_take_list(packed);
    identity->is_narrowed = packed_take_number(packed, 1) == 1;
    if (identity->is_narrowed)
        packed_take_bytes(packed, identity->narrowed_to, IDENTITY_LISTS_LEN);
    session->asked = packed_take_list(packed);
    session->token = packed_take_optional(packed);
    session->refresh = packed_take_optional(packed);
    session->n_renewed = (uint32_t)packed_take_number(packed, UINT32_MAX);
    packed->malformed = packed->malformed || identity->subject.len == 0;
}

void visitor_session_write_identity(struct buf *out, const struct visitor_session *session)
{
    packed_put_number(out, LAYOUT);
    buf_add(out, (const char *)session->id, VISITOR_SESSION_ID_LEN);
    packed_put_number(out, session->is_unconfirmed ? 0 : (uint64_t)session->checked);
    put_identity(out, session);
}

bool visitor_session_read_identity(struct text bytes, struct arena *arena,
                                   struct visitor_session *session)
{
    struct packed packed = {.rest = bytes, .arena = arena};
    unsigned char id[VISITOR_SESSION_ID_LEN];
    struct visitor_session read = *session;

    if (bytes.len > VISITOR_SESSION_ROW_MAX || packed_take_number(&packed, LAYOUT) != LAYOUT)
        return false;
    packed_take_bytes(&packed, id, sizeof id);
    read.checked = (int64_t)packed_take_number(&packed, TIME_MAX);
    read.is_unconfirmed = read.checked == 0;
    take_identity(&packed, &read);
    if (!packed_is_done(&packed) || memcmp(id, session->id, sizeof id) != 0)
        return false;
    *session = read;
    return true;
}

/* Each writing seals with other random bytes. */
uint64_t visitor_session_row(const struct visitor_session *session)
{
    return session->row_sealed.s ? text_hash(session->row_sealed) : 0;
}

void visitor_session_take_tokens(struct visitor_session *session,
                                 const struct visitor_session *elsewhere)
{
    if (elsewhere->n_renewed <= session->n_renewed)
        return;
    session->token = elsewhere->token;
    session->refresh = elsewhere->refresh;
    session->n_renewed = elsewhere->n_renewed;
}

void visitor_session_take_over(struct visitor_session *session,
                               const struct visitor_session *elsewhere)
{
    visitor_session_take_tokens(session, elsewhere);
    session->identity = elsewhere->identity;
    if (elsewhere->checked > session->checked)
        session->checked = elsewhere->checked;
}

bool visitor_session_differs(const struct visitor_session *session,
                             const struct visitor_session *other)
{
    struct buf one = {0};
    struct buf two = {0};
    bool differs;

    put_identity(&one, session);
    put_identity(&two, other);
    differs = one.failed || two.failed || !text_eq(buf_text(&one), buf_text(&two));
    buf_free(&one);
    buf_free(&two);
    return differs;
}

/* ---- cookies ---- */

/* The id comes first, in the clear: the session's row is read before its place is known. */
#define ID_TEXT_LEN (VISITOR_SESSION_ID_SIZE - 1)

struct text visitor_session_id_text(const struct visitor_session *session,
                                    char id[VISITOR_SESSION_ID_SIZE])
{
    crypt_key_base64url_encode(session->id, VISITOR_SESSION_ID_LEN, id);
    return (struct text){id, ID_TEXT_LEN};
}

static void put_id(struct buf *out, const struct visitor_session *session)
{
    char id[VISITOR_SESSION_ID_SIZE];

    (void)visitor_session_id_text(session, id);
    buf_add(out, id, ID_TEXT_LEN);
}

static bool take_id(struct text value, unsigned char id[VISITOR_SESSION_ID_LEN])
{
    unsigned char decoded[CRYPT_KEY_BASE64URL_ROOM(ID_TEXT_LEN)];
    size_t len;

    if (value.len <= ID_TEXT_LEN ||
        !crypt_key_base64url_decode(value.s, ID_TEXT_LEN, decoded, &len) ||
        len != VISITOR_SESSION_ID_LEN)
        return false;
    memcpy(id, decoded, VISITOR_SESSION_ID_LEN);
    return true;
}

bool visitor_session_peek(struct text value, char id[VISITOR_SESSION_ID_SIZE])
{
    unsigned char bytes[VISITOR_SESSION_ID_LEN];

    if (!take_id(value, bytes) || !sealed_looks_good(text_part(value, ID_TEXT_LEN, value.len)))
        return false;
    memcpy(id, value.s, ID_TEXT_LEN);
    id[ID_TEXT_LEN] = '\0';
    return true;
}

bool visitor_session_looks_sealed(struct keyring *keyring, struct text value)
{
    char id[VISITOR_SESSION_ID_SIZE];

    return visitor_session_peek(value, id) &&
           sealed_may_have_key(keyring, text_part(value, ID_TEXT_LEN, value.len));
}

bool visitor_session_seal(struct keyring *keyring, const struct sealed_place *place,
                          const struct visitor_session *session, struct arena *arena,
                          struct buf *out, struct error *err)
{
    const struct sealing sealing = {keyring, place, PURPOSE, arena};
    struct buf bytes = {0};
    size_t before = out->len;
    bool ok;

    packed_put_number(&bytes, LAYOUT);
    buf_add(&bytes, (const char *)session->id, VISITOR_SESSION_ID_LEN);
    packed_put_number(&bytes, (uint64_t)session->issued);
    packed_put_number(&bytes, (uint64_t)session->seen);
    packed_put_number(&bytes, (uint64_t)session->checked);
    packed_put_text(&bytes, session->client_id);
    packed_put_number(&bytes, (uint64_t)session->incarnation);
    packed_put_text(&bytes, session->prefix);
    packed_put_number(&bytes, (session->is_in_row ? IS_IN_ROW : 0) |
                                  (session->is_stranger ? IS_STRANGER : 0));
    if (!session->is_in_row)
        put_identity(&bytes, session);
    put_id(out, session);
    ok = bytes.failed ? error_set(err, ERR_OUT_OF_MEMORY)
                      : sealed_write(&sealing, buf_text(&bytes), out, err);
    if (!ok)
        buf_cut(out, before);
    buf_free(&bytes);
    return ok;
}

bool visitor_session_open(struct keyring *keyring, const struct sealed_place *place,
                          struct text value, struct arena *arena, struct visitor_session *session,
                          struct error *err)
{
    const struct sealing sealing = {keyring, place, PURPOSE, arena};
    struct packed packed = {.arena = arena};
    struct visitor_session read = {.is_in_row = false};
    unsigned char id[VISITOR_SESSION_ID_LEN];
    uint64_t flags;

    if (!take_id(value, id))
        return error_set(err, ERR_NONE);
    if (!sealed_read(&sealing, text_part(value, ID_TEXT_LEN, value.len), &packed.rest, err))
        return false;
    if (packed_take_number(&packed, LAYOUT) != LAYOUT)
        return error_set(err, ERR_NONE);
    packed_take_bytes(&packed, read.id, sizeof read.id);
    read.issued = (int64_t)packed_take_number(&packed, TIME_MAX);
    read.seen = (int64_t)packed_take_number(&packed, TIME_MAX);
    read.checked = (int64_t)packed_take_number(&packed, TIME_MAX);
    read.client_id = packed_take_text(&packed);
    read.incarnation = (int64_t)packed_take_number(&packed, INT64_MAX);
    read.prefix = packed_take_text(&packed);
    flags = packed_take_number(&packed, IS_IN_ROW | IS_STRANGER);
    read.is_in_row = flags & IS_IN_ROW;
    read.is_stranger = flags & IS_STRANGER;
    if (!read.is_in_row)
        take_identity(&packed, &read);
    if (!packed_is_done(&packed) || memcmp(id, read.id, sizeof id) != 0)
        return error_set(err, packed.no_memory ? ERR_OUT_OF_MEMORY : ERR_NONE);
    *session = read;
    return true;
}

/* ---- how long ---- */

static bool is_ahead(int64_t time, int64_t now)
{
    return time > now + SEALED_CLOCK_S;
}

bool visitor_session_lasts(const struct visitor_session *session,
                           const struct visitor_session_limits *limits, int64_t now)
{
    int64_t age = now - session->issued;

    if (is_ahead(session->issued, now) || is_ahead(session->seen, now) ||
        is_ahead(session->checked, now) || age >= VISITOR_SESSION_LASTS_MAX)
        return false;
    if (limits->maximum_duration > 0 && age >= limits->maximum_duration)
        return false;
    return limits->inactivity_timeout == 0 || now - session->seen < limits->inactivity_timeout;
}

bool visitor_session_needs_check(const struct visitor_session *session,
                                 const struct visitor_session_limits *limits, int64_t now)
{
    return session->is_unconfirmed || (limits->auth_check_interval > 0 &&
                                       now - session->checked >= limits->auth_check_interval);
}
