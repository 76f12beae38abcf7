/* SPDX-License-Identifier: MIT */
/* Processes that look like those of sshd. */
#ifndef ADIT_TESTS_GATEWAY_MONITOR_H
#define ADIT_TESTS_GATEWAY_MONITOR_H

#include <stdbool.h>
#include <sys/types.h>

/* A process, and one below it, which only SIGKILL ends if it is stubborn. */
struct monitor {
    pid_t pid;
    pid_t child;
};

/* Starts them; the first gets the name.  They are ready when it returns. */
void monitor_start(struct monitor *monitor, const char *name, bool child_is_stubborn);

/* Kills both, as far as they are left, and waits for the first. */
void monitor_stop(const struct monitor *monitor);

/* Waits up to 5 s for a process to exit, and returns whether it has.  Collects its status if it is
 * a child of this one. */
bool monitor_wait_for_exit(pid_t pid, int *status);

#endif
