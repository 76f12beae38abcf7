/* SPDX-License-Identifier: MIT */
/* Fuzz target: public keys.  The input is the text of a key.  Or it is a byte of enum form, which
 * begins no text, and the data to encode in base64: a fuzzer does not find valid base64.
 */
#include "model/public_key.h"

#include "base/buf.h"
#include "crypt/key.h"
#include "fuzz.h"
#include "model/ssh_wire.h"

enum form { FORM_WIRE = 1, FORM_INFO, FORM_PKCS1 };

static const struct text nothing_like_a_key = {.s = "x", .len = 1};

/* Returns a copy of exactly that many bytes, without a NUL. */
static char *copy_of(struct text text)
{
    char *copy = malloc(text.len ? text.len : 1);

    MUST(copy);
    memcpy(copy, text.s, text.len);
    return copy;
}

static void look_at_key(const struct public_key *key)
{
    const char *print = key->fingerprint;
    const struct ssh_type *type = ssh_type_of(key->type, strlen(key->type));

    MUST(type->kind != SSH_KIND_UNKNOWN && !ssh_type_refusal(type) && type->name == key->type);
    MUST(strlen(print) == PUBLIC_KEY_FINGERPRINT_SIZE - 1);
    MUST(strncmp(print, "SHA256:", 7) == 0);
    MUST(strspn(print + 7, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/") ==
         43);
}

static void expect_key(struct text text, const struct public_key *key)
{
    struct public_key again;
    const char *reason;

    MUST(public_key_read(text, &again, &reason));
    MUST(again.type == key->type && strcmp(again.fingerprint, key->fingerprint) == 0);
}

/* White space around a key and a CRLF at its end do not change it. */
static void look_at_white_space(struct text text, const struct public_key *key)
{
    char *wide;

    if (text.len + 4 > PUBLIC_KEY_MAX)
        return;
    wide = malloc(text.len + 4);
    MUST(wide);
    memcpy(wide, "\n ", 2);
    memcpy(wide + 2, text.s, text.len);
    wide[2 + text.len] = '\r';
    wide[3 + text.len] = '\n';
    expect_key((struct text){.s = wide, .len = text.len + 4}, key);
    free(wide);
}

static void look_at_accepted(struct text text, const struct public_key *key)
{
    char *copy = copy_of(text);

    look_at_key(key);
    expect_key((struct text){.s = copy, .len = text.len}, key);
    free(copy);
    look_at_white_space(text, key);
    MUST(!memmem(text.s, text.len, "PRIVATE KEY", 11));
    MUST(!memchr(text.s, '\0', text.len));
}

/* The reason is static: a copy of the text gives one at the same address, and reading another text
 * does not change it.  So it cannot quote the text. */
static void look_at_refused(struct text text, const char *reason)
{
    char before[512];
    size_t before_len = strlen(reason);
    char *copy = copy_of(text);
    struct public_key key;
    const char *again;

    MUST(before_len < sizeof before);
    MUST(reason[0] >= 'a' && reason[0] <= 'z' && is_plain(text_of(reason)));
    memcpy(before, reason, before_len + 1);
    MUST(!public_key_read((struct text){.s = copy, .len = text.len}, &key, &again));
    MUST(again == reason);
    free(copy);
    MUST(!public_key_read(nothing_like_a_key, &key, &again));
    MUST(strcmp(before, reason) == 0);
}

static bool look_at_text(struct text text, struct public_key *key)
{
    const char *reason = NULL;

    if (public_key_read(text, key, &reason)) {
        look_at_accepted(text, key);
        return true;
    }
    MUST(reason);
    look_at_refused(text, reason);
    return false;
}

static bool look_at_armoured(struct text blob, const char *begin, const char *end,
                             struct public_key *key)
{
    char *base64 = malloc(CRYPT_KEY_ENCODED_SIZE(blob.len));
    struct buf text = {0};
    bool ok;

    MUST(base64);
    crypt_key_base64_encode((const unsigned char *)blob.s, blob.len, base64);
    buf_printf(&text, "%s%s%s", begin, base64, end);
    MUST(!text.failed);
    ok = look_at_text(buf_text(&text), key);
    buf_free(&text);
    free(base64);
    return ok;
}

/* Copies the type's name from the start of the blob. */
static void copy_name(struct text blob, char *name, size_t size)
{
    const unsigned char *bytes = (const unsigned char *)blob.s;
    size_t len = 0;

    if (blob.len >= 4 && !bytes[0] && !bytes[1] && !bytes[2])
        len = bytes[3];
    if (len > size - 2 || len + 4 > blob.len || !len)
        len = 0;
    for (size_t i = 0; i < len; i++)
        name[i] = (char)(bytes[4 + i] > ' ' && bytes[4 + i] < 0x7F ? bytes[4 + i] : 'x');
    memcpy(name + len, " ", 2);
}

/* The same bytes as a line and as RFC 4716 are the same key.  Security keys have only the line. */
static bool look_at_wire(struct text blob)
{
    struct public_key as_line;
    struct public_key as_ssh2;
    char begin[256];
    bool line_ok;
    bool ssh2_ok;

    copy_name(blob, begin, sizeof begin);
    line_ok = look_at_armoured(blob, begin, " comment", &as_line);
    ssh2_ok = look_at_armoured(blob, "---- BEGIN SSH2 PUBLIC KEY ----\n",
                               "\n---- END SSH2 PUBLIC KEY ----\n", &as_ssh2);
    MUST(line_ok || !ssh2_ok);
    if (ssh2_ok)
        MUST(as_line.type == as_ssh2.type && !strcmp(as_line.fingerprint, as_ssh2.fingerprint));
    else if (line_ok)
        MUST(strncmp(as_line.type, "sk-", 3) == 0);
    return line_ok;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct text text = {.s = (const char *)data, .len = size};
    struct text inside = {.s = text.s + 1, .len = size - 1};
    struct public_key key;
    bool ok;

    switch (size > 0 ? *data : 0) {
    case FORM_WIRE:
        ok = look_at_wire(inside);
        break;
    case FORM_INFO:
        ok = look_at_armoured(inside, "-----BEGIN PUBLIC KEY-----\n",
                              "\n-----END PUBLIC KEY-----\n", &key);
        break;
    case FORM_PKCS1:
        ok = look_at_armoured(inside, "-----BEGIN RSA PUBLIC KEY-----\n",
                              "\n-----END RSA PUBLIC KEY-----\n", &key);
        break;
    default:
        ok = look_at_text(text, &key);
    }
    if (ok)
        accepted();
    return 0;
}
