/* SPDX-License-Identifier: MIT */
/* For the files restore*.c: the command, and what becomes of a row of its plan. */
#ifndef ADIT_CTL_RESTORE_STEP_H
#define ADIT_CTL_RESTORE_STEP_H

#include "ctl/restore_order.h"

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
    int64_t n_disabled; /* restored, but not enabled */
    int n_tries;        /* that failed because another session was quicker */
    bool is_beaten;     /* the last one did, and there is another */
    bool has_warned;    /* of a second account */
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

#endif
