/* SPDX-License-Identifier: MIT */
/* All that a worker needs, made before the workers are. */
#ifndef ADIT_MAIN_PROCESS_H
#define ADIT_MAIN_PROCESS_H

#include <stdbool.h>

#include "api/api.h"
#include "base/log.h"
#include "conf/conf.h"
#include "store/keyring.h"

struct process {
    struct conf conf;
    struct api_settings settings;
    struct log_limit log_limit;
    struct keyring *keyring;
    int listen_fd;   /* the listening socket */
    int handover[2]; /* between workers */
};

/* Reads the settings, NULL: where they are looked for, and loads the keys of client secrets.
 * Returns false after it has logged why not; process_close() is due either way. */
bool process_open(struct process *process, const char *conf_path);

/* Frees the settings and wipes the keys.  Descriptors stay open. */
void process_close(struct process *process);

/* Logs why the program cannot start, and returns false. */
bool process_cannot_start(const struct log *log, const char *reason);

/* The same, because what failed on something with that name: "name: what: errno's text". */
bool process_fault(const struct log *log, const char *name, const char *what);

#endif
