/* SPDX-License-Identifier: MIT */
/* The modules of the edges, as they are stored. */
#include <stdlib.h>
#include <string.h>

#include "base/ident.h"
#include "gateway/edges_inside.h"

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
    edge->n_authorities = edges_count_words(authorities);
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
            edges_log_left_out(edges, edge, id, NULL, fault);
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
