/* SPDX-License-Identifier: MIT */
/* Reads files of certificate authorities, which may be anything that an operator put there. */
#include "gateway/authority.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/ident.h"
#include "crypt/certificate.h"

/* Writes the path of an authority's file.  Returns NULL, or why there is none. */
static const char *authority_path(char path[PATH_MAX], const char *folder, struct text id)
{
    const char *fault = ident_fault(id);
    int len = fault ? 0 : snprintf(path, PATH_MAX, "%s/%.*s", folder, (int)id.len, id.s);

    return fault || len < PATH_MAX ? fault : "the path of its file is too long";
}

void authority_look(const char *folder, struct text id, struct authority_stamp *stamp)
{
    char path[PATH_MAX];
    struct stat status;

    *stamp = (struct authority_stamp){.device = 0};
    if (authority_path(path, folder, id) || stat(path, &status) != 0)
        return;
    stamp->device = status.st_dev;
    stamp->inode = status.st_ino;
    stamp->size = status.st_size;
    stamp->modified = status.st_mtim;
    stamp->changed = status.st_ctim;
}

static bool times_equal(struct timespec a, struct timespec b)
{
    return a.tv_sec == b.tv_sec && a.tv_nsec == b.tv_nsec;
}

bool authority_stamps_equal(const struct authority_stamp *a, const struct authority_stamp *b)
{
    return a->device == b->device && a->inode == b->inode && a->size == b->size &&
           times_equal(a->modified, b->modified) && times_equal(a->changed, b->changed);
}

static enum authority_result leave_out(char *reason, const char *why)
{
    snprintf(reason, AUTHORITY_REASON_SIZE, "%s", why);
    return AUTHORITY_LEFT_OUT;
}

static enum authority_result authority_failed(char *reason, int fault)
{
    snprintf(reason, AUTHORITY_REASON_SIZE, "%s", strerror(fault));
    return fault == ENOENT ? AUTHORITY_LEFT_OUT : AUTHORITY_FAILED;
}

static enum authority_result read_regular(int fd, struct buf *content, char *reason)
{
    struct stat status;
    ssize_t n = 0;

    if (fstat(fd, &status) != 0)
        return authority_failed(reason, errno);
    if (!S_ISREG(status.st_mode))
        return leave_out(reason, "it is not a regular file");
    do {
        char *room = buf_room(content, 65536);

        if (!room)
            return authority_failed(reason, ENOMEM);
        n = read(fd, room, 65536);
        content->len += n > 0 ? (size_t)n : 0;
    } while (n > 0 && content->len <= AUTHORITY_BYTES_MAX);
    if (n < 0)
        return authority_failed(reason, errno);
    return n == 0 ? AUTHORITY_READ : leave_out(reason, "it is longer than 1 MiB");
}

static enum authority_result read_path(const char *path, struct buf *content, char *reason)
{
    /* Opening a pipe without O_NONBLOCK waits for its writer. */
    int fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    enum authority_result result =
        fd < 0 ? authority_failed(reason, errno) : read_regular(fd, content, reason);

    if (fd >= 0)
        close(fd);
    return result;
}

static enum authority_result take_certificates(struct text pem, struct buf *out, char *reason)
{
    char left_out[CRYPT_CERTIFICATES_TEXT_SIZE];
    struct crypt_certificates found;

    switch (crypt_certificates_take(pem.s, pem.len, out, &found)) {
    case CRYPT_CERTIFICATES_READ:
        crypt_certificates_describe(&found, left_out);
        if (found.n_taken > 0) {
            snprintf(reason, AUTHORITY_REASON_SIZE, "%s", left_out);
            return AUTHORITY_READ;
        }
        if (found.n_others == 0)
            return leave_out(reason, "it holds no PEM block");
        snprintf(reason, AUTHORITY_REASON_SIZE, "it holds no certificate of an authority; %s",
                 left_out);
        return AUTHORITY_LEFT_OUT;
    case CRYPT_CERTIFICATES_MALFORMED:
        return leave_out(reason, "one of its PEM blocks is damaged");
    case CRYPT_CERTIFICATES_NO_MEMORY:
        break;
    }
    return authority_failed(reason, ENOMEM);
}

enum authority_result authority_read(const char *folder, struct text id, struct buf *out,
                                     char reason[AUTHORITY_REASON_SIZE])
{
    char path[PATH_MAX];
    struct buf content = {0};
    const char *fault = authority_path(path, folder, id);
    enum authority_result result;

    if (fault)
        return leave_out(reason, fault);
    result = read_path(path, &content, reason);
    if (result == AUTHORITY_READ)
        result = take_certificates(buf_text(&content), out, reason);
    buf_free(&content); /* may hold a private key */
    return result;
}
