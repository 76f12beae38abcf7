/* SPDX-License-Identifier: MIT */
/* For the files restore*.c: the command, and what becomes of a row of its plan. */
#ifndef ADIT_CTL_RESTORE_STEP_H
#define ADIT_CTL_RESTORE_STEP_H

#include "base/buf.h"
#include "ctl/restore_order.h"
#include "model/resource.h"

struct restore {
    struct ctl *ctl;
    struct restore_order order;
    struct history_names providers;
    struct history_place place;
    struct pg_result *plan;
    struct arena arena; /* of the secret */
    struct text secret; /* of --client-secret-file; absent: none */
    int64_t n_changes;
    int64_t n_skipped;
    int64_t n_disabled;  /* restored, but not enabled */
    int n_tries;         /* that failed because another session was quicker */
    bool is_beaten;      /* the last one did, and there is another */
    struct buf warnings; /* that were printed last */
};

/* Room for the reason to skip a row. */
#define RESTORE_STEP_REASON_SIZE 160

/* Returns whether the row gets the client secret of the file. */
MUST_CHECK bool restore_step_sets_secret(const struct restore *restore, int row);

/* Returns why the row has to stay as it is, perhaps in room, or NULL. */
MUST_CHECK const char *restore_step_reason(const struct restore *restore, int row,
                                           char room[RESTORE_STEP_REASON_SIZE]);

/* Returns whether nothing has to be said or done about the row. */
MUST_CHECK bool restore_step_is_settled(const struct restore *restore, int row);

/* Returns whether the row is restored. */
MUST_CHECK bool restore_step_is_due(const struct restore *restore, int row);

/* Returns the route of a row that is an OAuth module. */
struct module_place restore_step_route(const struct restore *restore, int row);

/* Warns on standard error of what the plan means for the rest, unless the last plan meant the same.
 * Returns CTL_OK, or CTL_FAILED after a message. */
MUST_CHECK int restore_warn(struct restore *restore);

#endif
