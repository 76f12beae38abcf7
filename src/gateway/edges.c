/* SPDX-License-Identifier: MIT */
/* Keeps the edges' files in step with the modules and with the authorities' files. */
#include "gateway/edges.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/ident.h"
#include "gateway/authority.h"
#include "gateway/edge_files.h"
#include "gateway/haproxy.h"
#include "gateway/haproxy_watch.h"
#include "gateway/job.h"
#include "gateway/nobody.h"
#include "gateway/told.h"
#include "gateway/way.h"
#include "gateway/whole_file.h"

/* Changes within this time share a reload. */
#define BATCH_MS 50

/* How often the authorities' files are looked at. */
#define LOOK_MS 2000

/* Pauses after a failure to write. */
#define FIRST_PAUSE_MS 250
#define LONGEST_PAUSE_MS 5000

/* A child that takes longer is ended.  HAProxy is told of one edge after the other. */
#define RELOAD_LIMIT_MS 10000
#define HAPROXY_LIMIT_MS 100 /* more, for each edge */

/* After this time, no old process of HAProxy takes commands any more. */
#define TAKEOVER_MS 1000

/* The file in the output folder while a reload is due, so that the next start knows of it. */
#define DUE_FILE ".reload-due"

/* An edge.  `changed` and `narrowed` are versions of the edges: see struct edges. */
struct edge {
    char *id;
    bool known; /* the module is */
    bool enabled;
    char *authorities; /* ids, separated by spaces */
    size_t n_authorities;
    struct authority_stamp *stamps; /* of the authorities' files when they were read */
    struct told told;               /* of files of which something was left out */
    bool due;                       /* the files may have to change */
    bool is_narrowing;              /* a change that is not done yet is narrower */
    bool trusts_nobody;             /* the files ask for certificates that nobody has */
    uint64_t changed;
    uint64_t narrowed;
    int64_t narrowed_ms; /* when `narrowed` was set by a change (steady clock) */
    int64_t written_ms;  /* when the log last told of the files (steady clock); 0: never */
};

struct edges {
    const struct conf_mutual_tls *settings;
    const struct log *log;
    struct edge *items;
    struct text *ids; /* of the items */
    size_t n;
    char **argv;      /* of the reload, in argv_text; ends with NULL */
    char *argv_text;  /* words, each ended by NUL */
    uint64_t version; /* grows with each change of a file, and with each new process of HAProxy */
    bool is_noted;    /* DUE_FILE is there */
    int lock_fd;      /* keeps other daemons out of the output folder; -1: none */
    int64_t write_at_ms;
    int write_pause_ms;
    int64_t look_at_ms;
    struct way command;
    struct way haproxy;
    struct haproxy_watch watch;
    int64_t tell_at_ms; /* when a new process of HAProxy is told of all edges; JOB_NEVER: there is
                           none */
};

/* ---- the children ---- */

static bool run_command(void *context)
{
    const struct edges *edges = context;

    execv(edges->argv[0], edges->argv);
    fprintf(stderr, "%s: %s\n", edges->argv[0], strerror(errno));
    return false;
}

static bool run_haproxy(void *context)
{
    const struct edges *edges = context;
    bool ok = true;

    for (size_t i = 0; i < edges->n; i++) {
        const struct edge *edge = &edges->items[i];

        if (edge->changed > edges->haproxy.done)
            ok = haproxy_tell(edges->settings->haproxy, edges->settings->output, edge->id,
                              edge->narrowed > edges->haproxy.done) &&
                 ok;
    }
    return ok;
}

/* ---- making ---- */

static size_t count_words(const char *text)
{
    struct text rest = text_of(text);
    size_t n = 0;

    while (text_next_word(&rest).s)
        n++;
    return n;
}

static bool copy_edges(struct edges *edges)
{
    struct text rest = text_of(edges->settings->edges);

    edges->items = calloc(count_words(edges->settings->edges) + 1, sizeof *edges->items);
    edges->ids = calloc(count_words(edges->settings->edges) + 1, sizeof *edges->ids);
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

static bool split_command(struct edges *edges)
{
    size_t n = count_words(edges->settings->reload);
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

static void want_ways(struct edges *edges, int64_t at_ms)
{
    way_want(&edges->command, edges->version, at_ms);
    way_want(&edges->haproxy, edges->version, at_ms);
}

/* A reload that the last process owed is due for all edges. */
static void take_over_debt(struct edges *edges)
{
    struct buf none = {0};

    if (!whole_file_read(edges->settings->output, DUE_FILE, 0, &none))
        return;
    edges->is_noted = true;
    edges->version = 1;
    for (size_t i = 0; i < edges->n; i++)
        edges->items[i].changed = edges->items[i].narrowed = edges->version;
    want_ways(edges, clock_steady_ms());
    buf_free(&none);
}

struct edges *edges_new(const struct conf_mutual_tls *settings, const struct log *log)
{
    struct edges *edges = calloc(1, sizeof *edges);

    if (!edges)
        return NULL;
    edges->settings = settings;
    edges->log = log;
    edges->write_pause_ms = FIRST_PAUSE_MS;
    edges->lock_fd = -1;
    edges->command.job =
        (struct job){.name = settings->reload, .run = run_command, .context = edges};
    edges->haproxy.job =
        (struct job){.name = settings->haproxy, .run = run_haproxy, .context = edges};
    edges->watch.path = settings->haproxy;
    haproxy_watch_init(&edges->watch);
    edges->tell_at_ms = JOB_NEVER;
    way_init(&edges->command, RELOAD_LIMIT_MS);
    way_init(&edges->haproxy, RELOAD_LIMIT_MS);
    if (copy_edges(edges) && split_command(edges)) {
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
    free(edges->items);
    free(edges->ids);
    free((void *)edges->argv);
    free(edges->argv_text);
    free(edges);
}

/* ---- modules ---- */

/* Logs what of an authority is left out.  A file that is there is the operator's, who reads of each
 * version of it once; nothing suppresses that line.  Other lines come from what callers store. */
static void log_left_out(const struct edges *edges, struct edge *edge, struct text authority,
                         const struct authority_stamp *stamp, const char *cause)
{
    static const struct authority_stamp no_file;
    char id[ERROR_QUOTE_SIZE];
    const struct log_pair pairs[] = {
        {"edge", edge->id},
        {"authority", error_quote(id, authority)},
        {"cause", cause},
        {NULL, NULL},
    };

    if (!stamp || authority_stamps_equal(stamp, &no_file))
        log_often(edges->log, LOG_LEVEL_WARNING, "authority left out", pairs);
    else if (told_note(&edge->told, authority, stamp, text_of(cause)))
        log_event(edges->log, LOG_LEVEL_WARNING, "authority left out", pairs);
}

/* Sets the rule that the edge obeys from now on.  Takes over the ids. */
static void set_module(struct edge *edge, bool enabled, char *authorities,
                       struct authority_stamp *stamps)
{
    if (edge->known && edge->enabled == enabled && strcmp(edge->authorities, authorities) == 0) {
        free(authorities);
        free(stamps);
        return;
    }
    free(edge->authorities);
    free(edge->stamps);
    edge->known = true;
    edge->enabled = enabled;
    edge->authorities = authorities;
    edge->stamps = stamps;
    edge->n_authorities = count_words(authorities);
    edge->due = true;
}

/* The ids of a module are joined, so those that are no identifiers must not get in. */
static bool put_module(struct edges *edges, struct edge *edge, const struct gateway_edge *module)
{
    bool enabled = module && module->enabled;
    size_t n = enabled ? module->certificate_authority_ids.n : 0;
    struct buf joined = {0};
    struct authority_stamp *stamps = calloc(n + 1, sizeof *stamps);

    buf_puts(&joined, "");
    for (size_t i = 0; i < n; i++) {
        struct text id = module->certificate_authority_ids.items[i];
        const char *fault = ident_fault(id);

        if (fault) {
            log_left_out(edges, edge, id, NULL, fault);
            continue;
        }
        buf_puts(&joined, joined.len > 0 ? " " : "");
        buf_add(&joined, id.s, id.len);
    }
    if (stamps && !joined.failed) {
        set_module(edge, enabled, joined.data, stamps);
        return true;
    }
    free(stamps);
    buf_free(&joined);
    return false;
}

bool edges_put(struct edges *edges, const struct gateway_edges *modules)
{
    bool ok = true;

    for (size_t i = 0; i < edges->n; i++) {
        const struct gateway_edge *module = NULL;

        for (size_t j = 0; j < modules->n && !module; j++) {
            if (text_eq(edges->ids[i], modules->items[j].edge_id))
                module = &modules->items[j];
        }
        ok = put_module(edges, &edges->items[i], module) && ok;
    }
    return ok;
}

struct text_list edges_ids(const struct edges *edges)
{
    return (struct text_list){.items = edges->ids, .n = edges->n, .given = true};
}

/* ---- files ---- */

/* Reads the authorities of an edge.  The stamps come first: if a file changes in between, the next
 * look finds it. */
static void read_authorities(const struct edges *edges, struct edge *edge, struct buf *pem)
{
    struct text rest = text_of(edge->authorities);

    for (size_t i = 0; i < edge->n_authorities; i++) {
        struct text id = text_next_word(&rest);
        char reason[AUTHORITY_REASON_SIZE];
        struct authority_stamp stamp;
        size_t len_before = pem->len;
        enum authority_result result;

        authority_look(edges->settings->authorities, id, &stamp);
        edge->stamps[i] = stamp;
        result = authority_read(edges->settings->authorities, id, pem, reason);
        if (result == AUTHORITY_FAILED)
            edge->stamps[i] = (struct authority_stamp){.device = 0}; /* so the next look tries it */
        if (result == AUTHORITY_READ && pem->len > EDGE_FILES_PEM_MAX) {
            buf_cut(pem, len_before);
            snprintf(reason, sizeof reason, "the edge's authorities are longer than 8 MiB");
        }
        if (reason[0])
            log_left_out(edges, edge, id, &stamp, reason);
    }
}

/* Each edge may be written at each poll, and all of them at a start. */
static void log_written(const struct edges *edges, struct edge *edge, const struct edge_rule *rule,
                        int64_t now_ms)
{
    bool is_often = edge->written_ms > 0 && now_ms < edge->written_ms + WAY_QUIET_MS;
    const struct log_pair pairs[] = {
        {"edge", edge->id},
        {"verify", edge_files_value(rule->asks)},
        {"authority", edge->trusts_nobody ? "nobody" : edge->authorities},
        {NULL, NULL},
    };

    edge->written_ms = now_ms;
    if (is_often)
        log_often(edges->log, LOG_LEVEL_INFO, "edge written", pairs);
    else
        log_event(edges->log, LOG_LEVEL_INFO, "edge written", pairs);
}

/* Returns whether some server may not obey the files yet. */
static bool any_owes(const struct edges *edges)
{
    return way_owes(&edges->command) || way_owes(&edges->haproxy);
}

/* Two daemons with one folder would mix up their files.  Returns false with errno. */
static bool lock_folder(struct edges *edges)
{
    if (edges->lock_fd < 0)
        edges->lock_fd = whole_file_lock(edges->settings->output);
    return edges->lock_fd >= 0;
}

/* Notes for the next start that a reload is due. */
static bool note_debt(struct edges *edges)
{
    if (!edges->command.used && !edges->haproxy.used)
        return true;
    edges->is_noted =
        edges->is_noted || whole_file_put(edges->settings->output, DUE_FILE, text_of(""));
    return edges->is_noted;
}

/* The files differ from now on, or a part of them does. */
static void begin_change(struct edges *edges, struct edge *edge, int64_t now_ms)
{
    edge->changed = ++edges->version;
    if (edge->is_narrowing) {
        edge->narrowed = edges->version;
        edge->narrowed_ms = now_ms;
    }
    want_ways(edges, now_ms + BATCH_MS);
}

/* Writes the rule into the files if they have another.  Returns false with errno.  After a failure
 * in the middle, the files no longer tell whether the rule is narrower than the one before. */
static bool write_rule(struct edges *edges, struct edge *edge, const struct edge_rule *rule,
                       int64_t now_ms)
{
    const char *folder = edges->settings->output;
    enum edge_change change;
    bool any, ok;

    errno = ENOMEM;
    if (!edge_files_compare(folder, edge->id, rule, &change))
        return false;
    if (change == EDGE_SAME)
        return true;
    edge->is_narrowing = edge->is_narrowing || change == EDGE_NARROWER;
    if (!note_debt(edges))
        return false;
    ok = edge_files_put(folder, edge->id, rule, &any);
    if (any)
        begin_change(edges, edge, now_ms);
    if (!ok)
        return false;
    edge->is_narrowing = false;
    log_written(edges, edge, rule, now_ms);
    return true;
}

static bool write_edge(struct edges *edges, struct edge *edge, int64_t now_ms)
{
    struct edge_rule rule = {.asks = !edge->known || edge->enabled};
    bool ok;

    if (!edge->known && edge_files_exist(edges->settings->output, edge->id))
        return true;
    if (edge->known && edge->enabled)
        read_authorities(edges, edge, &rule.pem);
    edge->trusts_nobody = rule.asks && rule.pem.len == 0;
    if (rule.pem.len == 0)
        buf_puts(&rule.pem, NOBODY_PEM);
    errno = ENOMEM;
    ok = !rule.pem.failed && lock_folder(edges) && write_rule(edges, edge, &rule, now_ms);
    if (!ok) {
        char cause[512];
        const struct log_pair pairs[] = {{"edge", edge->id}, {"cause", cause}, {NULL, NULL}};

        snprintf(cause, sizeof cause, "%s: %s", edges->settings->output,
                 errno == EWOULDBLOCK ? "another adit-gateway uses the folder" : strerror(errno));
        log_often(edges->log, LOG_LEVEL_ERROR, "edge not written", pairs);
    }
    buf_free(&rule.pem);
    return ok;
}

struct edges_count edges_count(const struct edges *edges)
{
    struct edges_count count = {.n = edges->n};

    for (size_t i = 0; i < edges->n; i++) {
        count.n_open += edges->items[i].known && !edges->items[i].enabled;
        count.n_nobody += edges->items[i].trusts_nobody;
        count.n_due += edges->items[i].due;
    }
    return count;
}

static int longer_pause(int pause_ms)
{
    return pause_ms * 2 < LONGEST_PAUSE_MS ? pause_ms * 2 : LONGEST_PAUSE_MS;
}

static void write_due(struct edges *edges, int64_t now_ms)
{
    bool ok = true;

    for (size_t i = 0; i < edges->n; i++) {
        struct edge *edge = &edges->items[i];

        if (edge->due)
            edge->due = !write_edge(edges, edge, now_ms);
        ok = ok && !edge->due;
    }
    edges->write_at_ms = now_ms + (ok ? 0 : edges->write_pause_ms);
    edges->write_pause_ms = ok ? FIRST_PAUSE_MS : longer_pause(edges->write_pause_ms);
}

/* Finds edges whose authorities' files changed. */
static void look_at_authorities(struct edges *edges)
{
    for (size_t i = 0; i < edges->n; i++) {
        struct edge *edge = &edges->items[i];
        struct text rest = text_of(edge->authorities);

        for (size_t j = 0; j < edge->n_authorities && !edge->due; j++) {
            struct authority_stamp now;

            authority_look(edges->settings->authorities, text_next_word(&rest), &now);
            edge->due = !authority_stamps_equal(&now, &edge->stamps[j]);
        }
    }
}

/* ---- reloads ---- */

static void forget_debt(struct edges *edges)
{
    const char *folder = edges->settings->output;

    if (any_owes(edges) || !edges->is_noted)
        return;
    edges->is_noted = !whole_file_remove(folder, DUE_FILE);
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
    way_want_soon(&edges->haproxy, edges->version, now_ms);
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

void edges_tick(struct edges *edges, int64_t now_ms)
{
    if (now_ms >= edges->look_at_ms) {
        look_at_authorities(edges);
        edges->look_at_ms = now_ms + LOOK_MS;
    }
    if (now_ms >= edges->write_at_ms && edges_count(edges).n_due > 0)
        write_due(edges, now_ms);
    tick_watch(edges, now_ms);
    if (way_tick(&edges->command, edges->version, now_ms, edges->log))
        forget_debt(edges);
    if (way_tick(&edges->haproxy, edges->version, now_ms, edges->log))
        forget_debt(edges);
}

int64_t edges_next(const struct edges *edges, int64_t now_ms)
{
    int64_t next_ms =
        clock_earlier(job_next(&edges->command.job, now_ms), job_next(&edges->haproxy.job, now_ms));

    if (edges->n > 0)
        next_ms = clock_earlier(next_ms, edges->look_at_ms);
    if (edges->haproxy.used)
        next_ms = clock_earlier(clock_earlier(next_ms, edges->tell_at_ms),
                                haproxy_watch_next(&edges->watch, now_ms));
    return edges_count(edges).n_due > 0 ? clock_earlier(next_ms, edges->write_at_ms) : next_ms;
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
    buf_printf(out, "reload %s\nhaproxy %s\n", way_status(&edges->command),
               is_haproxy_new(edges) ? WAY_DUE : way_status(&edges->haproxy));
}

bool edges_are_due(const struct edges *edges)
{
    return edges_count(edges).n_due > 0 || any_owes(edges) || is_haproxy_new(edges);
}
