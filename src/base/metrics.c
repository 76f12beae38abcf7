/* SPDX-License-Identifier: MIT */
/* Counters and gauges that workers share. */
#include "base/metrics.h"

#include <string.h>
#include <sys/mman.h>

#include "base/clock.h"

static const int statuses[] = {200, 201, 204, 304, 400, 401, 403, 404,
                               405, 409, 412, 413, 415, 422, 500, 503};

#define OTHER_STATUS (METRICS_N_STATUSES - 1)

_Static_assert(sizeof statuses / sizeof statuses[0] <= OTHER_STATUS,
               "METRICS_N_STATUSES has a place for each status, and one for others");

static const char *const method_names[METRICS_N_METHODS] = {
    [METRICS_GET] = "GET",         [METRICS_HEAD] = "HEAD",
    [METRICS_POST] = "POST",       [METRICS_PATCH] = "PATCH",
    [METRICS_PUT] = "PUT",         [METRICS_DELETE] = "DELETE",
    [METRICS_OPTIONS] = "OPTIONS", [METRICS_OTHER_METHOD] = "other",
};

static size_t size_of(size_t n_slots)
{
    return sizeof(struct metrics) + n_slots * sizeof(struct metrics_slot);
}

struct metrics *metrics_new(size_t n_slots)
{
    struct metrics *metrics =
        mmap(NULL, size_of(n_slots), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

    if (metrics == MAP_FAILED)
        return NULL;
    metrics->n_slots = n_slots;
    metrics->started_ms = clock_wall_ms();
    metrics->look_due_ms = (uint64_t)clock_steady_ms() + METRICS_LOOK_MS;
    return metrics;
}

bool metrics_take_look(struct metrics *metrics, int64_t now_ms)
{
    uint64_t due_ms = metrics_get(&metrics->look_due_ms);

    return (uint64_t)now_ms >= due_ms &&
           __atomic_compare_exchange_n(&metrics->look_due_ms, &due_ms,
                                       (uint64_t)now_ms + METRICS_LOOK_MS, false, __ATOMIC_RELAXED,
                                       __ATOMIC_RELAXED);
}

void metrics_put_look(struct metrics *metrics, bool is_database_up)
{
    metrics_set(&metrics->is_database_up, is_database_up);
    metrics_set(&metrics->looked_ms, (uint64_t)clock_wall_ms());
}

void metrics_free(struct metrics *metrics, size_t n_slots)
{
    if (metrics)
        munmap(metrics, size_of(n_slots));
}

size_t metrics_status_place(int status)
{
    for (size_t i = 0; i < sizeof statuses / sizeof statuses[0]; i++) {
        if (statuses[i] == status)
            return i;
    }
    return OTHER_STATUS;
}

int metrics_status_at(size_t place)
{
    return place < sizeof statuses / sizeof statuses[0] ? statuses[place] : 0;
}

enum metrics_method metrics_method_place(const char *method)
{
    for (int i = 0; i < METRICS_OTHER_METHOD; i++) {
        if (strcmp(method, method_names[i]) == 0)
            return (enum metrics_method)i;
    }
    return METRICS_OTHER_METHOD;
}

const char *metrics_method_name(enum metrics_method method)
{
    return method_names[method];
}

void metrics_observe(struct metrics_histogram *histogram, int64_t us)
{
    size_t at = 0;

    for (int64_t limit = METRICS_FIRST_BUCKET_US; us > limit && at < METRICS_N_BUCKETS - 1;
         limit *= 2)
        at++;
    metrics_add(&histogram->n_in[at], 1);
    metrics_add(&histogram->sum_us, us > 0 ? (uint64_t)us : 0);
}

void metrics_end(struct metrics_slot *slot)
{
    for (size_t i = 0; i < METRICS_N_GAUGES; i++)
        metrics_set(&slot->gauges[i], 0);
}

void metrics_add_up(const struct metrics *metrics, struct metrics_slot *total)
{
    uint64_t *sums = (uint64_t *)(void *)total;

    memset(total, 0, sizeof *total);
    for (size_t slot = 0; slot < metrics->n_slots; slot++) {
        const uint64_t *numbers = (const uint64_t *)(const void *)&metrics->slots[slot];

        for (size_t i = 0; i < sizeof *total / sizeof *sums; i++)
            sums[i] += metrics_get(&numbers[i]);
    }
}
