/* SPDX-License-Identifier: MIT */
/* Prometheus' text format. */
#include "base/exposition.h"

#include <inttypes.h>

void exposition_begin(struct buf *out, const char *name, const char *type, const char *help)
{
    buf_printf(out, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, type);
}

void exposition_one(struct buf *out, const char *name, const char *type, const char *help,
                    uint64_t value)
{
    exposition_begin(out, name, type, help);
    buf_printf(out, "%s %" PRIu64 "\n", name, value);
}

void exposition_seconds(struct buf *out, uint64_t us)
{
    int digits = 6;
    uint64_t fraction = us % 1000000;

    for (; digits > 1 && fraction % 10 == 0; digits--)
        fraction /= 10;
    buf_printf(out, "%" PRIu64 ".%0*" PRIu64, us / 1000000, digits, fraction);
}

void exposition_time(struct buf *out, const char *name, const char *help, int64_t ms)
{
    exposition_begin(out, name, "gauge", help);
    if (ms == 0)
        return;
    buf_printf(out, "%s ", name);
    exposition_seconds(out, (uint64_t)ms * 1000);
    buf_puts(out, "\n");
}

/* Labels of one value, with braces around them. */
static void put_labels(struct buf *out, const char *labels)
{
    if (labels[0])
        buf_printf(out, "{%s}", labels);
}

void exposition_histogram(struct buf *out, const char *name, const char *labels,
                          const struct metrics_histogram *histogram)
{
    uint64_t limit_us = METRICS_FIRST_BUCKET_US;
    uint64_t n = 0;

    for (size_t i = 0; i < METRICS_N_BUCKETS; i++, limit_us *= 2) {
        n += histogram->n_in[i];
        buf_printf(out, "%s_bucket{%s%sle=\"", name, labels, labels[0] ? "," : "");
        if (i < METRICS_N_BUCKETS - 1)
            exposition_seconds(out, limit_us);
        else
            buf_puts(out, "+Inf");
        buf_printf(out, "\"} %" PRIu64 "\n", n);
    }
    buf_printf(out, "%s_sum", name);
    put_labels(out, labels);
    buf_puts(out, " ");
    exposition_seconds(out, histogram->sum_us);
    buf_printf(out, "\n%s_count", name);
    put_labels(out, labels);
    buf_printf(out, " %" PRIu64 "\n", n);
}
