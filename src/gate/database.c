/* SPDX-License-Identifier: MIT */
/* A worker's few sessions with the database, which its many lanes share. */
#include "gate/database.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "pg/outage.h"
#include "pg/pipeline.h"
#include "nodes/nodes.h"

/* Statements of a worker at once.  While the shared session does not work, each has a session of
 * its own. */
#define SESSIONS 6

/* Of them, those that may wait for a place that does not answer.  The others serve the accounts of
 * other places. */
#define MOST_LONG_WAITS (SESSIONS / 2)

/* How long a lane waits for a session: as long as a statement may take. */
#define TAKE_MS 4000

struct session_entry {
    struct pg *pg;
    const struct wait *wait; /* of the lane that has it */
    bool is_taken;
};

/* A lane that waits for a session. */
struct turn {
    const struct wait *wait;
    struct session_entry *granted; /* NULL: not yet */
    struct turn *next;
};

struct database {
    struct pg_pipeline *pipeline;
    struct session_entry entries[SESSIONS];
    struct turn *first;
    struct nodes nodes;
    struct pg_outage outage;
};

/* ---- waiting ---- */

/* A session keeps one struct wait for good, and waits in the lane that has it now. */

static bool wait_until(void *context, int fd, short events, int64_t deadline_ms)
{
    const struct wait *wait = ((struct session_entry *)context)->wait;

    return wait->until(wait->context, fd, events, deadline_ms);
}

static void wake(void *context)
{
    const struct wait *wait = ((struct session_entry *)context)->wait;

    wait->wake(wait->context);
}

static bool watch(void *context, int fd)
{
    const struct wait *wait = ((struct session_entry *)context)->wait;

    return wait->watch(wait->context, fd);
}

/* ---- sessions ---- */

struct database *database_new(const char *conninfo, bool is_by_account)
{
    struct database *database = calloc(1, sizeof *database);

    if (!database)
        return NULL;
    database->pipeline = pg_pipeline_new(conninfo);
    if (database->pipeline)
        pg_pipeline_share_outage(database->pipeline, &database->outage);
    for (size_t i = 0; database->pipeline && i < SESSIONS; i++) {
        struct session_entry *entry = &database->entries[i];
        const struct wait wait = {
            .until = wait_until, .wake = wake, .watch = watch, .context = entry};

        entry->pg = pg_new(conninfo, &wait);
        if (!entry->pg)
            break;
        nodes_place(entry->pg, is_by_account);
        nodes_join(&database->nodes, entry->pg, MOST_LONG_WAITS, LATE_PAUSE_MS);
        pg_use_pipeline(entry->pg, database->pipeline);
        pg_share_outage(entry->pg, &database->outage);
    }
    if (database->entries[SESSIONS - 1].pg)
        return database;
    database_free(database);
    return NULL;
}

/* Sessions that are closed without a lane wait alone. */
void database_free(struct database *database)
{
    if (!database)
        return;
    for (size_t i = 0; i < SESSIONS; i++) {
        database->entries[i].wait = &wait_alone;
        pg_free(database->entries[i].pg);
    }
    pg_pipeline_free(database->pipeline);
    free(database);
}

void database_send(struct database *database)
{
    pg_pipeline_send(database->pipeline);
}

void database_receive(struct database *database)
{
    pg_pipeline_receive(database->pipeline);
}

static struct session_entry *grant(struct session_entry *entry, const struct wait *wait)
{
    entry->is_taken = true;
    entry->wait = wait;
    pg_start_request(entry->pg, NULL, NULL);
    return entry;
}

static void give_up_turn(struct database *database, struct turn *turn)
{
    struct turn **at = &database->first;

    while (*at && *at != turn)
        at = &(*at)->next;
    if (*at)
        *at = turn->next;
}

/* The turn must leave the line before it ends. */
static void stand_in_line(struct database *database, struct turn *turn)
{
    struct turn **at = &database->first;

    while (*at)
        at = &(*at)->next;
    *at = turn;
}

/* Returns NULL if none became free in time. */
static struct session_entry *await_entry(struct database *database, const struct wait *wait)
{
    int64_t deadline_ms = clock_steady_ms() + TAKE_MS;
    struct turn turn = {.wait = wait};
    bool in_time = true;

    for (size_t i = 0; i < SESSIONS; i++) {
        if (!database->entries[i].is_taken)
            return grant(&database->entries[i], wait);
    }
    stand_in_line(database, &turn);
    while (!turn.granted && in_time)
        in_time = wait->until(wait->context, -1, 0, deadline_ms);
    if (turn.granted)
        return grant(turn.granted, wait);
    give_up_turn(database, &turn);
    return NULL;
}

static void pass_on(struct database *database, struct session_entry *entry)
{
    struct turn *turn = database->first;

    entry->is_taken = turn != NULL;
    if (!turn)
        return;
    give_up_turn(database, turn);
    turn->granted = entry;
    turn->wait->wake(turn->wait->context);
}

struct pg *database_take(struct database *database, const struct wait *wait, struct text account_id,
                         struct error *err)
{
    struct session_entry *entry = await_entry(database, wait);
    char id[IDENT_SIZE];

    snprintf(id, sizeof id, "%.*s", (int)account_id.len, account_id.s ? account_id.s : "");
    if (!entry) {
        (void)error_cause(err, ERR_DATABASE_TIMEOUT, "all sessions are busy");
        return NULL;
    }
    if (pg_turn_to(entry->pg, id, err))
        return entry->pg;
    pass_on(database, entry);
    return NULL;
}

void database_give(struct database *database, struct pg *pg, bool ok, const struct error *err)
{
    for (size_t i = 0; i < SESSIONS; i++) {
        struct session_entry *entry = &database->entries[i];

        if (entry->pg != pg)
            continue;
        pg_turn_end(entry->pg, ok, err);
        pass_on(database, entry);
        return;
    }
}
