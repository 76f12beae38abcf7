/* SPDX-License-Identifier: MIT */
/* The handlers of OAuth modules.  As in a row of the route table: read() checks the input, the
 * others do the work and write the answer.  Each returns false with *err. */
#ifndef ADIT_API_OAUTH_MODULE_H
#define ADIT_API_OAUTH_MODULE_H

#include "api/call.h"

/* Query parameters of the list. */
extern const struct query_param api_oauth_module_query[];

bool api_oauth_module_read_put(struct call *call, struct error *err);
bool api_oauth_module_put(struct call *call, struct error *err);
bool api_oauth_module_get(struct call *call, struct error *err);
bool api_oauth_module_delete(struct call *call, struct error *err);
bool api_oauth_module_read_list(struct call *call, struct error *err);
bool api_oauth_module_list(struct call *call, struct error *err);

#endif
