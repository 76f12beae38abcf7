/* SPDX-License-Identifier: MIT */
/* Counters and gauges in memory that the workers of a responder share.
 *
 * Each worker writes only its own slot, so counting needs no lock.  A worker's successor goes on in
 * the same slot: no counter ever goes back, however a worker ended.  Any worker may read all slots.
 * Each number is read and written in one piece. */
#ifndef ADIT_BASE_METRICS_H
#define ADIT_BASE_METRICS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/must_check.h"

/* Rows of the largest route table. */
#define METRICS_MAX_ROUTES 48

enum metrics_method {
    METRICS_GET,
    METRICS_HEAD,
    METRICS_POST,
    METRICS_PATCH,
    METRICS_PUT,
    METRICS_DELETE,
    METRICS_OPTIONS,
    METRICS_OTHER_METHOD,
    METRICS_N_METHODS
};

/* Places for the statuses of metrics_status_place(). */
#define METRICS_N_STATUSES 18

/* Who is at fault that a write was refused. */
enum metrics_refusal {
    METRICS_REFUSED_KEY,       /* 401, 403 */
    METRICS_REFUSED_INPUT,     /* other 4xx */
    METRICS_REFUSED_CONDITION, /* 412 */
    METRICS_REFUSED_SERVICE,   /* 5xx; the outcome is known */
    METRICS_N_REFUSALS
};

/* Events of the database's driver. */
enum metrics_database_event {
    METRICS_DATABASE_OPENED,        /* a session */
    METRICS_DATABASE_NOT_OPENED,    /* a failed attempt to open a lane's own session */
    METRICS_DATABASE_RETRIED,       /* a statement ran again after a passing failure */
    METRICS_DATABASE_SHARED_FAILED, /* the shared session stays closed for a pause */
    METRICS_N_DATABASE_EVENTS
};

enum metrics_gauge {
    METRICS_LANES,
    METRICS_LANES_BUSY,
    METRICS_CONNECTIONS,
    METRICS_WAITING,    /* requests in the line */
    METRICS_HELD_BYTES, /* memory of answers that peers have not read */
    METRICS_N_GAUGES
};

/* Upper limits of the buckets: 250 microseconds, and twice as much in each next one, up to 8.192
 * seconds.  The last bucket has no limit. */
#define METRICS_FIRST_BUCKET_US 250
#define METRICS_N_BUCKETS 17

struct metrics_histogram {
    uint64_t n_in[METRICS_N_BUCKETS]; /* of each bucket alone */
    uint64_t sum_us;
};

/* All numbers of one worker, and nothing else: metrics_add_up() takes it for an array.  The gauges
 * are last. */
struct metrics_slot {
    /* The last route is for requests that match none. */
    uint64_t requests[METRICS_MAX_ROUTES + 1][METRICS_N_METHODS][METRICS_N_STATUSES];
    struct metrics_histogram latency[METRICS_MAX_ROUTES + 1][METRICS_N_METHODS];
    uint64_t errors[ERR_N_CODES];
    uint64_t writes_refused[METRICS_N_REFUSALS];
    struct metrics_histogram database_wait[2]; /* of reads, of writes */
    uint64_t database_failures[ERR_N_CODES];
    uint64_t database_events[METRICS_N_DATABASE_EVENTS];
    uint64_t gauges[METRICS_N_GAUGES];
};

/* A worker looks at the database this often. */
#define METRICS_LOOK_MS 5000

/* What the workers share.  The supervisor alone writes the numbers before the slots, except those
 * of the look: the worker that took it writes them. */
struct metrics {
    size_t n_slots;     /* one for each worker; what workers_run() trusts is its plan */
    int64_t started_ms; /* since 1970 */
    uint64_t workers_started;
    uint64_t workers_ended; /* without being told to */
    uint64_t look_due_ms;   /* on the steady clock */
    uint64_t looked_ms;     /* since 1970; 0: nobody has looked yet */
    uint64_t is_database_up;
    struct metrics_slot slots[];
};

/* Returns memory for so many workers, all zero, that processes share which are forked later.  The
 * caller frees it with metrics_free().  Returns NULL with errno set. */
MUST_CHECK struct metrics *metrics_new(size_t n_slots);

/* Frees it in this process; n_slots is that of metrics_new(), since other processes may have
 * written there.  NULL is fine. */
void metrics_free(struct metrics *metrics, size_t n_slots);

/* Returns whether this worker is the one that looks at the database now, and moves the next look by
 * METRICS_LOOK_MS.  now_ms is on the steady clock. */
MUST_CHECK bool metrics_take_look(struct metrics *metrics, int64_t now_ms);

/* Stores what the worker saw. */
void metrics_put_look(struct metrics *metrics, bool is_database_up);

/* Returns a number of any slot. */
static inline uint64_t metrics_get(const uint64_t *number)
{
    return __atomic_load_n(number, __ATOMIC_RELAXED);
}

/* Sets a number of this process's own slot, or adds to it.  There is no lock and no system call. */
static inline void metrics_set(uint64_t *number, uint64_t value)
{
    __atomic_store_n(number, value, __ATOMIC_RELAXED);
}
static inline void metrics_add(uint64_t *number, uint64_t more)
{
    metrics_set(number, metrics_get(number) + more);
}

/* Returns the place of an HTTP status; the last place is for all that are not listed. */
MUST_CHECK size_t metrics_status_place(int status);

/* Returns the status of a place, or 0 for the last place. */
MUST_CHECK int metrics_status_at(size_t place);

/* Returns the place of a request's method. */
MUST_CHECK enum metrics_method metrics_method_place(const char *method);

/* Returns the name of a method: a constant. */
MUST_CHECK const char *metrics_method_name(enum metrics_method method);

/* Adds a time to a histogram. */
void metrics_observe(struct metrics_histogram *histogram, int64_t us);

/* The worker of a slot has ended: its gauges count no longer. */
void metrics_end(struct metrics_slot *slot);

/* Sets *total to the sums of all slots. */
void metrics_add_up(const struct metrics *metrics, struct metrics_slot *total);

#endif
