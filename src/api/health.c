/* SPDX-License-Identifier: MIT */
/* The handlers that a supervisor or a load balancer asks. */
#include "api/health.h"

#include "json/write.h"

static bool answer_status(struct call *call, const char *status)
{
    struct buf *out = &call->response->body;

    json_open(out, '{');
    json_put_member(out, "status", text_of(status));
    json_close(out, '}');
    return call_answer(call, 200);
}

bool api_health_live(struct call *call, struct error *err)
{
    (void)err;
    return answer_status(call, "live");
}

bool api_health_ready(struct call *call, struct error *err)
{
    if (call->request->is_draining)
        return error_set(err, ERR_DRAINING);
    return store_ready(call->store, err) && answer_status(call, "ready");
}
