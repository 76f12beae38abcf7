/* SPDX-License-Identifier: MIT */
/* The handlers of mutual TLS modules.  As in a row of the route table: read() checks the input, the
 * others do the work and write the answer.  Each returns false with *err. */
#ifndef ADIT_API_MUTUAL_TLS_MODULE_H
#define ADIT_API_MUTUAL_TLS_MODULE_H

#include "api/call.h"

/* Query parameters of the list. */
extern const struct query_param api_mutual_tls_module_query[];

bool api_mutual_tls_module_read_put(struct call *call, struct error *err);
bool api_mutual_tls_module_put(struct call *call, struct error *err);
bool api_mutual_tls_module_get(struct call *call, struct error *err);
bool api_mutual_tls_module_delete(struct call *call, struct error *err);
bool api_mutual_tls_module_read_list(struct call *call, struct error *err);
bool api_mutual_tls_module_list(struct call *call, struct error *err);

#endif
