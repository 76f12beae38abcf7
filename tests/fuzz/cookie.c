/* SPDX-License-Identifier: MIT */
/* Fuzz target: the gate's cookies.  The input is a Cookie header up to a NUL, a byte that says what
 * the rest is, and the bytes of a session, of a state or of a row before sealing. */
#include "gate/cookie.h"

#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "crypt/key.h"
#include "fuzz.h"
#include "gate/login_state.h"
#include "gate/sealed.h"
#include "gate/visitor_session.h"

#define PREFIX text_of("adit.")

static const struct sealed_place place = {
    .account_id = {.s = "ac_1", .len = 4},
    .edge_id = {.s = "edge-1", .len = 6},
    .route_id = {.s = "route-1", .len = 7},
    .provider = 1,
};

/* Returns a keyring of one key, from a file in memory. */
static struct keyring *load_keyring(void)
{
    static const char content[] =
        "k 0000000000000000000000000000000000000000000000000000000000000000\n";
    static struct keyring *keyring;
    char path[64];
    char reason[256];
    int fd;

    if (keyring)
        return keyring;
    fd = memfd_create("key", MFD_CLOEXEC);
    MUST(fd >= 0 && fchmod(fd, 0600) == 0);
    MUST(write(fd, content, sizeof content - 1) == sizeof content - 1);
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    keyring = keyring_load(path, reason, sizeof reason);
    MUST(keyring);
    return keyring;
}

/* ---- the header ---- */

static void add_values(struct buf *out, const struct cookies *cookies)
{
    size_t next = 0;
    struct text value;

    while ((value = cookie_next(cookies, &next, text_of("a"))).s) {
        buf_add(out, value.s, value.len);
        buf_puts(out, ";");
    }
}

/* The application sees all other cookies, and nothing of the gate's. */
static void try_without(struct text header, struct arena *arena)
{
    const struct cookie_own own = {.prefix = PREFIX};
    struct buf out = {0};
    struct buf again = {0};
    struct buf before = {0};
    struct buf after = {0};
    struct cookies seen;
    struct cookies all;
    size_t next = 0;

    cookie_without(&out, header, &own);
    MUST(!out.failed && out.len <= header.len * 2);
    for (size_t i = 0; i < out.len; i++)
        MUST(out.data[i] != '\r' && out.data[i] != '\n' && out.data[i] != '\0');
    cookies_read(buf_text(&out), arena, &seen);
    MUST(!cookie_next(&seen, &next, text_of("adit.session")).s);
    next = 0;
    MUST(!cookie_next_state(&seen, &next, PREFIX));
    cookie_without(&again, buf_text(&out), &own);
    MUST(text_eq(buf_text(&again), buf_text(&out)));
    if (is_plain(header)) {
        cookies_read(header, arena, &all);
        add_values(&before, &all);
        add_values(&after, &seen);
        MUST(text_eq(buf_text(&before), buf_text(&after)));
    }
    buf_free(&out);
    buf_free(&again);
    buf_free(&before);
    buf_free(&after);
}

static void try_values(struct text header, struct arena *arena)
{
    struct cookies cookies;
    size_t next = 0;
    struct visitor_session session;
    struct login_state state;
    struct error err;
    struct text value;
    char id[VISITOR_SESSION_ID_SIZE];

    cookies_read(header, arena, &cookies);
    while ((value = cookie_next_ending(&cookies, &next, text_of("session"))).s) {
        MUST(!memchr(value.s, ';', value.len));
        if (visitor_session_open(load_keyring(), &place, value, arena, &session, &err)) {
            MUST(visitor_session_peek(value, id));
            accepted();
        } else {
            MUST(err.code == ERR_NONE);
        }
    }
    next = 0;
    while ((value = cookie_next(&cookies, &next, text_of("adit.state.AAAAAAAA"))).s) {
        if (login_state_open(load_keyring(), &place, value, arena, &state, &err))
            accepted();
        else
            MUST(err.code == ERR_NONE);
    }
}

/* ---- bytes before sealing ---- */

static void must_hold(const struct sealing *sealing, struct text value, struct text bytes)
{
    struct text again;
    struct error err;

    MUST(sealed_read(sealing, value, &again, &err) && text_eq(again, bytes));
    accepted();
}

/* A session that opens is sealed as the same bytes again. */
static void try_session(struct text bytes, struct arena *arena)
{
    const struct sealing sealing = {load_keyring(), &place, "gate.session", arena};
    struct visitor_session session;
    struct buf value = {0};
    struct error err;
    char id[VISITOR_SESSION_ID_SIZE];

    if (bytes.len < 1 + VISITOR_SESSION_ID_LEN)
        return;
    crypt_key_base64url_encode((const unsigned char *)bytes.s + 1, VISITOR_SESSION_ID_LEN, id);
    buf_puts(&value, id);
    MUST(sealed_write(&sealing, bytes, &value, &err));
    if (visitor_session_open(load_keyring(), &place, buf_text(&value), arena, &session, &err)) {
        buf_clear(&value);
        MUST(visitor_session_seal(load_keyring(), &place, &session, arena, &value, &err));
        MUST(memcmp(value.data, id, VISITOR_SESSION_ID_SIZE - 1) == 0);
        must_hold(&sealing, text_part(buf_text(&value), VISITOR_SESSION_ID_SIZE - 1, value.len),
                  bytes);
    } else {
        MUST(err.code == ERR_NONE);
    }
    buf_free(&value);
}

static void try_state(struct text bytes, struct arena *arena)
{
    const struct sealing sealing = {load_keyring(), &place, "gate.state", arena};
    struct login_state state;
    struct buf value = {0};
    struct error err;

    MUST(sealed_write(&sealing, bytes, &value, &err));
    if (login_state_open(load_keyring(), &place, buf_text(&value), arena, &state, &err)) {
        MUST(login_way_back_valid(state.way_back));
        buf_clear(&value);
        MUST(login_state_seal(load_keyring(), &place, &state, arena, &value, &err));
        must_hold(&sealing, buf_text(&value), bytes);
    } else {
        MUST(err.code == ERR_NONE);
    }
    buf_free(&value);
}

static void try_row(struct text bytes, struct arena *arena)
{
    struct visitor_session session = {.is_in_row = true};
    struct buf again = {0};

    if (bytes.len < 1 + VISITOR_SESSION_ID_LEN)
        return;
    memcpy(session.id, bytes.s + 1, VISITOR_SESSION_ID_LEN);
    if (visitor_session_read_identity(bytes, arena, &session)) {
        visitor_session_write_identity(&again, &session);
        MUST(text_eq(buf_text(&again), bytes));
        accepted();
    }
    buf_free(&again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct input input = input_of(data, size);
    char *header = take_string(&input);
    struct arena arena = {0};

    try_without(text_of(header), &arena);
    try_values(text_of(header), &arena);
    if (input.left > 0) {
        struct text bytes = {.s = input.at + 1, .len = input.left - 1};

        if (*input.at == 's')
            try_session(bytes, &arena);
        else if (*input.at == 't')
            try_state(bytes, &arena);
        else if (*input.at == 'r')
            try_row(bytes, &arena);
    }
    arena_free(&arena);
    free(header);
    return 0;
}
