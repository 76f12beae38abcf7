/* SPDX-License-Identifier: MIT */
/* A program's process: how it starts, and why it cannot. */
#ifndef ADIT_BASE_PROCESS_H
#define ADIT_BASE_PROCESS_H

#include <stdbool.h>

#include "base/log.h"

/* Logs why the program cannot start.  Returns false. */
bool process_cannot_start(const struct log *log, const char *reason);

/* The same for a system call that failed: logs "name: what: errno's text".  Returns false. */
bool process_fault(const struct log *log, const char *name, const char *what);

/* Keeps the process and its children from leaving a core.  A core would hold keys and client
 * secrets. */
void process_forbid_cores(void);

/* For a program whose loop reads SIGTERM from a signalfd: blocks SIGTERM, so that it interrupts no
 * request and none is lost.  Ignores SIGPIPE, and SIGUSR1, which web servers send. */
void process_set_signals(void);

/* Has the process not preempt others when it wakes up, if the system permits that. */
void process_let_others_finish(void);

#endif
