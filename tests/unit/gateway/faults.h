/* SPDX-License-Identifier: MIT */
/* Ends the process, or fails, at the n-th call that touches a file.  Linked with --wrap. */
#ifndef ADIT_TESTS_GATEWAY_FAULTS_H
#define ADIT_TESTS_GATEWAY_FAULTS_H

#include <stdbool.h>

/* From now on, the n-th call kills the process (SIGKILL) before it does anything. */
void faults_kill_at(int n);

/* From now on, the n-th call fails with ENOSPC. */
void faults_fail_at(int n);

/* Ends that.  Returns whether the n-th call has come. */
bool faults_stop(void);

/* From now on, the kernel does not tell children of processes, or does again. */
void faults_hide_children(bool hides);

#endif
