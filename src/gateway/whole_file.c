/* SPDX-License-Identifier: MIT */
/* Writes files aside and renames them. */
#include "gateway/whole_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "gateway/folder_lock.h"

/* Closes a descriptor and keeps errno. */
static void close_quietly(int fd)
{
    int fault = errno;

    close(fd);
    errno = fault;
}

static bool write_all(int fd, struct text content)
{
    for (size_t at = 0; at < content.len;) {
        ssize_t n = write(fd, content.s + at, content.len - at);

        if (n < 0)
            return false;
        at += (size_t)n;
    }
    return true;
}

static bool write_aside(int folder_fd, struct text content, bool is_forced)
{
    bool ok;
    int fd;

    if (unlinkat(folder_fd, WHOLE_FILE_ASIDE, 0) != 0 && errno != ENOENT)
        return false;
    fd = openat(folder_fd, WHOLE_FILE_ASIDE, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
    if (fd < 0)
        return false;
    ok = write_all(fd, content) && fchmod(fd, 0644) == 0 && (!is_forced || fsync(fd) == 0);
    close_quietly(fd);
    return ok;
}

static int open_folder(const char *folder)
{
    return open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

/* Makes the folder if there is none, and opens it.  Returns -1 with errno set if a step fails. */
static int make_folder(const char *folder)
{
    bool is_new = mkdir(folder, 0755) == 0;
    int fd;

    if (!is_new && errno != EEXIST)
        return -1;
    fd = open_folder(folder);
    if (fd < 0 || !is_new || fchmod(fd, 0755) == 0)
        return fd;
    close_quietly(fd);
    return -1;
}

int whole_file_lock(const char *folder)
{
    int folder_fd = make_folder(folder);
    int fd;

    if (folder_fd < 0)
        return -1;
    fd = folder_lock(folder_fd);
    close_quietly(folder_fd);
    return fd;
}

static bool replace_whole(const char *folder, const char *name, struct text content, bool is_forced)
{
    int folder_fd = make_folder(folder);
    bool ok;

    if (folder_fd < 0)
        return false;
    ok = write_aside(folder_fd, content, is_forced) &&
         renameat(folder_fd, WHOLE_FILE_ASIDE, folder_fd, name) == 0 &&
         (!is_forced || fsync(folder_fd) == 0);
    close_quietly(folder_fd);
    return ok;
}

bool whole_file_put(const char *folder, const char *name, struct text content)
{
    return replace_whole(folder, name, content, true);
}

bool whole_file_show(const char *folder, const char *name, struct text content)
{
    return replace_whole(folder, name, content, false);
}

static bool read_at_most(int fd, size_t most, struct buf *out)
{
    ssize_t n;

    do {
        char *room = buf_room(out, 8192);

        if (!room) {
            errno = ENOMEM;
            return false;
        }
        n = read(fd, room, 8192);
        out->len += n > 0 ? (size_t)n : 0;
    } while (n > 0 && out->len <= most);
    if (n > 0)
        errno = EFBIG;
    return n == 0;
}

bool whole_file_read(const char *folder, const char *name, size_t most, struct buf *out)
{
    int folder_fd = open_folder(folder);
    int fd = folder_fd < 0 ? -1 : openat(folder_fd, name, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    bool ok = fd >= 0 && read_at_most(fd, most, out);

    if (fd >= 0)
        close_quietly(fd);
    if (folder_fd >= 0)
        close_quietly(folder_fd);
    return ok;
}

bool whole_file_remove(const char *folder, const char *name)
{
    int folder_fd = open_folder(folder);
    bool ok;

    if (folder_fd < 0)
        return errno == ENOENT;
    ok = (unlinkat(folder_fd, name, 0) == 0 || errno == ENOENT) && fsync(folder_fd) == 0;
    close_quietly(folder_fd);
    return ok;
}
