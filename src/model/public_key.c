/* SPDX-License-Identifier: MIT */
/* Reading the forms of public keys.  All are reduced to a wire blob, which has one check. */
#include "model/public_key.h"

#include <stdlib.h>
#include <string.h>

#include "base/ascii.h"
#include "base/invisible.h"
#include "crypt/crypt.h"
#include "crypt/key.h"
#include "model/key_der.h"
#include "model/key_reason.h"
#include "model/key_scan.h"
#include "model/ssh_wire.h"

#define SSH2_MAX_TAG 64 /* bytes; RFC 4716, section 3.3 */

/* A key while it is read.  It is overwritten at the end: it may be a private key with the label of
 * a public one. */
struct reading {
    struct text text; /* the unread rest; no NUL follows */
    size_t base64_len;
    size_t der_len;
    struct ssh_blob blob;
    char base64[PUBLIC_KEY_MAX];
    unsigned char der[CRYPT_KEY_DECODED_ROOM(PUBLIC_KEY_MAX)];
    const struct ssh_type *type;
    const char **reason;
};

_Static_assert(SSH_BLOB_MAX >= CRYPT_KEY_DECODED_ROOM(PUBLIC_KEY_MAX), "a decoded line fits");

static bool refuse_key(struct reading *r, const char *reason)
{
    *r->reason = reason;
    return false;
}

/* ---- text ---- */

static struct text trim_space(struct text t)
{
    while (t.len > 0 && ascii_is_space(t.s[0])) {
        t.s++;
        t.len--;
    }
    while (t.len > 0 && ascii_is_space(t.s[t.len - 1]))
        t.len--;
    return t;
}

static bool ends_with(struct text t, char c)
{
    return t.len > 0 && t.s[t.len - 1] == c;
}

/* Takes a line off the front, without its end and the blanks before that, which OpenSSL and
 * ssh-keygen pass over.  Returns false if no text is left. */
static bool take_line(struct reading *r, struct text *line)
{
    const char *end = r->text.len > 0 ? memchr(r->text.s, '\n', r->text.len) : NULL;
    size_t taken = end ? (size_t)(end - r->text.s) + 1 : r->text.len;

    if (taken == 0)
        return false;
    *line = (struct text){.s = r->text.s, .len = end ? taken - 1 : taken};
    while (line->len > 0 && ascii_is_space(line->s[line->len - 1]))
        line->len--;
    r->text.s += taken;
    r->text.len -= taken;
    return true;
}

/* ---- shared by PEM and RFC 4716: lines of base64 between a BEGIN and an END line ---- */

static void add_base64(struct reading *r, struct text line)
{
    memcpy(r->base64 + r->base64_len, line.s, line.len);
    r->base64_len += line.len;
}

/* Takes lines up to the END line.  The caller has taken the first one.  ssh-keygen passes over
 * blank lines in RFC 4716's form, OpenSSL refuses them in PEM. */
static bool take_base64(struct reading *r, struct text line, const char *end, bool takes_blank)
{
    while (!text_eq(line, text_of(end))) {
        if (line.len == 0 && !takes_blank)
            return refuse_key(r, KEY_REASON_BLANK_LINE);
        add_base64(r, trim_space(line));
        if (!take_line(r, &line))
            return refuse_key(r, KEY_REASON_NO_END);
    }
    return r->text.len == 0 || refuse_key(r, KEY_REASON_AFTER);
}

static bool decode_base64(struct reading *r, const char *s, size_t len, unsigned char *out,
                          size_t *out_len)
{
    return crypt_key_base64_decode(s, len, out, out_len) || refuse_key(r, KEY_REASON_BASE64);
}

/* ---- PEM (RFC 7468) ---- */

struct pem {
    const char *begin;
    const char *end;
    bool (*read)(const unsigned char *der, size_t len, struct ssh_blob *blob, const char **reason);
};

static const struct pem pems[] = {
    {"-----BEGIN PUBLIC KEY-----", "-----END PUBLIC KEY-----", key_der_from_info},
    {"-----BEGIN RSA PUBLIC KEY-----", "-----END RSA PUBLIC KEY-----", key_der_from_pkcs1},
};

static const struct pem *find_pem(struct reading *r, struct text begin)
{
    for (size_t i = 0; i < sizeof pems / sizeof pems[0]; i++) {
        if (text_eq(begin, text_of(pems[i].begin)))
            return &pems[i];
    }
    *r->reason = text_begins(begin, KEY_SCAN_PEM_BEGIN "DSA ") ? KEY_REASON_DSA : KEY_REASON_LABEL;
    return NULL;
}

static bool read_pem(struct reading *r)
{
    struct text line = {0};
    const struct pem *pem = take_line(r, &line) ? find_pem(r, line) : NULL;

    if (!pem)
        return false;
    if (!take_line(r, &line))
        return refuse_key(r, KEY_REASON_NO_END);
    if (memchr(line.s, ':', line.len))
        return refuse_key(r, KEY_REASON_PEM_HEADER);
    return take_base64(r, line, pem->end, false) &&
           decode_base64(r, r->base64, r->base64_len, r->der, &r->der_len) &&
           pem->read(r->der, r->der_len, &r->blob, r->reason) &&
           ssh_blob_check(&r->blob, NULL, &r->type, r->reason);
}

/* ---- RFC 4716 ---- */

/* Checks a header, which begins with that line, and takes the lines that continue it. */
static bool take_header(struct reading *r, struct text line)
{
    const char *colon = memchr(line.s, ':', line.len);
    size_t tag_len = (size_t)(colon - line.s);

    if (tag_len < 1 || tag_len > SSH2_MAX_TAG || (tag_len + 1 < line.len && colon[1] != ' '))
        return refuse_key(r, KEY_REASON_SSH2_HEADER);
    for (size_t i = 0; i < tag_len; i++) {
        if (!ascii_is_visible(line.s[i]))
            return refuse_key(r, KEY_REASON_SSH2_HEADER);
    }
    while (ends_with(line, '\\')) {
        if (!take_line(r, &line))
            return refuse_key(r, KEY_REASON_NO_END);
    }
    return true;
}

/* Takes all headers, and the line after them: the first one without a colon. */
static bool take_headers(struct reading *r, struct text *line)
{
    for (;;) {
        if (!take_line(r, line))
            return refuse_key(r, KEY_REASON_NO_END);
        if (!memchr(line->s, ':', line->len))
            return true;
        if (!take_header(r, *line))
            return false;
    }
}

static bool read_ssh2(struct reading *r)
{
    struct text line = {0};

    if (!take_line(r, &line) || !text_eq(line, text_of("---- BEGIN SSH2 PUBLIC KEY ----")))
        return refuse_key(r, KEY_REASON_BEGIN_SSH2);
    if (!take_headers(r, &line) || !take_base64(r, line, "---- END SSH2 PUBLIC KEY ----", true) ||
        !decode_base64(r, r->base64, r->base64_len, r->blob.data, &r->blob.len) ||
        !ssh_blob_check(&r->blob, NULL, &r->type, r->reason))
        return false;
    /* NOLINTNEXTLINE(clang-analyzer-core.NullDereference): ssh_blob_check() has set the type */
    if (r->type->kind == SSH_KIND_SK_ECDSA || r->type->kind == SSH_KIND_SK_ED25519)
        return refuse_key(r, KEY_REASON_SECURITY_KEY);
    return true;
}

/* ---- OpenSSH's line ---- */

static bool read_openssh(struct reading *r)
{
    struct text rest = r->text;
    struct text name = key_scan_word(&rest);
    struct text data = key_scan_word(&rest);
    const struct ssh_type *type = ssh_type_of(name.s, name.len);
    const char *refusal = ssh_type_refusal(type);

    if (type->kind == SSH_KIND_UNKNOWN && !text_begins(data, KEY_SCAN_BASE64_BEGIN))
        return refuse_key(r, KEY_REASON_FORM);
    if (refusal)
        return refuse_key(r, refusal);
    if (memchr(r->text.s, '\n', r->text.len) || memchr(r->text.s, '\r', r->text.len))
        return refuse_key(r, KEY_REASON_LINES);
    if (data.len == 0)
        return refuse_key(r, KEY_REASON_NO_DATA);
    return decode_base64(r, data.s, data.len, r->blob.data, &r->blob.len) &&
           ssh_blob_check(&r->blob, type, &r->type, r->reason);
}

/* ---- all of them ---- */

/* Returns the reason that names a character in the text that does not show, or NULL. */
static const char *invisible_reason(struct text text)
{
    /* clang-format off */
    static const char *const reasons[] = {
#define INVISIBLE(first, last, kind, name) KEY_REASON_INVISIBLE(name),
#include "base/invisible_table.h"
        KEY_REASON_INVISIBLE("a byte order mark of UTF-16"),
    };
    /* clang-format on */
    struct invisible found;

    return invisible_find(text, &found) ? reasons[found.row] : NULL;
}

/* Returns the text of a key without the comment of OpenSSH's line. */
static struct text without_comment(struct text key)
{
    struct text rest = key;

    if (text_begins(key, "-"))
        return key;
    key_scan_word(&rest);
    key_scan_word(&rest);
    return text_part(key, 0, key.len - rest.len);
}

/* Returns the reason why the text cannot be one public key from its first byte on, as far as a
 * search shows it, or NULL. */
static const char *look_over(struct text text)
{
    size_t first;
    size_t n_keys;

    if (memchr(text.s, '\0', text.len))
        return KEY_REASON_NUL;
    if (key_scan_private(text))
        return KEY_REASON_PRIVATE;
    if (key_scan_certificate(text))
        return KEY_REASON_CERTIFICATE;
    n_keys = key_scan_keys(text, &first);
    if (n_keys > 1)
        return KEY_REASON_SEVERAL;
    if (first > 0) {
        bool same_line = !memchr(text.s, '\n', first) && !memchr(text.s, '\r', first);
        const char *invisible = invisible_reason(text_part(text, 0, first));

        if (invisible)
            return invisible;
        return same_line && text.s[first] != '-' ? KEY_REASON_OPTIONS : KEY_REASON_BEFORE;
    }
    return NULL;
}

static bool read_form(struct reading *r)
{
    if (text_begins(r->text, KEY_SCAN_PEM_BEGIN))
        return read_pem(r);
    if (text_begins(r->text, KEY_SCAN_SSH2_BEGIN))
        return read_ssh2(r);
    return read_openssh(r);
}

bool public_key_fingerprint_valid(struct text text)
{
    if (text.len != PUBLIC_KEY_FINGERPRINT_SIZE - 1 ||
        !text_begins(text, PUBLIC_KEY_FINGERPRINT_PREFIX))
        return false;
    for (size_t i = sizeof PUBLIC_KEY_FINGERPRINT_PREFIX - 1; i < text.len; i++) {
        if (!ascii_is_alnum(text.s[i]) && text.s[i] != '+' && text.s[i] != '/')
            return false;
    }
    return true;
}

/* The prefix and the digest in base64 without its padding. */
static bool write_fingerprint(const struct ssh_blob *blob, char out[PUBLIC_KEY_FINGERPRINT_SIZE])
{
    static const char prefix[] = PUBLIC_KEY_FINGERPRINT_PREFIX;
    unsigned char digest[CRYPT_SHA256_LEN];
    char base64[CRYPT_KEY_ENCODED_SIZE(sizeof digest)];

    if (!crypt_sha256(blob->data, blob->len, digest))
        return false;
    crypt_key_base64_encode(digest, sizeof digest, base64);
    memcpy(out, prefix, sizeof prefix - 1);
    memcpy(out + sizeof prefix - 1, base64, PUBLIC_KEY_FINGERPRINT_SIZE - sizeof prefix);
    out[PUBLIC_KEY_FINGERPRINT_SIZE - 1] = '\0';
    return true;
}

bool public_key_read(struct text text, struct public_key *key, const char **reason)
{
    struct reading *r = NULL;
    bool ok = false;

    if (text.len > PUBLIC_KEY_MAX) {
        *reason = KEY_REASON_LONG;
        return false;
    }
    text = trim_space(text);
    *reason = text.len > 0 ? look_over(text) : KEY_REASON_EMPTY;
    if (*reason)
        return false;
    r = calloc(1, sizeof *r);
    if (!r)
        goto out;
    r->text = text;
    r->reason = reason;
    if (!read_form(r)) {
        const char *invisible = invisible_reason(without_comment(text));

        *reason = invisible ? invisible : *reason;
        goto out;
    }
    *reason = NULL;
    if (!write_fingerprint(&r->blob, key->fingerprint))
        goto out;
    key->type = r->type->name;
    ok = true;
out:
    if (r)
        explicit_bzero(r, sizeof *r);
    free(r);
    return ok;
}
