/* SPDX-License-Identifier: MIT */
/* Finding the settings file. */
#include "conf/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"

#ifndef ADIT_CONF_PATH
#error "the build has to define ADIT_CONF_PATH"
#endif

#define FILE_NAME "adit.conf"

char *conf_path_beside(const char *path, const char *name)
{
    const char *slash = strrchr(path, '/');
    struct buf out = {0};

    if (name[0] != '/' && slash)
        buf_add(&out, path, (size_t)(slash - path) + 1);
    buf_puts(&out, name);
    return out.failed ? NULL : out.data;
}

/* Returns the program's path without symbolic links, or NULL. */
static const char *program_path(char *path, size_t size)
{
    ssize_t len = readlink("/proc/self/exe", path, size - 1);

    if (len <= 0)
        return NULL;
    path[len] = '\0';
    return path;
}

/* Returns ROOT/etc/adit.conf for the programs ROOT/bin/aditctl and ROOT/libexec/adit/adit.fcgi, or
 * NULL for others.  It never looks in other folders above the program: above one in /tmp, say,
 * anybody could place a file. */
static char *tree_file(const char *program)
{
    static const char *const places[] = {"/bin", "/libexec/adit"};
    const char *slash = program ? strrchr(program, '/') : NULL;
    size_t folder_len = slash ? (size_t)(slash - program) : 0;
    struct buf out = {0};

    for (size_t i = 0; i < sizeof places / sizeof places[0]; i++) {
        size_t len = strlen(places[i]);

        if (folder_len < len || memcmp(slash - len, places[i], len) != 0)
            continue;
        buf_add(&out, program, folder_len - len);
        buf_puts(&out, "/etc/" FILE_NAME);
        return out.failed ? NULL : out.data;
    }
    return NULL;
}

/* Opens a file as fopen() does.  Without O_NONBLOCK, the open of a FIFO waits for a writer. */
static FILE *open_path(const char *path)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    FILE *file = fd < 0 ? NULL : fdopen(fd, "r");

    if (fd >= 0 && !file) {
        int failure = errno;

        close(fd);
        errno = failure;
    }
    return file;
}

/* A device such as /dev/zero has no end, and a FIFO may never get one. */
static bool is_regular(FILE *file)
{
    struct stat status;

    return fstat(fileno(file), &status) == 0 && S_ISREG(status.st_mode);
}

/* Takes over a path and opens its file.  Returns whether the search ends: it does not go on past a
 * file that exists and cannot be opened. */
static bool try_file(char *path, char **found, FILE **file)
{
    if (!path)
        return false;
    *file = open_path(path);
    if (*file || errno != ENOENT) {
        *found = path;
        return true;
    }
    free(path);
    return false;
}

/* Looks in the three default places.  Returns false if none has a file. */
static bool find_file(char **found, FILE **file)
{
    char buffer[4096];
    const char *program = program_path(buffer, sizeof buffer);

    return try_file(tree_file(program), found, file) ||
           try_file(strdup(ADIT_CONF_PATH), found, file) ||
           try_file(program ? conf_path_beside(program, FILE_NAME) : NULL, found, file);
}

bool conf_file_open(const char *path, char **found, FILE **file, char reason[CONF_REASON_SIZE])
{
    const char *wanted = path ? path : getenv("ADIT_CONF");

    *found = NULL;
    *file = NULL;
    if (wanted) {
        *found = strdup(wanted);
        *file = open_path(wanted);
    } else if (!find_file(found, file)) {
        return true;
    }
    if (!*file)
        snprintf(reason, CONF_REASON_SIZE, "%s: cannot be opened: %s", *found ? *found : "",
                 strerror(errno));
    if (!*file || is_regular(*file))
        return *file != NULL;
    snprintf(reason, CONF_REASON_SIZE, "%s: is not a regular file", *found ? *found : "");
    fclose(*file);
    *file = NULL;
    return false;
}
