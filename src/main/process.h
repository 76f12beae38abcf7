/* SPDX-License-Identifier: MIT */
/* The state that all workers share, set up before they start. */
#ifndef ADIT_MAIN_PROCESS_H
#define ADIT_MAIN_PROCESS_H

#include <stdbool.h>

#include "api/api.h"
#include "base/log.h"
#include "base/must_check.h"
#include "conf/conf.h"
#include "store/keyring.h"

struct process {
    struct conf conf;
    struct api_settings settings;
    struct log_limit log_limit;
    struct keyring *keyring;
    int listen_fd;   /* the listening socket */
    int handover[2]; /* between workers; -1: there is one worker */
};

/* Reads the settings from conf_path, or from the first default place if it is NULL, and loads the
 * keys of client secrets.  Returns false after it has logged why; the caller calls process_close()
 * either way. */
MUST_CHECK bool process_open(struct process *process, const char *conf_path);

/* Frees the settings, and wipes and frees the keys.  Descriptors stay open. */
void process_close(struct process *process);

/* Logs why the program cannot start.  Returns false. */
bool process_cannot_start(const struct log *log, const char *reason);

/* The same for a system call that failed: logs "name: what: errno's text".  Returns false. */
bool process_fault(const struct log *log, const char *name, const char *what);

#endif
