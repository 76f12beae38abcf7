/* SPDX-License-Identifier: MIT */
/* Key files, and secrets sealed for their place. */
#include "keyring/keyring.h"

#include <errno.h>
#include <fcntl.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/ascii.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/invisible.h"
#include "base/number.h"
#include "crypt/crypt.h"
#include "keyring/key_file.h"

#define MAX_KEYS 16
#define REASON_SIZE 256

/* A file that could not be read is read again after this, or once it has changed.  A client who
 * sends the ids of keys that do not exist must not have each request read a file. */
#define FAILED_MS 1000

struct sealing_key {
    char id[KEYRING_ID_MAX + 1];
    unsigned char key[CRYPT_KEY_LEN];
    struct crypt_cipher *cipher; /* with this key */
};

struct keyring {
    struct sealing_key keys[MAX_KEYS];
    size_t n;
    struct crypt_cipher *salted; /* for the keys of places with a salt */
    char *path;
    struct stat read_at; /* of the file that was read */
    struct failure {
        int64_t until_ms;   /* on the steady clock; 0: reading did not fail */
        struct stat status; /* of the file; all zero: there was none */
        char reason[REASON_SIZE];
    } failure;
};

/* ---- the key file ---- */

static bool read_id(struct sealing_key *key, const char *at, size_t len)
{
    if (len < 1 || len > KEYRING_ID_MAX)
        return false;
    for (size_t i = 0; i < len; i++) {
        if (!ascii_is_alnum(at[i]) && !strchr("._-", at[i]))
            return false;
    }
    memcpy(key->id, at, len);
    key->id[len] = '\0';
    return true;
}

static bool read_hex(struct sealing_key *key, const char *at)
{
    for (size_t i = 0; i < CRYPT_KEY_LEN; i++) {
        int high = ascii_hex_value(at[0]);
        int low = high < 0 ? -1 : ascii_hex_value(at[1]);

        if (low < 0)
            return false;
        key->key[i] = (unsigned char)(high << 4 | low);
        at += 2;
    }
    return *at == '\0';
}

static bool make_ciphers(struct keyring *keyring)
{
    bool ok = (keyring->salted = crypt_cipher_new()) != NULL;

    for (size_t i = 0; ok && i < keyring->n; i++) {
        struct sealing_key *key = &keyring->keys[i];

        key->cipher = crypt_cipher_new();
        ok = key->cipher && crypt_cipher_set_key(key->cipher, key->key);
    }
    return ok;
}

/* Reads the line of a key, without its end.  Returns NULL, or what is wrong with it. */
static const char *read_sealing_key(struct sealing_key *key, const char *line)
{
    size_t id_len = strcspn(line, " \t");

    if (!read_id(key, line, id_len))
        return "expected '<key id> <64 hexadecimal digits>', with a key id of letters, digits, "
               "'.', '_' and '-'";
    line += id_len;
    return read_hex(key, line + strspn(line, " \t")) ? NULL
                                                     : "the key is not 64 hexadecimal digits";
}

/* Returns NULL, or what is wrong with the line. */
static const char *read_key_line(struct keyring *keyring, char *line)
{
    struct sealing_key *key = &keyring->keys[keyring->n];
    const char *wrong;

    line[strcspn(line, "\r\n")] = '\0';
    if (line[0] == '\0' || line[0] == '#')
        return NULL;
    if (keyring->n == MAX_KEYS)
        return "there are more than 16 keys; keep at most 16";
    wrong = read_sealing_key(key, line);
    if (wrong)
        return wrong;
    for (size_t i = 0; i < keyring->n; i++) {
        if (strcmp(keyring->keys[i].id, key->id) == 0)
            return "the key id is used twice";
    }
    keyring->n++;
    return NULL;
}

bool keyring_is_line(const char *line)
{
    struct sealing_key key;
    bool is_key = read_sealing_key(&key, line) == NULL;

    explicit_bzero(&key, sizeof key);
    return is_key;
}

static bool read_lines(struct keyring *keyring, FILE *file, const char *path, char *reason,
                       size_t size)
{
    char *line = NULL;
    size_t line_size = 0;
    const char *wrong = NULL;
    struct invisible found;
    bool is_shown = true;
    int number;

    for (number = 1; !wrong && is_shown && getline(&line, &line_size, file) >= 0; number++) {
        is_shown = line[0] == '#' || !invisible_find(text_of(line), &found);
        wrong = is_shown ? read_key_line(keyring, line) : NULL;
    }
    if (line)
        explicit_bzero(line, line_size);
    free(line);
    if (!is_shown)
        snprintf(reason, size, "%s:%d: the line " INVISIBLE_FORMAT, path, number - 1, found.what);
    else if (wrong)
        snprintf(reason, size, "%s:%d: %s", path, number - 1, wrong);
    else if (ferror(file))
        snprintf(reason, size, "%s: cannot be read: %s", path, strerror(errno));
    else if (keyring->n == 0)
        snprintf(reason, size, "%s: contains no key", path);
    else
        return true;
    return false;
}

static void say_unopened(const char *path, int error, char *reason, size_t size)
{
    const struct passwd *user = error == EACCES ? getpwuid(geteuid()) : NULL;

    if (error == ENOENT)
        snprintf(reason, size,
                 "%s: there is no such file; restore it from your copy, or, if no secret was ever "
                 "sealed, run: aditctl secrets init",
                 path);
    else if (error == EACCES)
        snprintf(
            reason, size,
            "%s: the user %s (uid %lu) may not read it; give the file a group of that user and "
            "mode 640, "
            "and let the user search every folder above it",
            path, user ? user->pw_name : "without a name", (unsigned long)geteuid());
    else
        snprintf(reason, size, "%s: cannot be opened: %s", path, strerror(error));
}

/* Opens a file as fopen() does.  Without O_NONBLOCK, the open of a FIFO waits for a writer. */
static FILE *open_key_file(const char *path)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    FILE *file = fd < 0 ? NULL : fdopen(fd, "r");

    if (fd >= 0 && !file)
        close(fd);
    return file;
}

struct keyring *keyring_load(const char *path, char *reason, size_t size)
{
    struct keyring *keyring = NULL;
    FILE *file = open_key_file(path);
    struct stat status;
    bool ok = false;

    if (!file) {
        say_unopened(path, errno, reason, size);
        return NULL;
    }
    setvbuf(file, NULL, _IONBF, 0); /* no unwiped copy of a key in a buffer */
    keyring = calloc(1, sizeof *keyring);
    if (keyring)
        keyring->path = strdup(path);
    if (!keyring || !keyring->path)
        snprintf(reason, size, "out of memory");
    else if (fstat(fileno(file), &status) != 0 || !S_ISREG(status.st_mode))
        snprintf(reason, size, "%s: is not a file", path);
    else if (status.st_mode & (S_IROTH | S_IWOTH))
        snprintf(reason, size, "%s: others may read or write it; run: chmod o= %s", path, path);
    else
        ok = read_lines(keyring, file, path, reason, size);
    if (ok && !make_ciphers(keyring)) {
        snprintf(reason, size, "out of memory");
        ok = false;
    }
    if (ok)
        keyring->read_at = status;
    fclose(file);
    if (ok)
        return keyring;
    keyring_free(keyring);
    return NULL;
}

bool keyring_is_missing(const char *path)
{
    return access(path, F_OK) != 0 && errno == ENOENT;
}

void keyring_free(struct keyring *keyring)
{
    if (!keyring)
        return;
    for (size_t i = 0; i < keyring->n; i++)
        crypt_cipher_free(keyring->keys[i].cipher);
    crypt_cipher_free(keyring->salted);
    free(keyring->path);
    explicit_bzero(keyring, sizeof *keyring);
    free(keyring);
}

const char *keyring_first(const struct keyring *keyring)
{
    return keyring->keys[0].id;
}

enum renewal { SAME_FILE, RENEWED, NOT_RENEWED };

static bool same_content(const struct stat *a, const struct stat *b)
{
    return a->st_ino == b->st_ino && a->st_size == b->st_size &&
           memcmp(&a->st_mtim, &b->st_mtim, sizeof a->st_mtim) == 0;
}

static bool same_rights(const struct stat *a, const struct stat *b)
{
    return a->st_mode == b->st_mode && a->st_uid == b->st_uid && a->st_gid == b->st_gid;
}

/* Reads the file again if it was replaced or changed.  If that fails, the keyring stays as it was
 * and reason says why. */
static enum renewal read_again(struct keyring *keyring, char *reason, size_t size)
{
    struct failure *failure = &keyring->failure;
    struct stat now;
    struct keyring *other;
    struct keyring kept;

    if (stat(keyring->path, &now) != 0)
        memset(&now, 0, sizeof now);
    else if (same_content(&now, &keyring->read_at))
        return SAME_FILE;
    if (clock_steady_ms() < failure->until_ms && same_content(&now, &failure->status) &&
        same_rights(&now, &failure->status)) {
        snprintf(reason, size, "%s", failure->reason);
        return NOT_RENEWED;
    }
    other = keyring_load(keyring->path, reason, size);
    if (!other) {
        failure->until_ms = clock_steady_ms() + FAILED_MS;
        failure->status = now;
        snprintf(failure->reason, sizeof failure->reason, "%s", reason);
        return NOT_RENEWED;
    }
    kept = *keyring;
    *keyring = *other;
    *other = kept;
    explicit_bzero(&kept, sizeof kept);
    keyring_free(other);
    return RENEWED;
}

/* ---- making keys ---- */

bool keyring_add(const char *path, char *reason, size_t size)
{
    struct keyring *keyring = keyring_load(path, reason, size);
    char line[KEY_LINE_SIZE + 1];
    struct buf new_path = {0};
    bool ok = keyring != NULL;

    if (ok && keyring->n == MAX_KEYS) {
        snprintf(reason, size,
                 "%s: contains %d keys, the most there may be; remove a key that no secret uses",
                 path, MAX_KEYS);
        ok = false;
    }
    keyring_free(keyring);
    buf_printf(&new_path, "%s.new", path);
    ok = ok && key_file_make_line(line, reason, size);
    if (ok && (new_path.failed || !key_file_prepend(path, new_path.data, line))) {
        snprintf(reason, size, "%s: cannot be replaced by %s.new: %s%s", path, path,
                 strerror(errno),
                 errno == EEXIST ? "; unless another aditctl runs just now, delete that file" : "");
        ok = false;
    }
    buf_free(&new_path);
    explicit_bzero(line, sizeof line);
    return ok;
}

/* ---- sealing ---- */

/* Writes the data that the secret is bound to.  NUL separates the parts and occurs in none. */
static void write_place(struct buf *aad, const struct keyring_place *place, const char *key_id)
{
    char position[NUMBER_MAX];
    size_t n_digits = number_write(position, (uint64_t)place->position);

    buf_puts(aad, "adit 1");
    buf_add(aad, "", 1);
    buf_puts(aad, place->column);
    buf_add(aad, "", 1);
    buf_puts(aad, key_id);
    buf_add(aad, "", 1);
    buf_add(aad, position, n_digits);
    buf_add(aad, "", 1);
    buf_add(aad, place->account_id.s, place->account_id.len);
    for (size_t i = 0; i < 2; i++) {
        buf_add(aad, "", 1);
        buf_add(aad, place->ids[i].s, place->ids[i].len);
    }
}

/* Returns a cipher with the key that seals for a place, for one seal: that of the key, or one with
 * a key made with the place's salt by the one-step derivation of NIST SP 800-56C, 4.1, which costs
 * a quarter of an HMAC.  Returns NULL if libcrypto fails, for lack of memory. */
static struct crypt_cipher *cipher_of(const struct keyring *keyring, const struct sealing_key *key,
                                      const struct keyring_place *place)
{
    struct {
        unsigned char counter[4];
        unsigned char key[CRYPT_KEY_LEN];
        char label[16];
        unsigned char salt[KEYRING_SALT_LEN];
    } data = {.counter = {0, 0, 0, 1}, .label = "adit 1 one seal"};
    unsigned char derived[CRYPT_KEY_LEN];
    bool ok;

    _Static_assert(CRYPT_KEY_LEN == CRYPT_SHA256_LEN, "a digest is a key");
    _Static_assert(sizeof data == 4 + CRYPT_KEY_LEN + 16 + KEYRING_SALT_LEN, "no padding");
    if (!place->salt)
        return key->cipher;
    memcpy(data.key, key->key, sizeof data.key);
    memcpy(data.salt, place->salt, sizeof data.salt);
    ok =
        crypt_sha256(&data, sizeof data, derived) && crypt_cipher_set_key(keyring->salted, derived);
    explicit_bzero(&data, sizeof data);
    explicit_bzero(derived, sizeof derived);
    return ok ? keyring->salted : NULL;
}

bool keyring_seal(struct keyring *keyring, const struct keyring_place *place, struct text secret,
                  struct arena *arena, struct text *key_id, struct text *sealed, struct error *err)
{
    const struct sealing_key *key = &keyring->keys[0];
    unsigned char *out = arena_alloc(arena, secret.len + CRYPT_SEAL_OVERHEAD);
    struct crypt_cipher *cipher;
    struct buf aad = {0};
    char reason[REASON_SIZE];
    char *id;
    bool ok;

    /* The old key may be gone from the file: a secret sealed under it would be lost. */
    if (read_again(keyring, reason, sizeof reason) == NOT_RENEWED)
        return error_cause(err, ERR_SECRET_NOT_SEALED, "secrets: %s", reason);
    /* A copy: another request may change the keyring before this one's statement is sent. */
    id = arena_copy(arena, key->id, strlen(key->id));
    write_place(&aad, place, key->id);
    cipher = cipher_of(keyring, key, place);
    ok = out && id && !aad.failed && cipher && crypt_seal(cipher, buf_text(&aad), secret, out);
    buf_free(&aad);
    if (!ok)
        return error_set(err, ERR_OUT_OF_MEMORY);
    *key_id = text_of(id);
    *sealed = (struct text){(const char *)out, secret.len + CRYPT_SEAL_OVERHEAD};
    return true;
}

static const struct sealing_key *find_key(const struct keyring *keyring, struct text id)
{
    for (size_t i = 0; i < keyring->n; i++) {
        if (text_eq(text_of(keyring->keys[i].id), id))
            return &keyring->keys[i];
    }
    return NULL;
}

bool keyring_has(const struct keyring *keyring, struct text id)
{
    return find_key(keyring, id) != NULL;
}

/* Finds a key of the file as it is now.  *key is NULL if there is none.  Returns false with a
 * reason if the file cannot be read; *key is that of the keyring then. */
static bool find_anew(struct keyring *keyring, struct text id, const struct sealing_key **key,
                      char *reason, size_t size)
{
    bool is_read = read_again(keyring, reason, size) != NOT_RENEWED;

    *key = find_key(keyring, id);
    return is_read;
}

bool keyring_look_up(struct keyring *keyring, struct text id, bool *has, struct error *err)
{
    const struct sealing_key *key;
    char reason[REASON_SIZE];

    if (!find_anew(keyring, id, &key, reason, sizeof reason))
        return error_cause(err, ERR_SECRET_UNREADABLE, "secrets: %s", reason);
    *has = key != NULL;
    return true;
}

bool keyring_open(struct keyring *keyring, const struct keyring_place *place, struct text key_id,
                  struct text sealed, struct arena *arena, struct text *secret, struct error *err)
{
    const struct sealing_key *key;
    struct crypt_cipher *cipher;
    struct buf aad = {0};
    enum crypt_opened opened = CRYPT_NO_MEMORY;
    char reason[REASON_SIZE];
    char *out;
    bool is_read = find_anew(keyring, key_id, &key, reason, sizeof reason);

    if (!key)
        return error_cause(err, ERR_SECRET_UNREADABLE,
                           "secrets: %s is sealed under key '%.64s': %s", place->column,
                           key_id.s ? key_id.s : "",
                           is_read ? "the key file does not contain this key" : reason);
    if (sealed.len < CRYPT_SEAL_OVERHEAD)
        return error_cause(err, ERR_SECRET_UNREADABLE, "secrets: %s is truncated", place->column);
    out = arena_alloc(arena, sealed.len - CRYPT_SEAL_OVERHEAD + 1);
    write_place(&aad, place, key->id);
    cipher = cipher_of(keyring, key, place);
    if (out && !aad.failed && cipher)
        opened =
            crypt_open(cipher, buf_text(&aad), (const unsigned char *)sealed.s, sealed.len, out);
    buf_free(&aad);
    if (opened == CRYPT_NO_MEMORY)
        return error_set(err, ERR_OUT_OF_MEMORY);
    if (opened == CRYPT_NOT_GOOD)
        return error_cause(err, ERR_SECRET_UNREADABLE,
                           "secrets: %s was not sealed for this row under key '%s', or was altered",
                           place->column, key->id);
    *secret = (struct text){.s = out, .len = sealed.len - CRYPT_SEAL_OVERHEAD};
    return true;
}

/* ---- digests ---- */

/* The key that digests are made with.  No other use of the sealing key gives the same bytes. */
static const char digest_label[] = "adit 1 digest of a secret";

bool keyring_digest(const struct keyring *keyring, const struct keyring_place *place,
                    struct text key_id, struct text secret, char digest[KEYRING_DIGEST_SIZE],
                    struct error *err)
{
    const struct sealing_key *key =
        key_id.s ? find_key(keyring, key_id) : &keyring->keys[keyring->n - 1];
    unsigned char derived[CRYPT_SHA256_LEN];
    unsigned char mac[CRYPT_SHA256_LEN];
    struct buf data = {0};
    size_t len;
    bool ok;

    if (!key)
        return error_cause(err, ERR_SECRET_UNREADABLE, "the key file does not contain key '%.64s'",
                           key_id.s);
    write_place(&data, place, key->id);
    buf_add(&data, "", 1);
    buf_add(&data, secret.s, secret.len);
    ok = !data.failed &&
         crypt_hmac_sha256(key->key, sizeof key->key, digest_label, sizeof digest_label, derived) &&
         crypt_hmac_sha256(derived, sizeof derived, data.data, data.len, mac);
    buf_free(&data);
    explicit_bzero(derived, sizeof derived);
    if (!ok)
        return error_set(err, ERR_OUT_OF_MEMORY);
    len = (size_t)snprintf(digest, KEYRING_DIGEST_SIZE, "%s:", key->id);
    for (size_t i = 0; i < 16; i++)
        len += (size_t)snprintf(digest + len, KEYRING_DIGEST_SIZE - len, "%02x", mac[i]);
    return true;
}
