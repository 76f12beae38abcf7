/* SPDX-License-Identifier: MIT */
/* All operations of callers, for the tests of their statements. */
#ifndef ADIT_TESTS_STORE_CALLERS_H
#define ADIT_TESTS_STORE_CALLERS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "model/key_kind.h"
#include "store/request.h"

struct callers_operation {
    bool (*run)(const struct store_request *request);
    bool writes;
    unsigned keys; /* the kinds that may do it, as on its route */
    bool finds;    /* it reads rows of a resource if the key may do it */
};

/* Ordered so that each operation finds what it needs. */
extern const struct callers_operation callers_operations[];
extern const size_t callers_n_operations;

/* Some of them. */
bool callers_audit_event_list(const struct store_request *request);
bool callers_audit_event_list_filtered(const struct store_request *request);
bool callers_audit_get(const struct store_request *request);
bool callers_create_once(const struct store_request *request);
bool callers_decide(const struct store_request *request);
bool callers_decide_many(const struct store_request *request);
bool callers_delete(const struct store_request *request);
bool callers_get(const struct store_request *request);
bool callers_list(const struct store_request *request);
bool callers_mutual_tls_put(const struct store_request *request);
bool callers_oauth_put(const struct store_request *request);
bool callers_update(const struct store_request *request);

/* Returns a request with a new key of that kind, whose account the store has seen. */
struct store_request callers_key(enum key_kind kind, const char *principal_id);

/* Returns the error of an operation, by its number, for such a key, or ERR_NONE: its rows are those
 * of the admin. */
enum error_code callers_forbidden(size_t i, enum key_kind kind);

/* The same request on a route that these kinds of key may use. */
struct store_request callers_on_route(const struct store_request *request, unsigned keys);

/* Makes what the operations need. */
void callers_make_needed(void);

/* Makes it, and runs each with a good key.  Fails the test if one fails. */
void callers_run_all(const struct store_request *request);

/* Runs an operation, by its number.  Fails the test unless it is refused with that error and has
 * changed nothing. */
void callers_expect_refusal(size_t i, const struct store_request *request, enum error_code code);

#endif
