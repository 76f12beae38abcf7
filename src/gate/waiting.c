/* SPDX-License-Identifier: MIT */
/* The count of lanes that wait for providers, in all and for each address. */
#include "gate/waiting.h"

#include <arpa/inet.h>
#include <string.h>

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
    struct gate_address address = {.is_known = false};
    unsigned char bytes[16];

    if (text && inet_pton(AF_INET, text, bytes) == 1) {
        address.is_known = bytes[0] != 127;
        memcpy(address.bytes, bytes, 4);
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

bool waiting_begin(struct call *call)
{
    struct gate_worker *worker = call->lane->worker;
    const struct gate_address address = address_of(call);

    if (worker->n_waiting >= GATE_WAITING_MAX ||
        (address.is_known && n_waiting_from(worker, &address) >= OF_ONE_ADDRESS_MAX))
        return false;
    worker->waiting_from[worker->n_waiting++] = address;
    return true;
}

void waiting_end(struct call *call)
{
    struct gate_worker *worker = call->lane->worker;
    const struct gate_address address = address_of(call);
    int at = 0;

    while (!same_address(&worker->waiting_from[at], &address))
        at++;
    worker->waiting_from[at] = worker->waiting_from[--worker->n_waiting];
}

struct fetcher *waiting_begin_fetch(struct call *call)
{
    struct gate_worker *worker = call->lane->worker;
    struct fetcher *fetcher;

    if (!waiting_begin(call))
        return NULL;
    fetcher = fetcher_new(&call->lane->wait, worker->gate->authorities, &worker->pace);
    if (!fetcher)
        waiting_end(call);
    return fetcher;
}

void waiting_end_fetch(struct call *call, struct fetcher *fetcher)
{
    if (!fetcher)
        return;
    waiting_end(call);
    fetcher_free(fetcher);
}
