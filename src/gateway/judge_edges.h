/* SPDX-License-Identifier: MIT */
/* Reads the modules of the edges that are marked. */
#ifndef ADIT_GATEWAY_JUDGE_EDGES_H
#define ADIT_GATEWAY_JUDGE_EDGES_H

#include "gateway/gateway.h"

/* Reads the modules of all edges if they are marked, and hands them to the edges. */
void judge_edges(struct gateway *gateway);

#endif
