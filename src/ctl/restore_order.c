/* SPDX-License-Identifier: MIT */
/* aditctl restore: what its options say. */
#include "ctl/restore_order.h"

#include "base/number.h"
#include "ctl/option_values.h"
#include "model/audit_event.h"

/* Reads the number of an event, or its identifier in the interface. */
static bool read_event_id(const char *text, int64_t *id)
{
    uint64_t number;

    if (number_read(text_of(text), 10, INT64_MAX, &number))
        *id = (int64_t)number;
    else if (!audit_event_read_id(text_of(text), id))
        return false;
    return *id > 0;
}

/* Checks which options were given. */
static int check_ways(const struct ctl_options *options)
{
    int n_ways = (options->at != NULL) + (options->event != NULL) + (options->since != NULL);

    if (n_ways > 1)
        return ctl_misuse("--at, --event and --since exclude each other; give one of them");
    if (options->since && !options->by)
        return ctl_misuse("'restore --since' also needs --by ID: whose changes to undo");
    if (options->by && !options->since)
        return ctl_misuse("'restore --by' also needs --since TIME: from when on to undo changes");
    if (n_ways == 0)
        return ctl_misuse("'restore' needs to know what to undo: give --event ID, --at TIME with a "
                          "RESOURCE, or --since TIME with --by ID");
    if (options->at && !options->argument)
        return ctl_misuse("'restore --at' needs a RESOURCE; to undo all that somebody changed, use "
                          "--since with --by");
    return CTL_OK;
}

int restore_order_read(struct ctl *ctl, struct history_names *providers,
                       struct restore_order *order)
{
    const struct ctl_options *options = &ctl->options;
    int status = check_ways(options);
    int64_t time_us = 0;

    if (status != CTL_OK)
        return status;
    if (options->event && !read_event_id(options->event, &order->event_id))
        return ctl_misuse("--event '%s' is not accepted; expected the id of an event, such as "
                          "ae_0000000000000000042 or 42; 'aditctl history' shows the ids",
                          options->event);
    if (options->at && !ctl_read_time("at", options->at, &time_us))
        return CTL_USAGE;
    if (options->since && !ctl_read_time("since", options->since, &time_us))
        return CTL_USAGE;
    /* What happened in that microsecond is undone with --since. */
    order->after_us = options->since ? time_us - 1 : time_us;
    order->by = text_of(options->by);
    order->enables = options->enables;
    order->providers = history_providers(ctl, providers);
    return CTL_OK;
}

const char *restore_order_met(const struct pg_result *plan)
{
    bool is_gone = pg_rows(plan) > 0;

    for (int row = 0; row < pg_rows(plan); row++)
        is_gone = is_gone && pg_is_null(plan, row, RESTORE_CURRENT) &&
                  pg_is_null(plan, row, RESTORE_WANTED);
    return is_gone ? "it did not exist then, and does not now; to undo a later change, such as its "
                     "deletion, name that with --event"
                   : "it has not changed since then";
}
