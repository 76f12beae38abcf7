/* SPDX-License-Identifier: MIT */
/* The count of lanes that wait for providers. */
#include "gate/waiting.h"

/* Lanes of a worker.  The others are for checks. */
#define WAITING_MAX 56

const char waiting_fault[] = "too many requests wait for providers, or memory is short";

bool waiting_begin(struct call *call)
{
    struct gate_worker *worker = call->lane->worker;

    if (worker->n_waiting >= WAITING_MAX)
        return false;
    worker->n_waiting++;
    return true;
}

void waiting_end(struct call *call)
{
    call->lane->worker->n_waiting--;
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
