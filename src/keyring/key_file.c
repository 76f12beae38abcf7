/* SPDX-License-Identifier: MIT */
/* Writing the key file. */
#include "keyring/key_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "keyring/keyring.h"

bool key_file_make_line(char line[KEY_LINE_SIZE + 1], char *reason, size_t size)
{
    unsigned char random[4 + CRYPT_KEY_LEN];
    size_t len = 0;

    if (getrandom(random, sizeof random, 0) != sizeof random) {
        snprintf(reason, size, "the system has no random numbers");
        return false;
    }
    for (size_t i = 0; i < sizeof random; i++)
        len += (size_t)snprintf(line + len, KEY_LINE_SIZE + 1 - len, "%s%02x", i == 4 ? " " : "",
                                random[i]);
    line[len++] = '\n';
    line[len] = '\0';
    explicit_bzero(random, sizeof random);
    return true;
}

/* A crash of the machine must not lose a key that has sealed something. */
static bool sync_folder(const char *path)
{
    const char *slash = strrchr(path, '/');
    struct buf folder = {0};
    int fd = -1;
    bool ok;

    if (slash)
        buf_add(&folder, path, (size_t)(slash - path) + 1);
    else
        buf_puts(&folder, ".");
    if (!folder.failed)
        fd = open(folder.data, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    ok = fd >= 0 && fsync(fd) == 0;
    if (fd >= 0)
        close(fd);
    buf_free(&folder);
    return ok;
}

/* Says why the file cannot be created.  One that is too short for a key has sealed nothing. */
static void explain_create(const char *path, int error, char *reason, size_t size)
{
    struct stat status;

    if (error != EEXIST || stat(path, &status) != 0)
        snprintf(reason, size, "%s: cannot be created: %s", path, strerror(error));
    else if (status.st_size < KEY_LINE_SIZE)
        snprintf(reason, size,
                 "%s exists and is too short to hold a key; delete it, then run this "
                 "again",
                 path);
    else
        snprintf(reason, size,
                 "%s exists already, and secrets may be sealed under its key; to add "
                 "a key, run: aditctl secrets add-key",
                 path);
}

bool keyring_create(const char *path, char *reason, size_t size)
{
    char line[KEY_LINE_SIZE + 1];
    int error;
    int fd;
    bool ok;

    if (!key_file_make_line(line, reason, size))
        return false;
    fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    ok = fd >= 0 && write(fd, line, KEY_LINE_SIZE) == KEY_LINE_SIZE && fsync(fd) == 0 &&
         sync_folder(path);
    error = errno;
    if (fd >= 0)
        close(fd);
    if (fd >= 0 && !ok)
        (void)unlink(path); /* a part of a key is none, and would be in the way of the next try */
    if (!ok)
        explain_create(path, error, reason, size);
    explicit_bzero(line, sizeof line);
    return ok;
}

/* Copies the rest of a file through memory that is wiped. */
static bool copy_rest(int from, int to)
{
    char bytes[4096];
    ssize_t n;

    while ((n = read(from, bytes, sizeof bytes)) > 0) {
        if (write(to, bytes, (size_t)n) != n)
            break;
    }
    explicit_bzero(bytes, sizeof bytes);
    return n == 0;
}

/* Creates the new file before it opens the old one: O_EXCL makes it a lock against another program
 * that adds a key. */
bool key_file_prepend(const char *path, const char *new_path, const char *line)
{
    struct stat status;
    int to = open(new_path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    int from = open(path, O_RDONLY | O_CLOEXEC);
    bool ok = from >= 0 && to >= 0 && fstat(from, &status) == 0 &&
              write(to, line, KEY_LINE_SIZE) == KEY_LINE_SIZE && copy_rest(from, to) &&
              fchown(to, status.st_uid, status.st_gid) == 0 &&
              fchmod(to, status.st_mode & 0777) == 0 && fsync(to) == 0 &&
              rename(new_path, path) == 0 && sync_folder(path);
    int error = errno;

    if (from >= 0)
        close(from);
    if (to >= 0)
        close(to);
    if (to >= 0 && !ok)
        unlink(new_path);
    errno = error;
    return ok;
}
