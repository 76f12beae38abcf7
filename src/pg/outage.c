/* SPDX-License-Identifier: MIT */
/* A short absence that the database has announced. */
#include "pg/outage.h"

#include <string.h>

#include "base/clock.h"

#define WAIT_MS 3000

/* Longer than the pause between two attempts to connect. */
#define GUESS_MS 200

static bool outage_lasts(const struct pg_outage *outage)
{
    return outage->until_ms && !outage->is_over;
}

void pg_outage_announce(struct pg_outage *outage, int64_t now_ms)
{
    if (outage_lasts(outage) && !outage->is_guess)
        return;
    outage->until_ms = now_ms + WAIT_MS;
    outage->is_over = outage->is_guess = false;
}

void pg_outage_guess(struct pg_outage *outage, int64_t now_ms)
{
    if (outage_lasts(outage))
        return;
    outage->until_ms = now_ms + GUESS_MS;
    outage->is_over = false;
    outage->is_guess = true;
}

/* "Terminating connection due to administrator command": all sessions get it when the server shuts
 * down. */
void pg_outage_note_error(struct pg_outage *outage, const char *sqlstate)
{
    if (outage && sqlstate && strcmp(sqlstate, "57P01") == 0)
        pg_outage_announce(outage, clock_steady_ms());
}

/* Requests may still wait: other sessions may need another attempt. */
void pg_outage_note_open(struct pg_outage *outage)
{
    outage->is_over = true;
}

bool pg_outage_is_on(const struct pg_outage *outage, int64_t now_ms)
{
    return now_ms < outage->until_ms;
}
