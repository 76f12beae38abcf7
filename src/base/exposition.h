/* SPDX-License-Identifier: MIT */
/* Prometheus' text format 0.0.4.  Every value of a label comes from a table of the program, so no
 * client can make new series. */
#ifndef ADIT_BASE_EXPOSITION_H
#define ADIT_BASE_EXPOSITION_H

#include <stdint.h>

#include "base/buf.h"
#include "base/metrics.h"

/* Appends the lines before a metric's values.  type: "counter", "gauge" or "histogram". */
void exposition_begin(struct buf *out, const char *name, const char *type, const char *help);

/* Appends a metric that has one value, without labels. */
void exposition_one(struct buf *out, const char *name, const char *type, const char *help,
                    uint64_t value);

/* Appends microseconds as seconds, without zeros at the end: Prometheus compares limits of buckets
 * as text. */
void exposition_seconds(struct buf *out, uint64_t us);

/* Appends a gauge of a time, in seconds since 1970.  ms: 0 is no value. */
void exposition_time(struct buf *out, const char *name, const char *help, int64_t ms);

/* Appends the values of a histogram.  labels: such as 'kind="read"'; "": none.  The number of all
 * is the sum of the buckets, so the two always agree. */
void exposition_histogram(struct buf *out, const char *name, const char *labels,
                          const struct metrics_histogram *histogram);

#endif
