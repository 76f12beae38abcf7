/* SPDX-License-Identifier: MIT */
/* What the rooms of the edges share: edges (the reloads, and what is due), edge_modules (what is
 * stored) and edge_writing (the files). */
#ifndef ADIT_GATEWAY_EDGES_INSIDE_H
#define ADIT_GATEWAY_EDGES_INSIDE_H

#include "gateway/authority.h"
#include "gateway/edges.h"
#include "gateway/haproxy_watch.h"
#include "gateway/reload.h"
#include "gateway/told.h"

/* The file in the output folder while a reload is due, so that the next start knows of it. */
#define EDGES_DUE_FILE ".reload-due"

/* Pauses after a failure to write. */
#define EDGES_FIRST_PAUSE_MS 250
#define EDGES_LONGEST_PAUSE_MS 5000

/* An edge.  `changed` and `narrowed` are versions of the edges: see struct edges. */
struct edge {
    char *id;
    bool known;        /* the module is */
    bool is_stale;     /* another revision is stored than was read */
    bool has_revision; /* there is a module, which was read */
    int64_t revision;
    bool enabled;
    char *authorities; /* ids, separated by spaces */
    size_t n_authorities;
    struct authority_stamp *stamps; /* of the authorities' files when they were read */
    struct told told;               /* of files of which something was left out */
    bool has_new_files;             /* this round of looking has found one of another version */
    bool due;                       /* the files may have to change */
    bool is_narrowing;              /* a change that is not done yet is narrower */
    bool trusts_nobody;             /* the files ask for certificates that nobody has */
    uint64_t changed;
    uint64_t narrowed;
    int64_t narrowed_ms; /* when `narrowed` was set by a change (steady clock); 0: never */
    int64_t written_ms;  /* when the log last told of the files (steady clock); 0: never */
};

/* The authorities of an edge, as far as they are read. */
struct edge_reading {
    struct edge *edge; /* NULL: of none */
    struct text rest;  /* of their ids */
    size_t n;
    struct buf pem;
};

struct edges {
    const struct conf_mutual_tls *settings;
    const struct log *log;
    struct edge *items;
    struct text *ids; /* of the items */
    size_t n;
    char **argv;       /* of the reload, in argv_text; ends with NULL */
    char *argv_text;   /* words, each ended by NUL */
    uint64_t version;  /* grows with each change of a file, and with each new process of HAProxy */
    bool is_noted;     /* EDGES_DUE_FILE is there */
    int lock_fd;       /* keeps other daemons out of the output folder; -1: none */
    size_t stale_next; /* which edge is the next to be read, if its module is stale */
    int64_t write_at_ms;
    int write_pause_ms;
    size_t write_next; /* where a round of writing goes on */
    bool write_failed; /* in this round */
    struct edge_reading reading;
    int64_t look_at_ms;
    size_t look_next; /* where a round of looking goes on */
    struct reload command;
    struct reload haproxy;
    uint64_t *haproxy_obeys; /* the version of each edge, shared with the child that tells it */
    struct haproxy_watch watch;
    int64_t tell_at_ms; /* when a new process of HAProxy is told of all edges; JOB_NEVER: there is
                           none */
};

/* The servers have to obey the newest version. */
void edges_want_reloads(struct edges *edges, int64_t at_ms);

/* Logs what of an authority is left out.  The stamp is its file's; NULL: it can have none. */
void edges_log_left_out(const struct edges *edges, struct edge *edge, struct text authority,
                        const struct authority_stamp *stamp, const char *cause);

/* Finds edges whose authorities' files changed.  Returns whether it has looked at all edges; else
 * the next call goes on. */
bool edges_look(struct edges *edges);

/* Returns whether the files of an edge are to be written. */
bool edges_any_due(const struct edges *edges);

/* What is read of an edge's authorities no longer counts. */
void edges_read_anew(struct edges *edges, const struct edge *edge);

/* Writes the files of one edge that is due, the next one of a round. */
void edges_write_next(struct edges *edges, int64_t now_ms);

#endif
