/* SPDX-License-Identifier: MIT */
/* The modules of the edges, as they are stored. */
#include <stdlib.h>
#include <string.h>

#include "base/ident.h"
#include "gateway/edges_inside.h"

/* Sets the rule that the edge obeys from now on.  Takes over the ids. */
static void set_module(struct edges *edges, struct edge *edge, bool enabled, char *authorities,
                       struct authority_stamp *stamps)
{
    if (edge->known && edge->enabled == enabled && strcmp(edge->authorities, authorities) == 0) {
        free(authorities);
        free(stamps);
        return;
    }
    edges_read_anew(edges, edge);
    free(edge->authorities);
    free(edge->stamps);
    edge->known = true;
    edge->enabled = enabled;
    edge->authorities = authorities;
    edge->stamps = stamps;
    edge->n_authorities = text_count_words(text_of(authorities));
    edge->due = true;
}

/* The ids of a module are joined, so those that are no identifiers must not get in. */
static bool put_module(struct edges *edges, struct edge *edge, const struct gateway_edge *module)
{
    bool enabled = module && module->enabled;
    struct text_list ids = {.n = 0};
    struct buf joined = {0};
    struct authority_stamp *stamps;

    if (module && module->enabled)
        ids = module->certificate_authority_ids;
    stamps = calloc(ids.n + 1, sizeof *stamps);
    buf_puts(&joined, "");
    for (size_t i = 0; i < ids.n; i++) {
        struct text id = ids.items[i];
        const char *fault = ident_fault(id);

        if (fault) {
            edges_log_left_out(edges, edge, id, NULL, fault);
            continue;
        }
        buf_puts(&joined, joined.len > 0 ? " " : "");
        buf_add(&joined, id.s, id.len);
    }
    if (stamps && !joined.failed) {
        set_module(edges, edge, enabled, joined.data, stamps);
        return true;
    }
    free(stamps);
    buf_free(&joined);
    return false;
}

static int compare_ids(const void *id, const void *edge)
{
    return text_cmp(*(const struct text *)id, ((const struct gateway_edge *)edge)->edge_id);
}

static const struct gateway_edge *find_edge(const struct gateway_edges *stored, struct text id)
{
    return stored->n == 0
               ? NULL
               : bsearch(&id, stored->items, stored->n, sizeof *stored->items, compare_ids);
}

/* Takes over the module that was read of an edge; NULL: there is none. */
static bool take_module(struct edges *edges, struct edge *edge, const struct gateway_edge *module)
{
    if (!put_module(edges, edge, module))
        return false;
    edge->has_revision = module != NULL;
    edge->revision = module ? module->revision : 0;
    edge->is_stale = false;
    return true;
}

bool edges_note(struct edges *edges, const struct gateway_edges *stored)
{
    bool ok = true;

    for (size_t i = 0; i < edges->n; i++) {
        struct edge *edge = &edges->items[i];
        const struct gateway_edge *found = find_edge(stored, edges->ids[i]);

        if (found)
            edge->is_stale = !edge->has_revision || edge->revision != found->revision;
        else
            ok = take_module(edges, edge, NULL) && ok;
    }
    return ok;
}

struct text_list edges_stale(const struct edges *edges, struct text *ids, size_t most)
{
    struct text_list list = {.items = ids, .given = true};

    for (size_t i = 0; i < edges->n && list.n < most; i++) {
        size_t at = (edges->stale_next + i) % edges->n;

        if (edges->items[at].is_stale)
            ids[list.n++] = edges->ids[at];
    }
    return list;
}

static bool is_asked(struct text_list ids, struct text id)
{
    for (size_t i = 0; i < ids.n; i++) {
        if (text_eq(ids.items[i], id))
            return true;
    }
    return false;
}

bool edges_put(struct edges *edges, struct text_list ids, const struct gateway_edges *stored)
{
    bool ok = true;

    for (size_t i = 0; i < edges->n; i++) {
        if (!is_asked(ids, edges->ids[i]))
            continue;
        ok = take_module(edges, &edges->items[i], find_edge(stored, edges->ids[i])) && ok;
        if (text_eq(edges->ids[i], ids.items[ids.n - 1]))
            edges->stale_next = i + 1;
    }
    return ok;
}

struct text_list edges_ids(const struct edges *edges)
{
    return (struct text_list){.items = edges->ids, .n = edges->n, .given = true};
}
