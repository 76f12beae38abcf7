/* SPDX-License-Identifier: MIT */
/* What the metrics of one GET cost: does all that a worker does for them, many times, and prints
 * the nanoseconds of CPU time for each.  tools/bench compares that with the CPU time of a GET. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "api/metrics.h"
#include "base/clock.h"

#define ROUNDS 2000000

static int64_t cpu_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

/* pg_run() reads the clock twice; api_answer() and the loop read it once without metrics too. */
static void count_one(struct metrics_slot *slot, const struct call *call)
{
    int64_t began_us = clock_steady_us();

    metrics_observe(&slot->database_wait[false], clock_steady_us() - began_us);
    api_metrics_count(call, ERR_NONE);
    for (size_t i = 0; i < METRICS_N_GAUGES; i++)
        metrics_set(&slot->gauges[i], i);
}

int main(void)
{
    struct metrics *metrics = metrics_new(1);
    struct api_settings settings = {.names = {.error_prefix = ""}};
    const struct request request = {.method = "GET", .arrived_us = clock_steady_us()};
    struct response response = {.status = 200};
    struct call call = {.settings = &settings, .request = &request, .response = &response};
    const struct route *route = api_routes;
    int64_t started_ns;

    if (!metrics) {
        perror("bench-count");
        return EXIT_FAILURE;
    }
    while (strcmp(route->method, "GET") != 0 || !strchr(route->path, '{'))
        route++;
    call.match = (struct route_match){.route = route, .of_path = route};
    settings.counts = &metrics->slots[0];
    started_ns = cpu_ns();
    for (int i = 0; i < ROUNDS; i++)
        count_one(settings.counts, &call);
    printf("%.1f\n", (double)(cpu_ns() - started_ns) / ROUNDS);
    metrics_free(metrics, 1);
    return EXIT_SUCCESS;
}
