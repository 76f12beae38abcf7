/* SPDX-License-Identifier: MIT */
/* Metrics in a file, which node_exporter's textfile collector reads. */
#ifndef ADIT_GATEWAY_TEXTFILE_H
#define ADIT_GATEWAY_TEXTFILE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/metrics.h"

/* The file in the folder of the settings. */
#define TEXTFILE_NAME "adit-gateway.prom"

/* What sshd was told of a key. */
enum textfile_look_up {
    TEXTFILE_GRANTED,
    TEXTFILE_UNKNOWN,
    TEXTFILE_OVER_LIMIT,  /* the key has more than is read */
    TEXTFILE_CROWD,       /* the key or its account has as many sessions as it may */
    TEXTFILE_NO_DATABASE, /* it cannot be asked */
    TEXTFILE_REFUSED,     /* a fault of the settings, of the question or of this machine */
    TEXTFILE_N_LOOK_UPS
};

/* Counts since the start. */
struct textfile {
    uint64_t look_ups[TEXTFILE_N_LOOK_UPS];
    struct metrics_histogram look_up;
    uint64_t polls_failed;
    struct metrics_histogram poll;
    int64_t due_ms; /* no file before (steady clock) */
    bool has_failed;
};

struct gateway;

/* Counts a look-up that began at that time, on the steady clock. */
void textfile_count_look_up(struct textfile *textfile, enum textfile_look_up look_up,
                            int64_t begun_us);

/* Counts a poll that began at that time. */
void textfile_count_poll(struct textfile *textfile, bool ok, int64_t begun_us);

/* Writes the file if it is due and the settings name a folder.  Logs the first of several failures,
 * and their end.  Returns when to call again, on the steady clock; INT64_MAX: never. */
int64_t textfile_tick(struct gateway *gateway, int64_t now_ms);

#endif
