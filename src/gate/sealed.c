/* SPDX-License-Identifier: MIT */
/* A value is the length of the key's id, the id, a salt, and what the keyring sealed. */
#include "gate/sealed.h"

#include <sys/random.h>

#include "base/ascii.h"
#include "crypt/crypt.h"
#include "crypt/key.h"

static struct keyring_place bound_place(const struct sealing *sealing, const unsigned char *salt)
{
    return (struct keyring_place){
        .column = sealing->purpose,
        .account_id = sealing->place->account_id,
        .ids = {sealing->place->edge_id, sealing->place->route_id},
        .position = sealing->place->provider,
        .salt = salt,
    };
}

bool sealed_write(const struct sealing *sealing, struct text bytes, struct buf *out,
                  struct error *err)
{
    unsigned char salt[KEYRING_SALT_LEN];
    struct keyring_place place = bound_place(sealing, salt);
    struct text key_id = {.s = NULL};
    struct text sealed;
    struct buf raw = {0};
    char *room = NULL;
    char id_len;

    if (getrandom(salt, sizeof salt, 0) != sizeof salt)
        return error_cause(err, ERR_INTERNAL, "there are no random numbers");
    if (!keyring_seal(sealing->keyring, &place, bytes, sealing->arena, &key_id, &sealed, err))
        return false;
    id_len = (char)key_id.len;
    buf_add(&raw, &id_len, 1);
    buf_add(&raw, key_id.s, key_id.len);
    buf_add(&raw, (const char *)salt, sizeof salt);
    buf_add(&raw, sealed.s, sealed.len);
    if (!raw.failed)
        room = buf_room(out, CRYPT_KEY_BASE64URL_SIZE(raw.len) - 1);
    if (room) {
        crypt_key_base64url_encode((const unsigned char *)raw.data, raw.len, room);
        out->len += CRYPT_KEY_BASE64URL_SIZE(raw.len) - 1;
    }
    buf_free(&raw);
    return room || error_set(err, ERR_OUT_OF_MEMORY);
}

/* Bytes before base64url, around the id of the key and what is sealed. */
#define AROUND (1 + KEYRING_SALT_LEN + CRYPT_SEAL_OVERHEAD)

bool sealed_looks_good(struct text value)
{
    unsigned char head[CRYPT_KEY_BASE64URL_ROOM(4)];
    size_t len;

    if (value.len < CRYPT_KEY_BASE64URL_SIZE(AROUND + 1) - 1 || value.len > SEALED_COOKIE_MAX ||
        !crypt_key_base64url_decode(value.s, 4, head, &len) || head[0] < 1 ||
        head[0] > KEYRING_ID_MAX ||
        value.len < CRYPT_KEY_BASE64URL_SIZE(AROUND + (size_t)head[0]) - 1)
        return false;
    for (size_t i = 0; i < value.len; i++) {
        if (!ascii_is_alnum(value.s[i]) && value.s[i] != '-' && value.s[i] != '_')
            return false;
    }
    return true;
}

bool sealed_may_have_key(struct keyring *keyring, struct text value)
{
    /* A whole number of groups of base64url, with all of the longest id. */
    enum { HEAD_LEN = (1 + KEYRING_ID_MAX + 2) / 3 * 4 };
    unsigned char head[CRYPT_KEY_BASE64URL_ROOM(HEAD_LEN)];
    struct error ignored;
    bool has_key = false;
    size_t len = 0;

    if (!sealed_looks_good(value) ||
        !crypt_key_base64url_decode(value.s, value.len < HEAD_LEN ? value.len : HEAD_LEN, head,
                                    &len) ||
        len <= head[0])
        return false;
    return !keyring_look_up(keyring, (struct text){.s = (const char *)head + 1, .len = head[0]},
                            &has_key, &ignored) ||
           has_key;
}

/* Splits a value; the salt is at the beginning of *sealed.  Returns false with ERR_NONE or
 * ERR_OUT_OF_MEMORY. */
static bool split_value(struct arena *arena, struct text value, struct text *key_id,
                        struct text *sealed, struct error *err)
{
    struct text raw = {.s = NULL};
    unsigned char *out;
    size_t id_len;

    if (value.len == 0 || value.len > SEALED_COOKIE_MAX)
        return error_set(err, ERR_NONE);
    out = arena_alloc(arena, CRYPT_KEY_BASE64URL_ROOM(value.len));
    if (!out)
        return error_set(err, ERR_OUT_OF_MEMORY);
    if (!crypt_key_base64url_decode(value.s, value.len, out, &raw.len))
        return error_set(err, ERR_NONE);
    raw.s = (const char *)out;
    id_len = raw.len > 0 ? out[0] : 0;
    if (id_len < 1 || id_len > KEYRING_ID_MAX || raw.len < AROUND + id_len)
        return error_set(err, ERR_NONE);
    *key_id = text_part(raw, 1, 1 + id_len);
    *sealed = text_part(raw, 1 + id_len, raw.len);
    return true;
}

bool sealed_read(const struct sealing *sealing, struct text value, struct text *bytes,
                 struct error *err)
{
    struct keyring_place place;
    struct text key_id = {.s = NULL};
    struct text sealed = {.s = NULL};
    bool has_key = false;

    if (!split_value(sealing->arena, value, &key_id, &sealed, err) ||
        !keyring_look_up(sealing->keyring, key_id, &has_key, err))
        return false;
    if (!has_key)
        return error_set(err, ERR_NONE);
    place = bound_place(sealing, (const unsigned char *)sealed.s);
    sealed = text_part(sealed, KEYRING_SALT_LEN, sealed.len);
    if (keyring_open(sealing->keyring, &place, key_id, sealed, sealing->arena, bytes, err))
        return true;
    /* The key is there, so anything else means that the value was sealed elsewhere or altered. */
    return error_set(err, err->code == ERR_OUT_OF_MEMORY ? ERR_OUT_OF_MEMORY : ERR_NONE);
}
