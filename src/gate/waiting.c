/* SPDX-License-Identifier: MIT */
/* The count of lanes that wait for providers, in all and for each address. */
#include "gate/waiting.h"

#include <arpa/inet.h>
#include <string.h>

#include "base/clock.h"
#include "http/header.h"

/* The others are for visitors of other addresses. */
#define OF_ONE_ADDRESS_MAX (GATE_WAITING_MAX / 2)

const char waiting_fault[] =
    "too many requests wait for providers, in all or of this address, or memory is short";

/* Whoever has an IPv6 address has all of its /64.  Behind a proxy of this machine, all visitors
 * have its address, or none: they are not told apart. */
static struct gate_address address_of(const struct call *call)
{
    const char *text = header_client_address(call->request);
    /* An IPv4 address, as a socket for both kinds has it (RFC 4291, 2.5.5.2). */
    static const unsigned char mapped[12] = {[10] = 0xff, [11] = 0xff};
    struct gate_address address = {.is_known = false};
    unsigned char bytes[16];

    if (text && inet_pton(AF_INET, text, bytes) == 1) {
        address.is_known = bytes[0] != 127;
        memcpy(address.bytes, bytes, 4);
    } else if (text && inet_pton(AF_INET6, text, bytes) == 1 &&
               memcmp(bytes, mapped, sizeof mapped) == 0) {
        address.is_known = bytes[12] != 127;
        memcpy(address.bytes, bytes + 12, 4);
    } else if (text && inet_pton(AF_INET6, text, bytes) == 1) {
        address.is_known = memcmp(bytes, &in6addr_loopback, sizeof bytes) != 0;
        address.is_v6 = true;
        memcpy(address.bytes, bytes, sizeof address.bytes);
    }
    return address;
}

static bool same_address(const struct gate_address *a, const struct gate_address *b)
{
    return a->is_known == b->is_known && a->is_v6 == b->is_v6 &&
           memcmp(a->bytes, b->bytes, sizeof a->bytes) == 0;
}

static int n_waiting_from(const struct gate_worker *worker, const struct gate_address *address)
{
    int n = 0;

    for (int i = 0; i < worker->n_waiting; i++)
        n += same_address(&worker->waiting_from[i], address);
    return n;
}

static bool begin_waiting(struct gate_worker *worker, const struct gate_address *address)
{
    if (worker->n_waiting >= GATE_WAITING_MAX ||
        (address->is_known && n_waiting_from(worker, address) >= OF_ONE_ADDRESS_MAX))
        return false;
    worker->waiting_from[worker->n_waiting++] = *address;
    return true;
}

static void end_waiting(struct gate_worker *worker, const struct gate_address *address)
{
    int at = 0;

    while (!same_address(&worker->waiting_from[at], address))
        at++;
    worker->waiting_from[at] = worker->waiting_from[--worker->n_waiting];
}

static const struct gate_address nobody;

bool waiting_follow(struct call *call)
{
    return begin_waiting(call->lane->worker, &nobody);
}

void waiting_unfollow(struct call *call)
{
    end_waiting(call->lane->worker, &nobody);
}

struct fetcher *waiting_begin_fetch(struct call *call)
{
    struct gate_worker *worker = call->lane->worker;
    const struct gate_address address = address_of(call);
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
    const struct gate_address address = address_of(call);

    if (!fetcher)
        return;
    end_waiting(call->lane->worker, &address);
    fetcher_free(fetcher);
}

/* ---- rows ---- */

static bool is_past(const struct gate_stored *stored)
{
    return stored->since_ms == 0 || clock_steady_ms() - stored->since_ms >= WAITING_STORED_MS;
}

static void begin_anew(struct gate_stored *stored, const struct gate_address *from)
{
    *stored = (struct gate_stored){.from = *from, .since_ms = clock_steady_ms()};
}

static int count_stored(const struct gate_stored *stored)
{
    return is_past(stored) ? -1 : stored->n_logins + stored->n_ways_back;
}

/* Returns what is counted of an address.  If too many have something, the one with least is
 * forgotten. */
static struct gate_stored *stored_of(struct gate_worker *worker, const struct gate_address *from)
{
    struct gate_stored *least = &worker->stored[0];

    for (size_t i = 0; i < GATE_STORED_MAX; i++) {
        struct gate_stored *stored = &worker->stored[i];

        if (!is_past(stored) && same_address(&stored->from, from))
            return stored;
        if (count_stored(stored) < count_stored(least))
            least = stored;
    }
    begin_anew(least, from);
    return least;
}

bool waiting_may_use(struct call *call)
{
    const struct gate_address from = address_of(call);
    struct gate_stored *stored = stored_of(call->lane->worker, &from);

    if (from.is_known && stored->n_logins >= WAITING_LOGINS_MAX)
        return false;
    stored->n_logins++;
    return true;
}

bool waiting_may_keep(struct call *call)
{
    const struct gate_address from = address_of(call);
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
