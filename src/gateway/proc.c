/* SPDX-License-Identifier: MIT */
/* Reads /proc (proc(5)), and signals through descriptors of processes (pidfd_open(2)). */
#include "gateway/proc.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/number.h"

/* The bit of CAP_KILL in a set of capabilities (linux/capability.h). */
#define CAP_KILL_BIT 5

#define STAT_SIZE 2048
#define CHILDREN_SIZE 4096

/* Reads the beginning of a file.  Returns false with errno set; ESRCH: there is no such file, as of
 * a process that is gone, or nothing is in it. */
static bool read_small(const char *path, char *out, size_t size)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd >= 0 ? read(fd, out, size - 1) : -1;

    if (n == 0 || (n < 0 && errno == ENOENT))
        errno = ESRCH;
    if (fd >= 0)
        close(fd);
    out[n > 0 ? n : 0] = '\0';
    return n > 0;
}

/* "PID (NAME) STATE PARENT ...": a name may hold blanks and parentheses.  The start is field 22. */
static bool read_stat(struct proc *proc)
{
    char path[64], text[STAT_SIZE];
    const char *open_mark, *close_mark;
    char state;
    int parent;

    snprintf(path, sizeof path, "/proc/%d/stat", (int)proc->pid);
    if (!read_small(path, text, sizeof text))
        return false;
    open_mark = strchr(text, '(');
    close_mark = strrchr(text, ')');
    if (!open_mark || !close_mark ||
        sscanf(
            close_mark + 1,
            " %c %d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %*d %*d %" SCNu64,
            &state, &parent, &proc->started) != 3)
        return false;
    snprintf(proc->name, sizeof proc->name, "%.*s", (int)(close_mark - open_mark - 1),
             open_mark + 1);
    proc->parent = (pid_t)parent;
    proc->has_exited = state == 'Z' || state == 'X';
    return true;
}

static bool read_uids(struct proc *proc)
{
    char path[64], text[STAT_SIZE];
    const char *line;
    unsigned uids[4];

    snprintf(path, sizeof path, "/proc/%d/status", (int)proc->pid);
    if (!read_small(path, text, sizeof text))
        return false;
    line = strstr(text, "\nUid:");
    if (!line || sscanf(line, "\nUid: %u %u %u %u", &uids[0], &uids[1], &uids[2], &uids[3]) != 4)
        return false;
    proc->uid = uids[0];
    /* sshd takes on the effective user of its AuthorizedKeysCommand while it reads the answer. */
    proc->has_one_uid = uids[0] == uids[2];
    return true;
}

bool proc_read_stat(pid_t pid, struct proc *proc)
{
    *proc = (struct proc){.pid = pid};
    errno = ESRCH;
    return pid > 0 && read_stat(proc);
}

bool proc_read(pid_t pid, struct proc *proc)
{
    return proc_read_stat(pid, proc) && read_uids(proc);
}

static bool is_exited(int fd)
{
    struct pollfd exited = {.fd = fd, .events = POLLIN};

    return poll(&exited, 1, 0) != 0;
}

int proc_open(pid_t pid, uint64_t started)
{
    struct proc proc;
    int fd = (int)syscall(SYS_pidfd_open, pid, 0U);

    if (fd < 0)
        return -1;
    /* While the process has not exited, its id is not used again. */
    if (proc_read_stat(pid, &proc)) {
        if (proc.started == started && !is_exited(fd))
            return fd;
        errno = ESRCH;
    }
    close(fd);
    return -1;
}

int proc_open_read(pid_t pid, struct proc *proc)
{
    int fd = (int)syscall(SYS_pidfd_open, pid, 0U);

    if (fd < 0)
        return -1;
    /* As in proc_open(). */
    if (proc_read(pid, proc) && !is_exited(fd))
        return fd;
    close(fd);
    errno = ESRCH;
    return -1;
}

bool proc_signal(int fd, int signal)
{
    return syscall(SYS_pidfd_send_signal, fd, signal, NULL, 0U) == 0;
}

size_t proc_children(pid_t pid, pid_t *children, size_t most)
{
    char path[64], text[CHILDREN_SIZE];
    size_t n = 0;
    char *rest = text;
    char *word;

    errno = ESRCH;
    snprintf(path, sizeof path, "/proc/%d/task/%d/children", (int)pid, (int)pid);
    if (!read_small(path, text, sizeof text))
        return 0;
    while (n < most && (word = strsep(&rest, " ")) != NULL) {
        uint64_t child;

        if (number_read(text_of(word), 10, INT32_MAX, &child) && child > 0)
            children[n++] = (pid_t)child;
    }
    return n;
}

/* Returns whether the name is that of a process below the other one.  If not, errno is ESRCH, or
 * says why nobody knows. */
static bool is_child(const char *name, pid_t pid, struct proc *child)
{
    uint64_t id;

    errno = ESRCH;
    return number_read(text_of(name), 10, INT32_MAX, &id) && proc_read_stat((pid_t)id, child) &&
           child->parent == pid;
}

size_t proc_search_children(pid_t pid, pid_t *children, size_t most)
{
    DIR *folder = opendir("/proc");
    struct dirent *entry;
    struct proc child;
    size_t n = 0;
    int fault = folder ? ESRCH : errno;

    while (folder && fault == ESRCH && n < most && (entry = readdir(folder)) != NULL) {
        if (is_child(entry->d_name, pid, &child))
            children[n++] = child.pid;
        else
            fault = errno;
    }
    if (folder)
        closedir(folder);
    errno = fault;
    return fault == ESRCH ? n : 0;
}

bool proc_tells_children(void)
{
    return access("/proc/thread-self/children", R_OK) == 0;
}

bool proc_may_signal(void)
{
    char text[STAT_SIZE];
    const char *line;
    uint64_t effective;

    if (geteuid() == 0)
        return true;
    if (!read_small("/proc/self/status", text, sizeof text))
        return false;
    line = strstr(text, "\nCapEff:");
    return line && sscanf(line, "\nCapEff: %" SCNx64, &effective) == 1 &&
           (effective >> CAP_KILL_BIT & 1) != 0;
}

bool proc_boot_id(char id[PROC_BOOT_ID_SIZE])
{
    return read_small("/proc/sys/kernel/random/boot_id", id, PROC_BOOT_ID_SIZE) &&
           strlen(id) == PROC_BOOT_ID_SIZE - 1;
}
