/* SPDX-License-Identifier: MIT */
/* Reads client secrets from files. */
#include "ctl/secret_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/ident.h"
#include "base/invisible.h"
#include "base/utf8.h"
#include "model/oauth_module.h"
#include "keyring/keyring.h"

/* Writes the reason.  Returns false. */
static bool bad_file(char reason[SECRET_REASON_SIZE], const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static bool bad_file(char reason[SECRET_REASON_SIZE], const char *format, ...)
{
    va_list args;

    va_start(args, format);
    vsnprintf(reason, SECRET_REASON_SIZE, format, args);
    va_end(args);
    return false;
}

/* Refuses the secrets of Adit itself, whatever their file or variable is called: who reads the
 * module would read them. */
static bool is_of_others(struct text secret, char reason[SECRET_REASON_SIZE])
{
    char line[OAUTH_TEXT_MAX + 1];
    bool is_key;

    memcpy(line, secret.s, secret.len);
    line[secret.len] = '\0';
    is_key = keyring_is_line(line);
    explicit_bzero(line, sizeof line);
    if (is_key)
        return bad_file(reason, "is refused: it is a key of a key file, so it is no client secret");
    if (api_key_valid(secret))
        return bad_file(reason, "is refused: it is an API key of Adit, so it is no client secret");
    return true;
}

bool secret_valid(struct text secret, char reason[SECRET_REASON_SIZE])
{
    struct invisible found;

    if (invisible_find(secret, &found))
        return bad_file(reason, INVISIBLE_FORMAT, found.what);
    if (secret.len == 0)
        return bad_file(reason, "is empty");
    if (secret.len > OAUTH_TEXT_MAX)
        return bad_file(reason, "has more than %d bytes", OAUTH_TEXT_MAX);
    if (memchr(secret.s, '\0', secret.len) || !utf8_valid(secret.s, secret.len))
        return bad_file(reason, "is not UTF-8 text");
    if (memchr(secret.s, '\n', secret.len) || memchr(secret.s, '\r', secret.len))
        return bad_file(reason, "has more than one line");
    return is_of_others(secret, reason);
}

/* Takes the text without the line end that editors add. */
static struct text without_line_end(struct text value)
{
    if (value.len > 0 && value.s[value.len - 1] == '\n')
        value.len--;
    if (value.len > 0 && value.s[value.len - 1] == '\r')
        value.len--;
    return value;
}

static bool read_bytes(int fd, struct arena *arena, struct text *secret,
                       char reason[SECRET_REASON_SIZE])
{
    const size_t most = OAUTH_TEXT_MAX + 3; /* a line end, and one byte too many */
    char *bytes = arena_alloc(arena, most);
    ssize_t n = 1;

    *secret = (struct text){.s = bytes};
    while (bytes && n > 0 && secret->len < most) {
        n = read(fd, bytes + secret->len, most - secret->len);
        secret->len += n > 0 ? (size_t)n : 0;
    }
    if (!bytes || n < 0)
        return bad_file(reason, "cannot be read: %s", strerror(errno));
    *secret = without_line_end(*secret);
    return secret_valid(*secret, reason);
}

bool secret_file_read_open(int fd, struct arena *arena, struct text *secret,
                           char reason[SECRET_REASON_SIZE])
{
    struct stat status;

    if (fstat(fd, &status) != 0 || !S_ISREG(status.st_mode))
        return bad_file(reason, "is not a regular file");
    if (status.st_mode & (S_IROTH | S_IWOTH))
        return bad_file(reason, "others may read or write; run: chmod o= on it");
    return read_bytes(fd, arena, secret, reason);
}

bool secret_file_read(const char *path, struct arena *arena, struct text *secret,
                      char reason[SECRET_REASON_SIZE])
{
    /* Without O_NONBLOCK, the open of a FIFO waits for a writer. */
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    bool ok;

    if (fd < 0)
        return bad_file(reason, "cannot be opened: %s", strerror(errno));
    ok = secret_file_read_open(fd, arena, secret, reason);
    close(fd);
    return ok;
}
