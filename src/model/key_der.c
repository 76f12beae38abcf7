/* SPDX-License-Identifier: MIT */
/* DER (X.690) of public keys.  Each accepted algorithm has one AlgorithmIdentifier, which is
 * compared as bytes: less parsing, fewer accepted variants. */
#include "model/key_der.h"

#include <string.h>

#include "model/key_reason.h"

#define TAG_INTEGER 0x02
#define TAG_BIT_STRING 0x03
#define TAG_SEQUENCE 0x30

/* Object identifiers with tag and length. */
#define OID_RSA "\x06\x09\x2a\x86\x48\x86\xf7\x0d\x01\x01\x01" /* 1.2.840.113549.1.1.1 */
#define OID_DSA "\x06\x07\x2a\x86\x48\xce\x38\x04\x01"         /* 1.2.840.10040.4.1 */
#define OID_EC "\x06\x07\x2a\x86\x48\xce\x3d\x02\x01"          /* 1.2.840.10045.2.1 */
#define OID_P256 "\x06\x08\x2a\x86\x48\xce\x3d\x03\x01\x07"    /* 1.2.840.10045.3.1.7 */
#define OID_P384 "\x06\x05\x2b\x81\x04\x00\x22"                /* 1.3.132.0.34 */
#define OID_P521 "\x06\x05\x2b\x81\x04\x00\x23"                /* 1.3.132.0.35 */
#define OID_ED25519 "\x06\x03\x2b\x65\x70"                     /* 1.3.101.112 */
#define DER_NULL "\x05\x00"

struct bytes {
    const unsigned char *at;
    size_t len;
};

struct algorithm {
    const char *id; /* content of the AlgorithmIdentifier, or its beginning */
    size_t id_len;
    const char *name; /* the SSH type, or the reason for the refusal */
};

#define ROW(id, name) id, sizeof(id) - 1, name

static const struct algorithm accepted[] = {
    {ROW(OID_RSA DER_NULL, "ssh-rsa")},
    {ROW(OID_EC OID_P256, "ecdsa-sha2-nistp256")},
    {ROW(OID_EC OID_P384, "ecdsa-sha2-nistp384")},
    {ROW(OID_EC OID_P521, "ecdsa-sha2-nistp521")},
    {ROW(OID_ED25519, "ssh-ed25519")},
};

/* The first row that fits has the reason. */
static const struct algorithm refused[] = {
    {ROW(OID_DSA, KEY_REASON_DSA)},         {ROW(OID_EC "\x30", KEY_REASON_CURVE_EXPLICIT)},
    {ROW(OID_EC "\x06", KEY_REASON_CURVE)}, {ROW(OID_EC, KEY_REASON_DER)},
    {ROW(OID_RSA, KEY_REASON_DER)},         {ROW(OID_ED25519, KEY_REASON_DER)},
    {ROW("\x06", KEY_REASON_TYPE)},         {ROW("", KEY_REASON_DER)},
};

/* Takes an element with that tag off the front.  Accepts definite lengths in their shortest form,
 * up to 64 KiB: no key is longer. */
static bool take_element(struct bytes *in, unsigned char tag, struct bytes *content)
{
    size_t head = 2;
    size_t len;

    if (in->len < 2 || in->at[0] != tag)
        return false;
    len = in->at[1];
    if (len >= 0x80) {
        size_t n = len - 0x80;

        if (n < 1 || n > 2 || in->len < 2 + n)
            return false;
        len = n == 1 ? in->at[2] : (size_t)in->at[2] << 8 | in->at[3];
        if (len < (n == 1 ? 0x80u : 0x100u))
            return false;
        head += n;
    }
    if (len > in->len - head)
        return false;
    *content = (struct bytes){.at = in->at + head, .len = len};
    in->at += head + len;
    in->len -= head + len;
    return true;
}

static bool begins_with(struct bytes b, const struct algorithm *row)
{
    return b.len >= row->id_len && memcmp(b.at, row->id, row->id_len) == 0;
}

/* Detects a private key with the label of a public one.  It begins with a version of 0 or 1
 * (PKCS#1, PKCS#8, SEC 1), a public key with an algorithm or a large number. */
static bool is_private(struct bytes content)
{
    struct bytes version;

    return take_element(&content, TAG_INTEGER, &version) && version.len == 1 && version.at[0] <= 1;
}

/* Opens the SEQUENCE, which has to be all of the data. */
static bool open_key(const unsigned char *der, size_t len, struct bytes *content,
                     const char **reason)
{
    struct bytes in = {.at = der, .len = len};

    *reason = KEY_REASON_DER;
    if (!take_element(&in, TAG_SEQUENCE, content))
        return false;
    if (is_private(*content)) {
        *reason = KEY_REASON_PRIVATE;
        return false;
    }
    if (in.len > 0)
        *reason = KEY_REASON_TRAILING;
    return in.len == 0;
}

static const char *find_type(struct bytes algorithm, const char **reason)
{
    for (size_t i = 0; i < sizeof accepted / sizeof accepted[0]; i++) {
        if (algorithm.len == accepted[i].id_len && begins_with(algorithm, &accepted[i]))
            return accepted[i].name;
    }
    for (size_t i = 0; i < sizeof refused / sizeof refused[0]; i++) {
        if (begins_with(algorithm, &refused[i])) {
            *reason = refused[i].name;
            break;
        }
    }
    return NULL;
}

static bool put(struct ssh_blob *blob, struct bytes b)
{
    return ssh_blob_put(blob, b.at, b.len);
}

/* An INTEGER has the same content as SSH's mpint: two's complement, most significant byte first. */
static bool put_rsa(struct ssh_blob *blob, struct bytes content)
{
    struct bytes e;
    struct bytes n;

    return take_element(&content, TAG_INTEGER, &n) && take_element(&content, TAG_INTEGER, &e) &&
           content.len == 0 && ssh_blob_put(blob, "ssh-rsa", strlen("ssh-rsa")) && put(blob, e) &&
           put(blob, n);
}

bool key_der_from_pkcs1(const unsigned char *der, size_t len, struct ssh_blob *blob,
                        const char **reason)
{
    struct bytes content;

    if (!open_key(der, len, &content, reason))
        return false;
    *reason = KEY_REASON_DER;
    return put_rsa(blob, content);
}

/* Writes the content of the BIT STRING as the key of that type. */
static bool put_key(struct ssh_blob *blob, const char *name, struct bytes key, const char **reason)
{
    const struct ssh_type *type = ssh_type_of(name, strlen(name));

    if (type->kind == SSH_KIND_RSA)
        return key_der_from_pkcs1(key.at, key.len, blob, reason);
    return ssh_blob_put(blob, name, strlen(name)) &&
           (!type->curve || ssh_blob_put(blob, type->curve, strlen(type->curve))) && put(blob, key);
}

bool key_der_from_info(const unsigned char *der, size_t len, struct ssh_blob *blob,
                       const char **reason)
{
    struct bytes content;
    struct bytes algorithm;
    struct bytes bits;
    const char *name;

    if (!open_key(der, len, &content, reason))
        return false;
    *reason = KEY_REASON_DER;
    if (!take_element(&content, TAG_SEQUENCE, &algorithm))
        return false;
    name = find_type(algorithm, reason);
    if (!name || !take_element(&content, TAG_BIT_STRING, &bits) || content.len > 0)
        return false;
    /* The first byte counts the bits that are unused in the last one. */
    if (bits.len < 1 || bits.at[0] != 0)
        return false;
    bits.at++;
    bits.len--;
    return put_key(blob, name, bits, reason);
}

#undef ROW
