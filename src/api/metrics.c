/* SPDX-License-Identifier: MIT */
/* Counting of requests, and the answer to /metrics. */
#include "api/metrics.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/exposition.h"

/* After so many looks that nobody took, the database counts as down. */
#define LOOKS_MISSED 3

/* ---- counting ---- */

static enum metrics_refusal refusal_of(int status)
{
    if (status >= 500)
        return METRICS_REFUSED_SERVICE;
    if (status == 401 || status == 403)
        return METRICS_REFUSED_KEY;
    return status == 412 ? METRICS_REFUSED_CONDITION : METRICS_REFUSED_INPUT;
}

/* Returns the place of a row of the route table; the last place is for no row. */
static size_t row_place(const struct route *route)
{
    return route ? (size_t)(route - api_routes) : METRICS_MAX_ROUTES;
}

/* Returns whether a request that was refused asked for a write.  A method that the path does not
 * take has no row that could say so. */
static bool asks_for_write(const struct route_match *match, const char *method)
{
    if (match->route)
        return !api_route_reads_only(match->route);
    return match->of_path && !match->is_options && !match->is_head && strcmp(method, "GET") != 0;
}

void api_metrics_count(const struct call *call, enum error_code code)
{
    struct metrics_slot *counts = call->settings->counts;
    const struct route_match *match = &call->match;
    int64_t since_us = call->request->arrived_us ? call->request->arrived_us : call->started_us;
    int status = call->response->status;
    size_t route = row_place(match->of_path);
    enum metrics_method method = metrics_method_place(call->request->method);

    if (!counts)
        return;
    metrics_add(&counts->requests[route][method][metrics_status_place(status)], 1);
    metrics_observe(&counts->latency[route][method], clock_steady_us() - since_us);
    if (code == ERR_NONE)
        return;
    metrics_add(&counts->errors[code], 1);
    if (asks_for_write(match, call->request->method) && code != ERR_OUTCOME_UNKNOWN)
        metrics_add(&counts->writes_refused[refusal_of(status)], 1);
}

/* ---- the answer: Prometheus' text format ---- */

static const char *path_of(size_t route)
{
    return route == METRICS_MAX_ROUTES ? "none" : api_routes[route].path;
}

static void put_requests_of(struct buf *out, const char *name, size_t route,
                            enum metrics_method method,
                            const uint64_t with_status[METRICS_N_STATUSES])
{
    for (size_t place = 0; place < METRICS_N_STATUSES; place++) {
        int status = metrics_status_at(place);

        if (with_status[place] == 0)
            continue;
        buf_printf(out, "%s{route=\"%s\",method=\"%s\",status=\"", name, path_of(route),
                   metrics_method_name(method));
        if (status)
            buf_uint(out, (uint64_t)status);
        else
            buf_puts(out, "other");
        buf_printf(out, "\"} %" PRIu64 "\n", with_status[place]);
    }
}

static void put_requests(struct buf *out, const struct metrics_slot *total)
{
    static const char name[] = "adit_http_requests_total";

    exposition_begin(out, name, "counter", "Requests answered, by route, method and status.");
    for (size_t route = 0; route <= METRICS_MAX_ROUTES; route++) {
        for (int method = 0; method < METRICS_N_METHODS; method++)
            put_requests_of(out, name, route, (enum metrics_method)method,
                            total->requests[route][method]);
    }
}

static uint64_t count_of(const struct metrics_histogram *histogram)
{
    uint64_t n = 0;

    for (size_t i = 0; i < METRICS_N_BUCKETS; i++)
        n += histogram->n_in[i];
    return n;
}

static void put_latency(struct buf *out, const struct metrics_slot *total)
{
    static const char name[] = "adit_http_request_duration_seconds";
    char labels[128];

    exposition_begin(out, name, "histogram",
                     "Time from the last byte of a request to its answer, by route and method.");
    for (size_t i = 0; i < (METRICS_MAX_ROUTES + 1) * METRICS_N_METHODS; i++) {
        size_t route = i / METRICS_N_METHODS;
        enum metrics_method method = (enum metrics_method)(i % METRICS_N_METHODS);
        const struct metrics_histogram *histogram = &total->latency[route][method];

        if (count_of(histogram) == 0)
            continue;
        snprintf(labels, sizeof labels, "route=\"%s\",method=\"%s\"", path_of(route),
                 metrics_method_name(method));
        exposition_histogram(out, name, labels, histogram);
    }
}

/* Errors of the service are there from the start, since rate() does not see a series' first value.
 */
static void put_errors(struct buf *out, const struct metrics_slot *total)
{
    static const char name[] = "adit_errors_total";

    exposition_begin(out, name, "counter", "Errors answered, by their number.");
    for (int code = ERR_NONE + 1; code < ERR_N_CODES; code++) {
        const struct error_row *row = error_row((enum error_code)code);

        if (total->errors[code] > 0 || row->status >= 500)
            buf_printf(out, "%s{number=\"%d\",error=\"%s\",status=\"%d\"} %" PRIu64 "\n", name,
                       row->number, row->symbol, row->status, total->errors[code]);
    }
}

static void put_refusals(struct buf *out, const struct metrics_slot *total)
{
    static const char name[] = "adit_writes_refused_total";
    static const char *const reasons[METRICS_N_REFUSALS] = {
        [METRICS_REFUSED_KEY] = "key",
        [METRICS_REFUSED_INPUT] = "input",
        [METRICS_REFUSED_CONDITION] = "condition",
        [METRICS_REFUSED_SERVICE] = "service",
    };

    exposition_begin(out, name, "counter",
                     "Writes refused without effect, by who or what was at fault.");
    for (int i = 0; i < METRICS_N_REFUSALS; i++)
        buf_printf(out, "%s{reason=\"%s\"} %" PRIu64 "\n", name, reasons[i],
                   total->writes_refused[i]);
}

static void put_database(struct buf *out, const struct metrics_slot *total)
{
    static const char wait[] = "adit_database_wait_seconds";
    static const char failures[] = "adit_database_failures_total";
    const uint64_t *events = total->database_events;

    exposition_begin(
        out, wait, "histogram",
        "Time that a request waited for a statement of the database, retries included.");
    exposition_histogram(out, wait, "kind=\"read\"", &total->database_wait[false]);
    exposition_histogram(out, wait, "kind=\"write\"", &total->database_wait[true]);
    exposition_begin(out, failures, "counter",
                     "Statements that failed for good, by the error's number.");
    for (int code = ERR_NONE + 1; code < ERR_N_CODES; code++) {
        const struct error_row *row = error_row((enum error_code)code);

        if (total->database_failures[code] > 0 ||
            (code >= ERR_DATABASE_UNAVAILABLE && code <= ERR_SCHEMA_MISMATCH))
            buf_printf(out, "%s{number=\"%d\",error=\"%s\"} %" PRIu64 "\n", failures, row->number,
                       row->symbol, total->database_failures[code]);
    }
    exposition_one(out, "adit_database_retries_total", "counter",
                   "Statements that ran again after a passing failure.",
                   events[METRICS_DATABASE_RETRIED]);
    exposition_one(out, "adit_database_sessions_opened_total", "counter", "Sessions opened.",
                   events[METRICS_DATABASE_OPENED]);
    exposition_one(out, "adit_database_connect_failures_total", "counter",
                   "Failed attempts to open a session.", events[METRICS_DATABASE_NOT_OPENED]);
    exposition_one(out, "adit_database_shared_session_failures_total", "counter",
                   "Times that a worker closed its shared session for 5 s after a failure.",
                   events[METRICS_DATABASE_SHARED_FAILED]);
}

/* A worker looks in a lane that no request needs.  If all lanes hang, nobody looks, and what the
 * last look found need not hold any more. */
static bool is_old(uint64_t looked_ms)
{
    return clock_wall_ms() - (int64_t)looked_ms > (int64_t)LOOKS_MISSED * METRICS_LOOK_MS;
}

/* Gauges of the last look, whatever requests come.  They have no value before the first one. */
static void put_look(struct buf *out, const struct metrics *metrics)
{
    static const char up[] = "adit_database_up";
    uint64_t looked_ms = metrics_get(&metrics->looked_ms);

    exposition_begin(
        out, up, "gauge",
        "1: the last look at the database, every 5 s, found it ready; 0: it did not, or is "
        "older than 15 s.");
    if (looked_ms > 0)
        buf_printf(out, "%s %" PRIu64 "\n", up,
                   is_old(looked_ms) ? 0 : metrics_get(&metrics->is_database_up));
    exposition_time(out, "adit_database_looked_time_seconds",
                    "When a worker last looked, in seconds since 1970.", (int64_t)looked_ms);
}

static void put_gauges(struct buf *out, const struct metrics_slot *total)
{
    exposition_one(out, "adit_lanes", "gauge",
                   "Lanes: requests that all workers can answer at once.",
                   total->gauges[METRICS_LANES]);
    exposition_one(out, "adit_lanes_busy", "gauge", "Lanes that answer a request.",
                   total->gauges[METRICS_LANES_BUSY]);
    exposition_one(out, "adit_connections", "gauge", "Connections of web servers.",
                   total->gauges[METRICS_CONNECTIONS]);
    exposition_one(out, "adit_requests_waiting", "gauge", "Whole requests that wait for a lane.",
                   total->gauges[METRICS_WAITING]);
    exposition_one(out, "adit_answers_held_bytes", "gauge",
                   "Memory of answers that web servers have not read.",
                   total->gauges[METRICS_HELD_BYTES]);
}

static void put_process(struct buf *out, const struct metrics *metrics)
{
    exposition_begin(out, "adit_build_info", "gauge", "1; the label is the version.");
    buf_puts(out, "adit_build_info{version=\"" PACKAGE_VERSION "\"} 1\n");
    exposition_time(out, "adit_start_time_seconds",
                    "When the responder started, in seconds since 1970.", metrics->started_ms);
    exposition_one(out, "adit_workers", "gauge", "Worker processes that the responder keeps.",
                   metrics->n_slots);
    exposition_one(out, "adit_workers_started_total", "counter", "Workers started.",
                   metrics_get(&metrics->workers_started));
    exposition_one(out, "adit_workers_ended_total", "counter", "Workers that ended unexpectedly.",
                   metrics_get(&metrics->workers_ended));
}

bool api_metrics_show(struct call *call, struct error *err)
{
    const struct metrics *metrics = call->settings->metrics;
    struct buf *out = &call->response->body;
    struct metrics_slot *total;

    if (!metrics)
        return error_say(err, ERR_PATH_UNKNOWN,
                         "There are no metrics here: this process answers alone. Only a responder "
                         "with --listen or a socket of systemd counts.");
    total = arena_alloc(call->arena, sizeof *total);
    if (!total)
        return error_set(err, ERR_OUT_OF_MEMORY);
    metrics_add_up(metrics, total);
    put_process(out, metrics);
    put_requests(out, total);
    put_latency(out, total);
    put_errors(out, total);
    put_refusals(out, total);
    put_database(out, total);
    put_look(out, metrics);
    put_gauges(out, total);
    response_finish_as(call->response, 200, "text/plain; version=0.0.4; charset=utf-8");
    return true;
}
