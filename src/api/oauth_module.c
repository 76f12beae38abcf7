/* SPDX-License-Identifier: MIT */
/* The handlers of OAuth modules. */
#include "store/oauth_module.h"

#include "api/call.h"

static struct oauth_route route_of(const struct call *call)
{
    return (struct oauth_route){.edge_id = call->match.ids[0], .route_id = call->match.ids[1]};
}

static bool answer(struct call *call, const struct oauth_module *module)
{
    oauth_module_write(&call->response->body, module, &call->settings->oauth);
    return call_answer(call, 200);
}

bool oauth_module_read_put(struct call *call, struct error *err)
{
    struct module_ids ids = {.edge_id = call->match.ids[0], .id = call->match.ids[1]};

    return oauth_module_read(&call->body, &ids, &call->settings->oauth, call->arena,
                             &call->input.oauth, err);
}

bool oauth_module_put(struct call *call, struct error *err)
{
    struct oauth_route route = route_of(call);

    return store_oauth_module_put(call->store, &call->bearer, &route, &call->input.oauth,
                                  call->arena, err) &&
           answer(call, &call->input.oauth);
}

bool oauth_module_get(struct call *call, struct error *err)
{
    struct oauth_route route = route_of(call);
    struct oauth_module module;

    return store_oauth_module_get(call->store, &call->bearer, &route, call->arena, &module, err) &&
           answer(call, &module);
}

bool oauth_module_delete(struct call *call, struct error *err)
{
    struct oauth_route route = route_of(call);

    return store_oauth_module_delete(call->store, &call->bearer, &route, err) &&
           call_answer(call, 204);
}
