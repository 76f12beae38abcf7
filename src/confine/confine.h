/* SPDX-License-Identifier: MIT */
/* The rights that a process gives up once it has started: reading files outside a list and writing
 * any (Landlock), and system calls that a responder never makes (seccomp).  Each applies only if
 * the kernel has it. */
#ifndef ADIT_CONFINE_CONFINE_H
#define ADIT_CONFINE_CONFINE_H

#include <stdbool.h>

struct confine_state {
    int landlock;    /* version of the kernel's interface; 0: not in force */
    bool seccomp;    /* in force */
    int ruleset_fd;  /* -1: no Landlock */
    int n_forgotten; /* paths that exist and could not be allowed */
};

/* Starts a list of readable files.  It has the files that libraries read while the process runs:
 * the system's settings and libraries for name services, name resolution, TLS and time zones. */
void confine_begin(struct confine_state *confinement);

/* Allow reading all files in a folder, or a file.  A file may be replaced later, so this allows its
 * whole folder, and if it is a link also the folder of the target.  They ignore NULL and paths that
 * do not exist. */
void confine_allow_folder(struct confine_state *confinement, const char *path);
void confine_allow_file(struct confine_state *confinement, const char *path);

/* Puts the confinement in force for the rest of the process' life and for all threads that it
 * starts.  Sets landlock and seccomp to what the kernel has put in force. */
void confine_enforce(struct confine_state *confinement);

/* Returns whether this build confines itself.  Builds with coverage or sanitizers do not: they
 * write files at exit. */
bool confine_is_built_in(void);

#endif
