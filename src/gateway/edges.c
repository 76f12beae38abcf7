/* SPDX-License-Identifier: MIT */
/* Keeps the edges' files in step with the modules and with the authorities' files: what is due. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/clock.h"
#include "gateway/edges_inside.h"
#include "gateway/haproxy.h"
#include "gateway/job.h"
#include "gateway/whole_file.h"

/* How often the authorities' files are looked at. */
#define LOOK_MS 2000

/* The pause of a round that looks at many. */
#define LOOK_ON_MS 10

/* A reload waits for so long until all edges that changed are read and written. */
#define GATHER_MS 5000

/* A child that takes longer is ended.  HAProxy is told of one edge after the other. */
#define RELOAD_LIMIT_MS 10000
#define HAPROXY_LIMIT_MS 100 /* more, for each edge */

/* After this time, no old process of HAProxy takes commands any more. */
#define TAKEOVER_MS 1000

/* ---- the children ---- */

static bool run_command(void *context)
{
    const struct edges *edges = context;

    execv(edges->argv[0], edges->argv);
    fprintf(stderr, "%s: %s\n", edges->argv[0], strerror(errno));
    return false;
}

/* Notes each edge that HAProxy has taken over.  Telling it once more would end connections again,
 * as often as another edge is refused. */
static bool run_haproxy(void *context)
{
    const struct edges *edges = context;
    bool all_ok = true;

    for (size_t i = 0; i < edges->n; i++) {
        const struct edge *edge = &edges->items[i];
        bool ok = edge->changed <= edges->haproxy_obeys[i] ||
                  haproxy_tell(edges->settings->haproxy, edges->settings->output, edge->id,
                               edge->narrowed > edges->haproxy_obeys[i]);

        if (ok)
            edges->haproxy_obeys[i] = edges->version;
        all_ok = all_ok && ok;
    }
    return all_ok;
}

/* ---- making ---- */

static bool copy_edges(struct edges *edges)
{
    struct text rest = text_of(edges->settings->edges);
    const size_t n = text_count_words(rest);

    edges->items = calloc(n + 1, sizeof *edges->items);
    edges->ids = calloc(n + 1, sizeof *edges->ids);
    if (!edges->items || !edges->ids)
        return false;
    for (struct text id; (id = text_next_word(&rest)).s; edges->n++) {
        struct edge *edge = &edges->items[edges->n];

        edge->due = true;
        edge->id = strndup(id.s, id.len);
        if (!edge->id)
            return false;
        edges->ids[edges->n] = text_of(edge->id);
    }
    return true;
}

static size_t versions_size(const struct edges *edges)
{
    return (edges->n + 1) * sizeof *edges->haproxy_obeys;
}

static bool share_versions(struct edges *edges)
{
    void *memory =
        mmap(NULL, versions_size(edges), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

    if (memory == MAP_FAILED)
        return false;
    edges->haproxy_obeys = memory;
    return true;
}

static bool split_command(struct edges *edges)
{
    size_t n = text_count_words(text_of(edges->settings->reload));
    char *rest;

    edges->command.used = n > 0;
    edges->argv = calloc(n + 1, sizeof *edges->argv);
    edges->argv_text = strdup(edges->settings->reload);
    if (!edges->argv || !edges->argv_text)
        return false;
    rest = edges->argv_text;
    for (size_t i = 0; i < n;) {
        char *word = strsep(&rest, " \t");

        if (*word)
            edges->argv[i++] = word;
    }
    return true;
}

/* A reload that the last process owed is due for all edges. */
static void take_over_debt(struct edges *edges)
{
    struct buf none = {0};

    if (!whole_file_read(edges->settings->output, EDGES_DUE_FILE, 0, &none))
        return;
    edges->is_noted = true;
    edges->version = 1;
    for (size_t i = 0; i < edges->n; i++)
        edges->items[i].changed = edges->items[i].narrowed = edges->version;
    edges_want_reloads(edges, clock_steady_ms());
    buf_free(&none);
}

struct edges *edges_new(const struct conf_mutual_tls *settings, const struct log *log)
{
    struct edges *edges = calloc(1, sizeof *edges);

    if (!edges)
        return NULL;
    edges->settings = settings;
    edges->log = log;
    edges->write_pause_ms = EDGES_FIRST_PAUSE_MS;
    edges->lock_fd = -1;
    edges->command.job =
        (struct job){.name = settings->reload, .run = run_command, .context = edges};
    edges->haproxy.job =
        (struct job){.name = settings->haproxy, .run = run_haproxy, .context = edges};
    edges->watch.path = settings->haproxy;
    haproxy_watch_init(&edges->watch);
    edges->tell_at_ms = JOB_NEVER;
    reload_init(&edges->command, RELOAD_LIMIT_MS);
    reload_init(&edges->haproxy, RELOAD_LIMIT_MS);
    if (copy_edges(edges) && share_versions(edges) && split_command(edges)) {
        edges->haproxy.used = settings->haproxy[0] != '\0' && edges->n > 0;
        edges->haproxy.job.limit_ms += (int)edges->n * HAPROXY_LIMIT_MS;
        take_over_debt(edges);
        return edges;
    }
    edges_free(edges);
    return NULL;
}

void edges_free(struct edges *edges)
{
    if (!edges)
        return;
    for (size_t i = 0; i < edges->n; i++) {
        free(edges->items[i].id);
        free(edges->items[i].authorities);
        free(edges->items[i].stamps);
        told_free(&edges->items[i].told);
    }
    job_free(&edges->command.job);
    job_free(&edges->haproxy.job);
    haproxy_watch_free(&edges->watch);
    if (edges->lock_fd >= 0)
        close(edges->lock_fd);
    if (edges->haproxy_obeys)
        munmap(edges->haproxy_obeys, versions_size(edges));
    buf_free(&edges->reading.pem);
    free(edges->items);
    free(edges->ids);
    free((void *)edges->argv);
    free(edges->argv_text);
    free(edges);
}

struct edges_count edges_count(const struct edges *edges)
{
    struct edges_count count = {.n = edges->n};

    for (size_t i = 0; i < edges->n; i++) {
        count.n_open += edges->items[i].known && !edges->items[i].enabled;
        count.n_nobody += edges->items[i].trusts_nobody;
        count.n_due += edges->items[i].due || edges->items[i].is_stale;
    }
    return count;
}

/* ---- reloads ---- */

/* Returns whether some server may not obey the files yet. */
static bool any_owes(const struct edges *edges)
{
    return reload_owes(&edges->command) || reload_owes(&edges->haproxy);
}

static void forget_debt(struct edges *edges)
{
    const char *folder = edges->settings->output;

    if (any_owes(edges) || !edges->is_noted)
        return;
    edges->is_noted = !whole_file_remove(folder, EDGES_DUE_FILE);
    if (edges->is_noted) {
        const struct log_pair pairs[] = {{"cause", strerror(errno)}, {NULL, NULL}};

        log_event(edges->log, LOG_LEVEL_WARNING, "reload stays due", pairs);
    }
}

/* Tells a new process of HAProxy of all edges.  Connections end that it may have taken by a rule
 * that was narrowed since it began. */
static void tell_anew(struct edges *edges, int64_t now_ms)
{
    edges->tell_at_ms = JOB_NEVER;
    edges->version++;
    for (size_t i = 0; i < edges->n; i++) {
        struct edge *edge = &edges->items[i];

        edge->changed = edges->version;
        if (edge->narrowed > 0 && edge->narrowed_ms >= edges->watch.begun_ms)
            edge->narrowed = edges->version;
    }
    reload_want_soon(&edges->haproxy, edges->version, now_ms);
}

static void tick_watch(struct edges *edges, int64_t now_ms)
{
    if (!edges->haproxy.used)
        return;
    if (haproxy_watch_tick(&edges->watch, now_ms))
        edges->tell_at_ms = now_ms + TAKEOVER_MS;
    if (now_ms >= edges->tell_at_ms)
        tell_anew(edges, now_ms);
}

static bool any_stale(const struct edges *edges)
{
    struct text id;

    return edges_stale(edges, &id, 1).n > 0;
}

static int64_t gathered_ms(const struct reload *reload)
{
    return reload->changed_ms + GATHER_MS;
}

/* One reload is for all edges that changed. */
static bool gathers_changes(const struct edges *edges, const struct reload *reload, int64_t now_ms)
{
    return reload->job.pid == 0 && now_ms < gathered_ms(reload) &&
           (edges->write_next > 0 || any_stale(edges));
}

static void tick_reload(struct edges *edges, struct reload *reload, int64_t now_ms)
{
    if (gathers_changes(edges, reload, now_ms))
        return;
    if (reload_tick(reload, edges->version, now_ms, edges->log))
        forget_debt(edges);
}

void edges_tick(struct edges *edges, int64_t now_ms)
{
    if (now_ms >= edges->look_at_ms)
        edges->look_at_ms = now_ms + (edges_look(edges) ? LOOK_MS : LOOK_ON_MS);
    if (now_ms >= edges->write_at_ms && edges_any_due(edges))
        edges_write_next(edges, now_ms);
    tick_watch(edges, now_ms);
    tick_reload(edges, &edges->command, now_ms);
    tick_reload(edges, &edges->haproxy, now_ms);
}

/* What ends the gathering sooner is a tick's own work, or comes before the next one. */
static int64_t next_of_reload(const struct edges *edges, const struct reload *reload,
                              int64_t now_ms)
{
    int64_t next_ms = job_next(&reload->job, now_ms);
    bool waits = next_ms < gathered_ms(reload) && gathers_changes(edges, reload, now_ms);

    return waits ? gathered_ms(reload) : next_ms;
}

int64_t edges_next(const struct edges *edges, int64_t now_ms)
{
    int64_t next_ms = clock_earlier(next_of_reload(edges, &edges->command, now_ms),
                                    next_of_reload(edges, &edges->haproxy, now_ms));

    if (edges->n > 0)
        next_ms = clock_earlier(next_ms, edges->look_at_ms);
    if (edges->haproxy.used)
        next_ms = clock_earlier(clock_earlier(next_ms, edges->tell_at_ms),
                                haproxy_watch_next(&edges->watch, now_ms));
    return edges_any_due(edges) ? clock_earlier(next_ms, edges->write_at_ms) : next_ms;
}

/* Returns whether HAProxy has not answered yet, or a new process of it has still to be told. */
static bool is_haproxy_new(const struct edges *edges)
{
    return edges->haproxy.used && (edges->watch.pid == 0 || edges->tell_at_ms != JOB_NEVER);
}

void edges_status(const struct edges *edges, struct buf *out)
{
    struct edges_count count = edges_count(edges);

    buf_printf(out, "edges %zu\nedges_open %zu\nedges_nobody %zu\nedges_due %zu\n", count.n,
               count.n_open, count.n_nobody, count.n_due);
    buf_printf(out, "reload %s\nhaproxy %s\n", reload_status(&edges->command),
               is_haproxy_new(edges) ? RELOAD_DUE : reload_status(&edges->haproxy));
}

bool edges_are_due(const struct edges *edges)
{
    return edges_count(edges).n_due > 0 || any_owes(edges) || is_haproxy_new(edges);
}
