/* SPDX-License-Identifier: MIT */
/* Other processes, as /proc shows them.  A process id may be used again: "started" tells one
 * process from the next, and a descriptor of a process (pidfd_open(2)) never means another one. */
#ifndef ADIT_GATEWAY_PROC_H
#define ADIT_GATEWAY_PROC_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/must_check.h"

/* Room for the name of a process and its NUL (TASK_COMM_LEN). */
#define PROC_NAME_SIZE 16

struct proc {
    pid_t pid;
    pid_t parent;
    uint64_t started; /* clock ticks since the boot */
    char name[PROC_NAME_SIZE];
    bool has_exited;
    uid_t uid;        /* the real one */
    bool has_one_uid; /* the saved one is the same */
};

/* Reads what /proc tells about a process.  Returns false with errno set; ESRCH: there is no such
 * process. */
MUST_CHECK bool proc_read(pid_t pid, struct proc *proc);

/* The same without uid and has_one_uid, which /proc has in another file. */
MUST_CHECK bool proc_read_stat(pid_t pid, struct proc *proc);

/* Returns a descriptor of the process pid that started then, which the caller closes, or -1: it is
 * gone, or descriptors ran out (errno is EMFILE or ENFILE).  It is readable once the process has
 * exited. */
MUST_CHECK int proc_open(pid_t pid, uint64_t started);

/* Opens the process that has that id now, and reads what /proc tells about it.  Returns a
 * descriptor as proc_open() does. */
MUST_CHECK int proc_open_read(pid_t pid, struct proc *proc);

/* Sends a signal.  Returns false with errno set; ESRCH: the process has exited. */
MUST_CHECK bool proc_signal(int fd, int signal);

/* Writes the ids of up to most children of a process.  Returns their number; 0 with errno set if it
 * has none; ESRCH: that is so, or it is gone. */
size_t proc_children(pid_t pid, pid_t *children, size_t most);

/* The same for kernels that do not tell: reads all processes, 6 us each.  Any other errno: nobody
 * knows. */
size_t proc_search_children(pid_t pid, pid_t *children, size_t most);

/* Returns whether the kernel tells children of processes (CONFIG_PROC_CHILDREN). */
bool proc_tells_children(void);

/* Returns whether this process may signal processes of every user: it is root, or has CAP_KILL. */
bool proc_may_signal(void);

/* Reads the id of this boot: 36 characters and a NUL.  Returns false if /proc does not tell. */
#define PROC_BOOT_ID_SIZE 37
MUST_CHECK bool proc_boot_id(char id[PROC_BOOT_ID_SIZE]);

#endif
