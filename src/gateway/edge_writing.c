/* SPDX-License-Identifier: MIT */
/* Writes the files of the edges. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "gateway/authority.h"
#include "gateway/edge_files.h"
#include "gateway/edges_inside.h"
#include "gateway/unissued_ca.h"
#include "gateway/whole_file.h"

/* Changes within this time share a reload. */
#define BATCH_MS 50

/* A narrower rule of an edge is rare if there was none in this time. */
#define EDGES_RARE_MS 60000

/* Files of authorities that are looked at before logins get their turn. */
#define LOOKS_MAX 1000

/* Files of authorities that are read, and their bytes. */
#define READS_MAX 100
#define READ_BYTES_MAX (128 * 1024)

/* Whoever stores modules of one edge, or fails to have them written, hides no line of another. */
static struct log_source source_of_edge(const struct edge *edge)
{
    return log_source_of(LOG_PARTY_PLACE, text_of(edge->id));
}

/* Logs what of an authority is left out.  A file that is there is the operator's, who reads of each
 * version of it once; nothing suppresses that line.  Other lines come from what callers store. */
void edges_log_left_out(const struct edges *edges, struct edge *edge, struct text authority,
                        const struct authority_stamp *stamp, const char *cause)
{
    static const struct authority_stamp no_file;
    const struct log_source source = source_of_edge(edge);
    char id[ERROR_QUOTE_SIZE];
    const struct log_pair pairs[] = {
        {"edge", edge->id},
        {"authority", error_quote(id, authority)},
        {"cause", cause},
        {NULL, NULL},
    };

    if (!stamp || authority_stamps_equal(stamp, &no_file))
        log_often(edges->log, LOG_LEVEL_WARNING, "authority left out", &source, pairs);
    else if (told_note(&edge->told, authority, stamp, text_of(cause)))
        log_event(edges->log, LOG_LEVEL_WARNING, "authority left out", pairs);
}

/* Reads an authority.  The stamp comes first: if the file changes in between, the next look finds
 * it. */
static void read_authority(const struct edges *edges, struct edge *edge, struct text id,
                           struct authority_stamp *stamp, struct buf *pem)
{
    const char *folder = edges->settings->authorities;
    char reason[AUTHORITY_REASON_SIZE];
    struct authority_stamp seen;
    size_t len_before = pem->len;
    enum authority_result result;

    authority_look(folder, id, &seen);
    *stamp = seen;
    result = authority_read(folder, id, pem, reason);
    if (result == AUTHORITY_FAILED)
        *stamp = (struct authority_stamp){.device = 0}; /* so the next look tries it */
    if (result == AUTHORITY_READ && pem->len > EDGE_FILES_PEM_MAX) {
        buf_cut(pem, len_before);
        snprintf(reason, sizeof reason, "the edge's authorities are longer than 8 MiB");
    }
    if (reason[0])
        edges_log_left_out(edges, edge, id, &seen, reason);
}

/* Reads some of an edge's authorities.  Returns whether all are read; else the next call goes on.
 */
static bool read_authorities(struct edges *edges, struct edge *edge)
{
    struct edge_reading *reading = &edges->reading;
    size_t n_end, len_end;

    if (reading->edge != edge) {
        buf_clear(&reading->pem);
        reading->edge = edge;
        reading->rest = text_of(edge->authorities);
        reading->n = 0;
    }
    n_end = reading->n + READS_MAX;
    len_end = reading->pem.len + READ_BYTES_MAX;
    for (; reading->n < edge->n_authorities; reading->n++) {
        if (reading->n == n_end || reading->pem.len >= len_end)
            return false;
        read_authority(edges, edge, text_next_word(&reading->rest), &edge->stamps[reading->n],
                       &reading->pem);
    }
    return true;
}

/* Each edge may be written at each poll, and all of them at a start. */
static void log_written(const struct edges *edges, struct edge *edge, const struct edge_rule *rule,
                        int64_t now_ms)
{
    const struct log_source source = source_of_edge(edge);
    bool is_often = edge->written_ms > 0 && now_ms < edge->written_ms + RELOAD_QUIET_MS;
    const struct log_pair pairs[] = {
        {"edge", edge->id},
        {"verify", edge_files_value(rule->asks)},
        {"authority", edge->trusts_nobody ? "nobody" : edge->authorities},
        {NULL, NULL},
    };

    edge->written_ms = now_ms;
    if (is_often)
        log_often(edges->log, LOG_LEVEL_INFO, "edge written", &source, pairs);
    else
        log_event(edges->log, LOG_LEVEL_INFO, "edge written", pairs);
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
        edges->is_noted || whole_file_put(edges->settings->output, EDGES_DUE_FILE, text_of(""));
    return edges->is_noted;
}

/* Whoever changes modules again and again keeps no revocation of another edge waiting. */
static bool is_rare(const struct edge *edge, int64_t now_ms)
{
    return edge->is_narrowing &&
           (edge->narrowed_ms == 0 || now_ms >= edge->narrowed_ms + EDGES_RARE_MS);
}

void edges_want_reloads(struct edges *edges, int64_t at_ms)
{
    reload_want(&edges->command, edges->version, at_ms);
    reload_want(&edges->haproxy, edges->version, at_ms);
}

/* The same for a rare change: see reload_want_rare(). */
static void want_reloads_rare(struct edges *edges, int64_t at_ms)
{
    reload_want_rare(&edges->command, edges->version, at_ms);
    reload_want_rare(&edges->haproxy, edges->version, at_ms);
}

/* The files differ from now on, or a part of them does. */
static void begin_change(struct edges *edges, struct edge *edge, int64_t now_ms)
{
    bool rare = is_rare(edge, now_ms);

    edge->changed = ++edges->version;
    if (edge->is_narrowing) {
        edge->narrowed = edges->version;
        edge->narrowed_ms = now_ms;
    }
    if (rare)
        want_reloads_rare(edges, now_ms + BATCH_MS);
    else
        edges_want_reloads(edges, now_ms + BATCH_MS);
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

/* Writes the files of an edge whose authorities are read. */
static bool write_edge(struct edges *edges, struct edge *edge, int64_t now_ms)
{
    struct edge_rule rule = {.asks = !edge->known || edge->enabled, .pem = edges->reading.pem};
    bool ok;

    edges->reading = (struct edge_reading){.edge = NULL};
    /* Nothing was read for it: authorities are known with the module. */
    if (!edge->known && edge_files_exist(edges->settings->output, edge->id))
        return true;
    edge->trusts_nobody = rule.asks && rule.pem.len == 0;
    if (rule.pem.len == 0)
        buf_puts(&rule.pem, UNISSUED_CA_PEM);
    errno = ENOMEM;
    ok = !rule.pem.failed && lock_folder(edges) && write_rule(edges, edge, &rule, now_ms);
    if (!ok) {
        const struct log_source source = source_of_edge(edge);
        char cause[512];
        const struct log_pair pairs[] = {{"edge", edge->id}, {"cause", cause}, {NULL, NULL}};

        snprintf(cause, sizeof cause, "%s: %s", edges->settings->output,
                 errno == EWOULDBLOCK ? "another adit-gateway uses the folder" : strerror(errno));
        log_often(edges->log, LOG_LEVEL_ERROR, "edge not written", &source, pairs);
    }
    buf_free(&rule.pem);
    return ok;
}

static int longer_pause(int pause_ms)
{
    return pause_ms * 2 < EDGES_LONGEST_PAUSE_MS ? pause_ms * 2 : EDGES_LONGEST_PAUSE_MS;
}

static void end_round(struct edges *edges, int64_t now_ms)
{
    bool ok = !edges->write_failed;

    edges->write_next = 0;
    edges->write_failed = false;
    edges->write_at_ms = now_ms + (ok ? 0 : edges->write_pause_ms);
    edges->write_pause_ms = ok ? EDGES_FIRST_PAUSE_MS : longer_pause(edges->write_pause_ms);
}

static void find_due(struct edges *edges)
{
    while (edges->write_next < edges->n && !edges->items[edges->write_next].due)
        edges->write_next++;
}

bool edges_any_due(const struct edges *edges)
{
    for (size_t i = 0; i < edges->n; i++) {
        if (edges->items[i].due)
            return true;
    }
    return false;
}

void edges_write_next(struct edges *edges, int64_t now_ms)
{
    find_due(edges);
    if (edges->write_next < edges->n) {
        struct edge *edge = &edges->items[edges->write_next];

        if (!read_authorities(edges, edge))
            return;
        edges->write_next++;
        edge->due = !write_edge(edges, edge, now_ms);
        edges->write_failed = edges->write_failed || edge->due;
        find_due(edges);
    }
    if (edges->write_next == edges->n)
        end_round(edges, now_ms);
}

/* Its turn is over: else a module that changes again and again would keep the round from all edges
 * after it. */
void edges_read_anew(struct edges *edges, const struct edge *edge)
{
    if (edges->reading.edge != edge)
        return;
    edges->reading.edge = NULL;
    edges->write_next++;
}

static void look_at_edge(const struct edges *edges, struct edge *edge)
{
    struct text rest = text_of(edge->authorities);

    for (size_t i = 0; i < edge->n_authorities && !edge->due && !edge->has_new_files; i++) {
        struct authority_stamp now;

        authority_look(edges->settings->authorities, text_next_word(&rest), &now);
        edge->has_new_files = !authority_stamps_equal(&now, &edge->stamps[i]);
    }
}

/* Edges that change together share a reload. */
static void end_looks(struct edges *edges)
{
    for (size_t i = 0; i < edges->n; i++) {
        edges->items[i].due = edges->items[i].due || edges->items[i].has_new_files;
        edges->items[i].has_new_files = false;
    }
    edges->look_next = 0;
}

bool edges_look(struct edges *edges)
{
    for (size_t n_looks = 0; edges->look_next < edges->n; edges->look_next++) {
        struct edge *edge = &edges->items[edges->look_next];

        if (n_looks >= LOOKS_MAX)
            return false;
        look_at_edge(edges, edge);
        n_looks += edge->n_authorities;
    }
    end_looks(edges);
    return true;
}
