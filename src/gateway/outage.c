/* SPDX-License-Identifier: MIT */
/* Pauses, and the question whether the database is back. */
#include "gateway/outage.h"

#include "base/clock.h"
#include "store/gateway.h"

bool outage_shuts(const struct gateway *gateway)
{
    return clock_steady_ms() < gateway->shut_until_ms;
}

static bool was_long(const struct error *err, int64_t begun_ms, int64_t now_ms)
{
    return err->code == ERR_DATABASE_TIMEOUT || now_ms >= begun_ms + OUTAGE_LONG_MS;
}

void outage_note(struct gateway *gateway, bool ok, const struct error *err, int64_t begun_ms)
{
    int64_t now_ms = clock_steady_ms();

    gateway->shut_until_ms = 0;
    if (ok) {
        gateway->n_late = 0;
    } else if (was_long(err, begun_ms, now_ms)) {
        gateway->shut_until_ms = now_ms + OUTAGE_PAUSE_MS;
        gateway->n_late++;
    }
}

bool outage_is_over(struct gateway *gateway, struct error *err)
{
    /* A new session to a distant server takes some ten round trips: each second try has time for
     * them, the first one too. */
    const bool is_patient = gateway->n_late % 2 != 0;
    bool ok;

    if (!gateway->is_away)
        return true;
    pg_set_timeout(gateway->pg, is_patient ? OUTAGE_TIMEOUT_MS : OUTAGE_IMPATIENT_MS);
    ok = store_gateway_ping(gateway->pg, err);
    pg_set_timeout(gateway->pg, OUTAGE_TIMEOUT_MS);
    return ok;
}
