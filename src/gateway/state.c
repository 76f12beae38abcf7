/* SPDX-License-Identifier: MIT */
/* The folder of the files.  Each is named after the process of its session. */
#include "gateway/state.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "gateway/folder_lock.h"

#define NAME_SIZE 24

bool state_open(struct state *state, const char *path, const char **what)
{
    struct stat status;

    state->folder = -1;
    state->lock = -1;
    *what = "/proc/sys/kernel/random/boot_id cannot be read";
    if (!proc_boot_id(state->boot_id))
        return false;
    *what = "cannot make the folder";
    if (mkdir(path, 0700) != 0 && errno != EEXIST)
        return false;
    *what = "cannot open the folder";
    state->folder = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
    if (state->folder < 0 || fstat(state->folder, &status) != 0)
        return false;
    /* Whoever writes here names processes that this daemon may end. */
    *what = "others may write to the folder: make it this user's own, with mode 0700";
    errno = EACCES;
    if (status.st_uid != geteuid() || (status.st_mode & (S_IWGRP | S_IWOTH)) != 0)
        return false;
    state->lock = folder_lock(state->folder);
    *what = errno == EWOULDBLOCK ? "another adit-gateway uses the folder"
                                 : "cannot lock the file .lock in the folder";
    return state->lock >= 0;
}

void state_close(struct state *state)
{
    if (state->lock >= 0)
        close(state->lock);
    if (state->folder >= 0)
        close(state->folder);
    state->lock = -1;
    state->folder = -1;
}

static void name_file(char name[NAME_SIZE], pid_t pid, const char *suffix)
{
    snprintf(name, NAME_SIZE, "%d%s", (int)pid, suffix);
}

static bool write_file(int folder, const char *name, const struct buf *text)
{
    int fd = openat(folder, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
    size_t written = 0;
    ssize_t n = 0;

    if (fd < 0)
        return false;
    while (written < text->len && (n = write(fd, text->data + written, text->len - written)) > 0)
        written += (size_t)n;
    return close(fd) == 0 && written == text->len;
}

bool state_put(const struct state *state, pid_t pid, const struct buf *text)
{
    char name[NAME_SIZE], new_name[NAME_SIZE];
    int fault;

    name_file(name, pid, "");
    name_file(new_name, pid, ".new");
    if (write_file(state->folder, new_name, text) &&
        renameat(state->folder, new_name, state->folder, name) == 0)
        return true;
    fault = errno;
    unlinkat(state->folder, new_name, 0);
    errno = fault;
    return false;
}

void state_remove(const struct state *state, pid_t pid)
{
    char name[NAME_SIZE];

    name_file(name, pid, "");
    unlinkat(state->folder, name, 0);
}
