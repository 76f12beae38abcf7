/* SPDX-License-Identifier: MIT */
/* The state of a login that has begun, and ways back. */
#include "gate/login_state.h"

#include <sys/random.h>

#include "base/ascii.h"
#include "crypt/key.h"
#include "gate/packed.h"

#define PURPOSE "gate.state"
#define LAYOUT 2
#define TIME_MAX 253402300799

/* ---- ways back ---- */

/* Percent-decodes a path, and puts a NUL after it.  Returns false if it has a control character or
 * a backslash, of which other programs make nothing or a '/'. */
static bool decode_path(struct text path, char decoded[LOGIN_WAY_BACK_MAX + 1])
{
    size_t len = 0;

    for (size_t at = 0; at < path.len; at++) {
        bool is_escape = path.s[at] == '%' && path.len - at > 2;
        int high = is_escape ? ascii_hex_value(path.s[at + 1]) : -1;
        int low = high < 0 ? -1 : ascii_hex_value(path.s[at + 2]);
        unsigned char c = (unsigned char)path.s[at];

        if (low >= 0) {
            c = (unsigned char)(high << 4 | low);
            at += 2;
        }
        if (c < ' ' || c == 0x7F || c == '\\')
            return false;
        decoded[len++] = (char)c;
    }
    decoded[len] = '\0';
    return true;
}

/* Returns whether a path that begins with '/' begins with one only, however it is normalized. */
static bool stays_on_host(struct text path)
{
    char decoded[LOGIN_WAY_BACK_MAX + 1] = "";

    if (!decode_path(path, decoded) || strncmp(decoded, "//", 2) == 0)
        return false;
    for (const char *slash = decoded; *slash;) {
        const char *segment = slash + 1;
        size_t len = strcspn(segment, "/");

        if ((len == 1 || len == 2) && strspn(segment, ".") == len)
            return false;
        slash = segment + len;
    }
    return true;
}

bool login_way_back_valid(struct text way_back)
{
    size_t path_len = 0;

    if (way_back.len < 1 || way_back.len > LOGIN_WAY_BACK_MAX || way_back.s[0] != '/')
        return false;
    for (size_t i = 0; i < way_back.len; i++) {
        if (!ascii_is_visible(way_back.s[i]) || way_back.s[i] == '\\')
            return false;
    }
    while (path_len < way_back.len && way_back.s[path_len] != '?' && way_back.s[path_len] != '#')
        path_len++;
    return stays_on_host(text_part(way_back, 0, path_len));
}

/* ---- states ---- */

bool login_state_new(struct login_state *state, int64_t now, struct text way_back)
{
    unsigned char random[16 + 32];

    _Static_assert(sizeof state->id == CRYPT_KEY_BASE64URL_SIZE(16), "room for the id");
    _Static_assert(sizeof state->code_verifier == CRYPT_KEY_BASE64URL_SIZE(32),
                   "room for the verifier");
    if (getrandom(random, sizeof random, 0) != sizeof random)
        return false;
    crypt_key_base64url_encode(random, 16, state->id);
    crypt_key_base64url_encode(random + 16, 32, state->code_verifier);
    explicit_bzero(random, sizeof random);
    state->issued = now;
    state->is_in_row = false;
    state->way_back = text_of("/");
    if (way_back.len <= LOGIN_WAY_BACK_IN_COOKIE_MAX && login_way_back_valid(way_back))
        state->way_back = way_back;
    return true;
}

bool login_state_lasts(const struct login_state *state, int64_t now)
{
    return state->issued <= now + SEALED_CLOCK_S && now - state->issued < LOGIN_STATE_S;
}

bool login_state_seal(struct keyring *keyring, const struct sealed_place *place,
                      const struct login_state *state, struct arena *arena, struct buf *out,
                      struct error *err)
{
    const struct sealing sealing = {keyring, place, PURPOSE, arena};
    struct buf bytes = {0};
    bool ok;

    packed_put_number(&bytes, LAYOUT);
    buf_add(&bytes, state->id, sizeof state->id - 1);
    buf_add(&bytes, state->code_verifier, sizeof state->code_verifier - 1);
    packed_put_number(&bytes, (uint64_t)state->issued);
    packed_put_text(&bytes, state->way_back);
    packed_put_number(&bytes, state->is_in_row);
    ok = bytes.failed ? error_set(err, ERR_OUT_OF_MEMORY)
                      : sealed_write(&sealing, buf_text(&bytes), out, err);
    buf_free(&bytes);
    return ok;
}

/* Reads characters of base64url, and puts a NUL after them. */
static void take_characters(struct packed *packed, char *out, size_t len)
{
    packed_take_bytes(packed, out, len);
    for (size_t i = 0; i < len; i++) {
        if (!ascii_is_alnum(out[i]) && out[i] != '-' && out[i] != '_')
            packed->malformed = true;
    }
    out[len] = '\0';
}

bool login_state_open(struct keyring *keyring, const struct sealed_place *place, struct text value,
                      struct arena *arena, struct login_state *state, struct error *err)
{
    const struct sealing sealing = {keyring, place, PURPOSE, arena};
    struct packed packed = {.arena = arena};
    struct login_state read;

    if (!sealed_read(&sealing, value, &packed.rest, err))
        return false;
    if (packed_take_number(&packed, LAYOUT) != LAYOUT)
        return error_set(err, ERR_NONE);
    take_characters(&packed, read.id, sizeof read.id - 1);
    take_characters(&packed, read.code_verifier, sizeof read.code_verifier - 1);
    read.issued = (int64_t)packed_take_number(&packed, TIME_MAX);
    read.way_back = packed_take_text(&packed);
    read.is_in_row = packed_take_number(&packed, 1) == 1;
    if (!packed_is_done(&packed) || !login_way_back_valid(read.way_back))
        return error_set(err, packed.no_memory ? ERR_OUT_OF_MEMORY : ERR_NONE);
    *state = read;
    return true;
}
