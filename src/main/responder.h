/* SPDX-License-Identifier: MIT */
/* The state that all workers share, set up before they start. */
#ifndef ADIT_MAIN_RESPONDER_H
#define ADIT_MAIN_RESPONDER_H

#include <stdbool.h>

#include "api/api.h"
#include "base/log.h"
#include "base/metrics.h"
#include "base/must_check.h"
#include "conf/conf.h"
#include "serve/kept.h"
#include "keyring/keyring.h"

struct responder {
    struct conf conf;
    struct api_settings settings;
    struct log_limit log_limit;
    struct keyring *keyring;
    size_t n_workers;        /* that metrics has room for */
    struct metrics *metrics; /* NULL: nothing is counted */
    int listen_fd;           /* the listening socket */
    int drain_ms;            /* between SIGTERM and the end of the workers */
    int handover[2];         /* between workers; -1: there is one worker */
    struct kept kept;        /* in a worker: the connections that it takes over */
};

/* Reads the settings from conf_path, or from the first default place if it is NULL, and loads the
 * keys of client secrets.  Returns false after it has logged why; the caller calls
 * responder_close() either way. */
MUST_CHECK bool responder_open(struct responder *responder, const char *conf_path);

/* Makes the memory in which so many workers count.  Returns false after it has logged why. */
MUST_CHECK bool responder_count(struct responder *responder, size_t n_workers);

/* Frees the settings, and wipes and frees the keys.  Descriptors stay open. */
void responder_close(struct responder *responder);

#endif
