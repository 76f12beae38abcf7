/* SPDX-License-Identifier: MIT */
/* Mutual TLS: the files of each edge that web servers include, and the reloads of those servers.
 *
 * For each configured edge, the output folder has
 *   ID.pem      the certificates of the authorities that the edge trusts, never empty
 *   ID.nginx, ID.apache   directives: ask for a client certificate, or do not
 *   ID.haproxy  a map of one line for the same
 * An edge that asks for certificates but has no readable authority trusts the authority "nobody",
 * whose key nobody has: it refuses all.
 */
#ifndef ADIT_GATEWAY_EDGES_H
#define ADIT_GATEWAY_EDGES_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/log.h"
#include "base/must_check.h"
#include "conf/conf.h"
#include "store/gateway.h"

struct edges;

/* Returns the configured edges, which the caller frees, or NULL if memory runs out.  The settings
 * and the log outlive them.  Until the module of an edge is known,
 * its files stay as they are; edges_tick() makes the missing ones, which refuse all. */
MUST_CHECK struct edges *edges_new(const struct conf_mutual_tls *settings, const struct log *log);

/* Returns the ids of the configured edges.  They belong to the edges. */
struct text_list edges_ids(const struct edges *edges);

/* Takes over which modules are stored, ordered by edge: an edge that is not among them has none.  A
 * module of another revision than was read is stale.  Returns false if memory runs out; then some
 * edges keep the module before. */
MUST_CHECK bool edges_note(struct edges *edges, const struct gateway_edges *stored);

/* Returns the ids of edges whose module is stale, at most so many, in the array.  They begin after
 * the last ones that edges_put() took over, so that none that changes again and again keeps others
 * waiting.  They belong to the edges. */
struct text_list edges_stale(const struct edges *edges, struct text *ids, size_t most);

/* Takes over what is stored for the edges of these ids; one that is not among them has no module.
 * Copies what it needs.  The files change in edges_tick(), which is due at once.  Returns false if
 * memory runs out; then some edges keep the module before. */
MUST_CHECK bool edges_put(struct edges *edges, struct text_list ids,
                          const struct gateway_edges *stored);

/* Writes the files of one edge that changed, or reads some of its authorities, and starts and
 * collects reloads.  Is due again at once if more have changed.  Never waits for another process.
 * now_ms is on the steady clock.  Failures are logged and repeated. */
void edges_tick(struct edges *edges, int64_t now_ms);

/* Returns when edges_tick() is due next, on the steady clock; INT64_MAX without edges. */
int64_t edges_next(const struct edges *edges, int64_t now_ms);

struct edges_count {
    size_t n;
    size_t n_open;   /* ask for no certificate: they have no enabled module */
    size_t n_nobody; /* let nobody pass: no authority of theirs is read */
    size_t n_due;    /* wait for their files, or to be read */
};

/* Counts the configured edges.  One whose module was not read yet is not open. */
struct edges_count edges_count(const struct edges *edges);

/* Appends lines "name value" for an operator: how many edges there are, how many ask for no
 * certificate, trust nobody, and wait for their files, and whether a reload is due. */
void edges_status(const struct edges *edges, struct buf *out);

/* Returns whether a server may not obey the newest modules yet: files are to be written, or a
 * reload is due. */
MUST_CHECK bool edges_are_due(const struct edges *edges);

/* Frees the edges.  Accepts NULL.  The files stay, and so does the need of a reload. */
void edges_free(struct edges *edges);

#endif
