/* SPDX-License-Identifier: MIT */
/* What a process takes from itself once it has started, as far as the kernel lets it: files outside
 * a list and writing any (Landlock), and system calls that a responder never makes (seccomp). */
#ifndef ADIT_CONFINE_CONFINE_H
#define ADIT_CONFINE_CONFINE_H

#include <stdbool.h>

struct confine_state {
    int landlock;    /* version of the kernel's interface, 0: not in force */
    bool seccomp;    /* in force */
    int ruleset_fd;  /* -1: no Landlock */
    int n_forgotten; /* paths that are there, and could not be allowed */
};

/* Starts with what libraries read while the process lives: the system's own settings and libraries,
 * for name services, name resolution, TLS and time zones. */
void confine_begin(struct confine_state *confinement);

/* Allow to read all that is in a folder, or a file, which may be replaced by another under its
 * name: it is its folder that is allowed, and that of the file that a link leads to.  What is not
 * there, and NULL, is passed over. */
void confine_allow_folder(struct confine_state *confinement, const char *path);
void confine_allow_file(struct confine_state *confinement, const char *path);

/* From here on it is in force, for good, and so are the threads that the process starts.  What the
 * kernel does not have is left out. */
void confine_enforce(struct confine_state *confinement);

/* Returns whether a build has confinement at all: one that counts lines or watches memory writes
 * files at its end, and has not. */
bool confine_is_built_in(void);

#endif
