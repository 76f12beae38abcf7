/* SPDX-License-Identifier: MIT */
/* A store that knows no rule, for requests that are fuzzed: whoever has the key may do everything
 * to whatever the request names. */
#ifndef ADIT_TESTS_SERVE_STORE_H
#define ADIT_TESTS_SERVE_STORE_H

#include "model/resource.h"
#include "store/store.h"

/* The only key, and one that was never issued. */
#define SERVE_KEY "adit_admin0000000000000000000000000000000000000004QSU4"
#define SERVE_UNKNOWN_KEY "adit_unknown000000000000000000000000000000000000301XUl"

/* The cause of a failure.  No answer may contain it. */
#define SERVE_CAUSE "fault: host=db.example SQLSTATE 42601"

struct store {
    enum error_code failure; /* of each operation; ERR_NONE: none fails */
    int n_changes;
    struct arena memory; /* of the modules */
    bool has[RESOURCE_N_KINDS];
    union resource_value modules[RESOURCE_N_KINDS]; /* what was put last, wherever that was */
};

#endif
