/* SPDX-License-Identifier: MIT */
/* What every handler does with its request: makes room for the input, and answers. */
#include "api/call.h"

#include "model/key_kind.h"

bool api_route_reads_only(const struct route *route)
{
    return route->is_public || key_set_reads_only(route->keys);
}

void *call_input(struct call *call, size_t size, struct error *err)
{
    call->input = arena_alloc(call->arena, size);
    if (!call->input)
        error_set(err, ERR_OUT_OF_MEMORY);
    return call->input;
}

bool call_answer(struct call *call, int status)
{
    response_finish(call->response, status);
    return true;
}

bool call_answer_resource(struct call *call, int status, int64_t revision, call_write *write,
                          const void *resource, struct error *err)
{
    char etag[ETAG_SIZE];

    if (api_route_reads_only(call->match.route)) {
        switch (precondition_check(&call->store_request.condition, revision)) {
        case PRECONDITION_FAILED:
            return error_set(err, ERR_PRECONDITION_FAILED);
        case PRECONDITION_NOT_MODIFIED:
            status = 304;
            break;
        case PRECONDITION_HOLDS:
            break;
        }
    }
    etag_write(etag, revision);
    response_header(call->response, "ETag", etag);
    if (status != 304)
        write(call, resource);
    return call_answer(call, status);
}
