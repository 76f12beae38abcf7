/* SPDX-License-Identifier: MIT */
/* The count of lanes that wait for providers, in all and for each address. */
#include "gate/waiting.h"

#include "base/clock.h"
#include "http/header.h"

/* Visitors who are signed in may have so many requests of one page wait for one answer.  The other
 * lanes are for those who sign in. */
#define FOLLOWING_MAX (GATE_WAITING_MAX * 3 / 4)

const char waiting_fault[] =
    "too many requests wait for providers, in all or of this address, or memory is short";

/* Behind a proxy of this machine, all visitors have its address, or none: they are not told apart.
 */
static struct address_network address_of(const struct call *call)
{
    const char *text = header_client_address(call->request);
    const struct address_network unknown = {.is_known = false};
    struct address_network network;

    if (!text)
        return unknown;
    network = address_network_of(text_of(text));
    return network.is_loopback ? unknown : network;
}

static int n_waiting_from(const struct gate_worker *worker, const struct address_network *address)
{
    int n = 0;

    for (int i = 0; i < worker->n_waiting; i++)
        n += address_same_network(&worker->waiting_from[i], address);
    return n;
}

/* An address has at most half of the lanes that no other one has: so whoever has several leaves
 * some, too. */
static bool has_lane(const struct gate_worker *worker, const struct address_network *address)
{
    int own = n_waiting_from(worker, address);
    int left = GATE_WAITING_MAX - worker->n_waiting;

    return left > 0 && (!address->is_known || own < (left + own + 1) / 2);
}

static bool begin_waiting(struct gate_worker *worker, const struct address_network *address)
{
    if (!has_lane(worker, address))
        return false;
    worker->waiting_from[worker->n_waiting++] = *address;
    return true;
}

static void end_waiting(struct gate_worker *worker, const struct address_network *address)
{
    int at = 0;

    while (!address_same_network(&worker->waiting_from[at], address))
        at++;
    worker->waiting_from[at] = worker->waiting_from[--worker->n_waiting];
}

bool waiting_follow(struct call *call)
{
    struct gate_worker *worker = call->lane->worker;
    const struct address_network address = address_of(call);

    if (worker->n_following >= FOLLOWING_MAX || !begin_waiting(worker, &address))
        return false;
    worker->n_following++;
    return true;
}

void waiting_unfollow(struct call *call)
{
    struct gate_worker *worker = call->lane->worker;
    const struct address_network address = address_of(call);

    worker->n_following--;
    end_waiting(worker, &address);
}

struct fetcher *waiting_begin_fetch(struct call *call)
{
    struct gate_worker *worker = call->lane->worker;
    const struct address_network address = address_of(call);
    struct fetcher *fetcher;

    if (!begin_waiting(worker, &address))
        return NULL;
    fetcher = fetcher_new(&call->lane->wait, worker->gate->authorities, &worker->pace);
    if (!fetcher)
        end_waiting(worker, &address);
    return fetcher;
}

void waiting_end_fetch(struct call *call, struct fetcher *fetcher)
{
    const struct address_network address = address_of(call);

    if (!fetcher)
        return;
    end_waiting(call->lane->worker, &address);
    fetcher_free(fetcher);
}

/* ---- rows, and questions ---- */

static const struct address_network nobody;

static bool is_past(const struct gate_stored *stored)
{
    return stored->since_ms == 0 || clock_steady_ms() - stored->since_ms >= WAITING_STORED_MS;
}

static void begin_anew(struct gate_stored *stored, const struct address_network *from)
{
    *stored = (struct gate_stored){.from = *from, .since_ms = clock_steady_ms()};
}

static int count_stored(const struct gate_stored *stored)
{
    return is_past(stored) ? -1 : stored->n_logins + stored->n_checks + stored->n_ways_back;
}

/* Returns what is counted of an address.  If too many have something, the one with least is
 * forgotten. */
static struct gate_stored *stored_of(struct gate_worker *worker, const struct address_network *from)
{
    struct gate_stored *least = &worker->stored[0];

    for (size_t i = 0; i < GATE_STORED_MAX; i++) {
        struct gate_stored *stored = &worker->stored[i];

        if (!is_past(stored) && address_same_network(&stored->from, from))
            return stored;
        if (count_stored(stored) < count_stored(least))
            least = stored;
    }
    begin_anew(least, from);
    return least;
}

bool waiting_may_use(struct call *call)
{
    const struct address_network from = address_of(call);
    struct gate_stored *stored = stored_of(call->lane->worker, &from);

    if (from.is_known && stored->n_logins >= WAITING_LOGINS_MAX)
        return false;
    stored->n_logins++;
    return true;
}

bool waiting_may_ask(struct call *call)
{
    const struct address_network from = address_of(call);
    struct gate_stored *stored = stored_of(call->lane->worker, &from);

    if (from.is_known && stored->n_checks >= WAITING_CHECKS_MAX)
        return false;
    stored->n_checks++;
    return true;
}

bool waiting_may_keep(struct call *call)
{
    const struct address_network from = address_of(call);
    struct gate_stored *stored = stored_of(call->lane->worker, &from);
    struct gate_stored *in_all = &call->lane->worker->stored_in_all;

    if (is_past(in_all))
        begin_anew(in_all, &nobody);
    if ((from.is_known && stored->n_ways_back >= WAITING_WAYS_BACK_MAX) ||
        in_all->n_ways_back >= WAITING_WAYS_BACK_IN_ALL_MAX)
        return false;
    stored->n_ways_back++;
    in_all->n_ways_back++;
    return true;
}
