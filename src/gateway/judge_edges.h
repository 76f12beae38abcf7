/* SPDX-License-Identifier: MIT */
/* Reads the modules of the edges that are marked. */
#ifndef ADIT_GATEWAY_JUDGE_EDGES_H
#define ADIT_GATEWAY_JUDGE_EDGES_H

#include "gateway/gateway.h"

/* Compares the revisions of the modules with those that were read if the edges are marked, reads
 * some of the modules that changed, and hands them to the edges.  Returns whether others are left,
 * and the caller calls again soon. */
bool judge_edges(struct gateway *gateway);

#endif
