/* SPDX-License-Identifier: MIT */
/* Reading the wire form with a cursor, and a check for each kind of key. */
#include "model/ssh_wire.h"

#include <stdint.h>
#include <string.h>

#include "crypt/key.h"
#include "model/key_reason.h"

#define RSA_MIN_BITS 2048
#define RSA_MAX_BITS 16384
#define RSA_MAX_EXPONENT_BITS 64

static const struct ssh_type unknown_type = {.kind = SSH_KIND_UNKNOWN};
static const struct ssh_type certificate_type = {.kind = SSH_KIND_CERTIFICATE};

static const struct ssh_type types[] = {
    {SSH_KIND_DSA, "ssh-dss", NULL, 0},
    {SSH_KIND_RSA, "ssh-rsa", NULL, 0},
    {SSH_KIND_ECDSA, "ecdsa-sha2-nistp256", "nistp256", 65},
    {SSH_KIND_ECDSA, "ecdsa-sha2-nistp384", "nistp384", 97},
    {SSH_KIND_ECDSA, "ecdsa-sha2-nistp521", "nistp521", 133},
    {SSH_KIND_ED25519, "ssh-ed25519", NULL, 0},
    {SSH_KIND_SK_ECDSA, "sk-ecdsa-sha2-nistp256@openssh.com", "nistp256", 65},
    {SSH_KIND_SK_ED25519, "sk-ssh-ed25519@openssh.com", NULL, 0},
};

const struct ssh_type *ssh_type_of(const char *name, size_t len)
{
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++) {
        if (strlen(types[i].name) == len && memcmp(types[i].name, name, len) == 0)
            return &types[i];
    }
    /* "<type>-cert-v01@openssh.com", and the older v00 (PROTOCOL.certkeys). */
    if (memmem(name, len, "-cert-v0", 8))
        return &certificate_type;
    return &unknown_type;
}

const char *ssh_type_refusal(const struct ssh_type *type)
{
    switch (type->kind) {
    case SSH_KIND_UNKNOWN:
        return KEY_REASON_TYPE;
    case SSH_KIND_CERTIFICATE:
        return KEY_REASON_CERTIFICATE;
    case SSH_KIND_DSA:
        return KEY_REASON_DSA;
    default:
        return NULL;
    }
}

bool ssh_blob_put(struct ssh_blob *blob, const void *s, size_t len)
{
    unsigned char *at = blob->data + blob->len;

    if (len > sizeof blob->data - 4 || blob->len > sizeof blob->data - 4 - len)
        return false;
    at[0] = (unsigned char)(len >> 24);
    at[1] = (unsigned char)(len >> 16);
    at[2] = (unsigned char)(len >> 8);
    at[3] = (unsigned char)len;
    memcpy(at + 4, s, len);
    blob->len += 4 + len;
    return true;
}

/* ---- the cursor ---- */

struct string {
    const unsigned char *data;
    size_t len;
};

struct cursor {
    const unsigned char *at;
    size_t left;
    const char **reason;
};

static bool refuse_blob(struct cursor *c, const char *reason)
{
    *c->reason = reason;
    return false;
}

static bool take_string(struct cursor *c, struct string *out)
{
    uint32_t len;

    if (c->left < 4)
        return refuse_blob(c, KEY_REASON_CUT);
    len = (uint32_t)c->at[0] << 24 | (uint32_t)c->at[1] << 16 | (uint32_t)c->at[2] << 8 | c->at[3];
    if (len > c->left - 4)
        return refuse_blob(c, KEY_REASON_CUT);
    *out = (struct string){.data = c->at + 4, .len = len};
    c->at += 4 + (size_t)len;
    c->left -= 4 + (size_t)len;
    return true;
}

/* Takes a positive number.  Leaves out the leading zero byte that keeps its first bit from being a
 * sign. */
static bool take_number(struct cursor *c, struct string *out)
{
    if (!take_string(c, out))
        return false;
    if (out->len == 0 || out->data[0] >= 0x80)
        return refuse_blob(c, KEY_REASON_NUMBER);
    if (out->data[0] == 0) {
        out->data++;
        out->len--;
        if (out->len == 0 || out->data[0] < 0x80)
            return refuse_blob(c, KEY_REASON_NUMBER);
    }
    return true;
}

static size_t bits_of(struct string number)
{
    size_t bits = number.len * 8;

    for (unsigned mask = 0x80; mask > number.data[0]; mask >>= 1)
        bits--;
    return bits;
}

static bool is_odd(struct string number)
{
    return number.data[number.len - 1] & 1;
}

/* ---- the kinds ---- */

static bool check_rsa(struct cursor *c)
{
    struct string e;
    struct string n;

    if (!take_number(c, &e) || !take_number(c, &n))
        return false;
    /* Odd, and of two bits or more: 3 or more. */
    if (!is_odd(e) || bits_of(e) < 2 || bits_of(e) > RSA_MAX_EXPONENT_BITS)
        return refuse_blob(c, KEY_REASON_RSA_EXPONENT);
    if (bits_of(n) < RSA_MIN_BITS)
        return refuse_blob(c, KEY_REASON_RSA_SHORT);
    if (bits_of(n) > RSA_MAX_BITS)
        return refuse_blob(c, KEY_REASON_RSA_LONG);
    return is_odd(n) || refuse_blob(c, KEY_REASON_RSA_MODULUS);
}

static bool check_point(struct cursor *c, const struct ssh_type *type, struct string point)
{
    bool valid;

    if (point.len == 1 && point.data[0] == 0)
        return refuse_blob(c, KEY_REASON_POINT_INFINITY);
    if (point.len == type->point_len / 2 + 1 && (point.data[0] == 2 || point.data[0] == 3))
        return refuse_blob(c, KEY_REASON_POINT_COMPRESSED);
    if (point.len != type->point_len || point.data[0] != 4)
        return refuse_blob(c, KEY_REASON_POINT_SIZE);
    if (!crypt_key_point_check(type->curve, point.data, point.len, &valid))
        return refuse_blob(c, NULL);
    return valid || refuse_blob(c, KEY_REASON_POINT_OFF);
}

static bool check_ecdsa(struct cursor *c, const struct ssh_type *type)
{
    struct string curve;
    struct string point;

    if (!take_string(c, &curve))
        return false;
    if (curve.len != strlen(type->curve) || memcmp(curve.data, type->curve, curve.len) != 0)
        return refuse_blob(c, KEY_REASON_CURVE_DIFFERS);
    return take_string(c, &point) && check_point(c, type, point);
}

static bool check_ed25519(struct cursor *c)
{
    struct string key;

    if (!take_string(c, &key))
        return false;
    if (key.len != CRYPT_ED25519_LEN)
        return refuse_blob(c, KEY_REASON_ED25519);
    return !crypt_key_ed25519_is_small(key.data) || refuse_blob(c, KEY_REASON_ED25519_SMALL);
}

/* The application is FIDO's relying party.  OpenSSH accepts any C string; "ssh:" is usual. */
static bool check_application(struct cursor *c)
{
    struct string application;

    if (!take_string(c, &application))
        return false;
    return !memchr(application.data, 0, application.len) || refuse_blob(c, KEY_REASON_APPLICATION);
}

static bool check_body(struct cursor *c, const struct ssh_type *type)
{
    switch (type->kind) {
    case SSH_KIND_RSA:
        return check_rsa(c);
    case SSH_KIND_ECDSA:
        return check_ecdsa(c, type);
    case SSH_KIND_ED25519:
        return check_ed25519(c);
    case SSH_KIND_SK_ECDSA:
        return check_ecdsa(c, type) && check_application(c);
    case SSH_KIND_SK_ED25519:
        return check_ed25519(c) && check_application(c);
    default:
        return refuse_blob(c, ssh_type_refusal(type));
    }
}

bool ssh_blob_check(const struct ssh_blob *blob, const struct ssh_type *expected,
                    const struct ssh_type **type, const char **reason)
{
    struct cursor c = {.at = blob->data, .left = blob->len, .reason = reason};
    struct string name;

    if (!take_string(&c, &name))
        return false;
    *type = ssh_type_of((const char *)name.data, name.len);
    if (expected && *type != expected)
        return refuse_blob(&c, KEY_REASON_TYPE_DIFFERS);
    return check_body(&c, *type) && (c.left == 0 || refuse_blob(&c, KEY_REASON_TRAILING));
}
