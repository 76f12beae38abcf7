/* SPDX-License-Identifier: MIT */
/* A database of functions: each file of tests that judges sessions has its own. */
#ifndef ADIT_TESTS_GATEWAY_FAKE_STORE_H
#define ADIT_TESTS_GATEWAY_FAKE_STORE_H

#include "store/gateway.h"

/* What the functions of store/gateway.h call.  A test sets all of it. */
struct fake_store {
    int timeout_ms; /* as it was set last; 0: it was not */
    bool (*ping)(struct error *err);
    bool (*changes)(struct arena *arena, struct text snapshot, struct gateway_changes *out,
                    struct error *err);
    bool (*glance)(struct arena *arena, struct gateway_keys keys, struct gateway_glance *out,
                   struct error *err);
    bool (*look_up)(struct arena *arena, const struct gateway_key *key,
                    struct gateway_credentials *out, struct error *err);
    /* is_whole: modules are asked for, not their revisions alone. */
    bool (*edges)(struct arena *arena, struct text_list ids, bool is_whole,
                  struct gateway_edges *out, struct error *err);
};

extern struct fake_store fake_store;

#endif
