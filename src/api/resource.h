/* SPDX-License-Identifier: MIT */
/* The handlers of modules, whose kind is that of the route.  As in a row of the route table: read()
 * checks the input, the other does the work. */
#ifndef ADIT_API_RESOURCE_H
#define ADIT_API_RESOURCE_H

#include "api/call.h"

/* Query parameters of the lists. */
extern const struct query_param api_resource_query[];

bool api_resource_read_put(struct call *call, struct error *err);
bool api_resource_put(struct call *call, struct error *err);
bool api_resource_get(struct call *call, struct error *err);
bool api_resource_delete(struct call *call, struct error *err);
bool api_resource_read_list(struct call *call, struct error *err);
bool api_resource_list(struct call *call, struct error *err);

#endif
