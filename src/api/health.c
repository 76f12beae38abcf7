/* SPDX-License-Identifier: MIT */
/* The handlers that a supervisor or a load balancer asks. */
#include "api/call.h"
#include "json/write.h"

static bool answer(struct call *call, const char *status)
{
    struct buf *out = &call->response->body;

    json_open(out, '{');
    json_put_name(out, "status");
    json_put_text(out, text_of(status));
    json_close(out, '}');
    return call_answer(call, 200);
}

bool health_live(struct call *call, struct error *err)
{
    (void)err;
    return answer(call, "live");
}

bool health_ready(struct call *call, struct error *err)
{
    return store_ready(call->store, err) && answer(call, "ready");
}
