/* SPDX-License-Identifier: MIT */
/* The handlers of OAuth modules. */
#include "api/oauth_module.h"

#include "store/oauth_module.h"

static struct oauth_route route_of(const struct call *call)
{
    return (struct oauth_route){.edge_id = call->match.ids[0], .route_id = call->match.ids[1]};
}

static void write_oauth(struct call *call, const void *resource)
{
    oauth_module_write(&call->response->body, resource, &call->settings->oauth);
}

static bool answer_oauth(struct call *call, const struct oauth_module *module, struct error *err)
{
    return call_answer_resource(call, 200, module->revision, write_oauth, module, err);
}

bool api_oauth_module_read_put(struct call *call, struct error *err)
{
    struct module_ids ids = {.edge_id = call->match.ids[0], .id = call->match.ids[1]};
    struct oauth_module *module = call_input(call, sizeof *module, err);

    return module &&
           oauth_module_read(&call->body, &ids, &call->settings->oauth, call->arena, module, err);
}

bool api_oauth_module_put(struct call *call, struct error *err)
{
    struct oauth_route route = route_of(call);
    struct oauth_module *module = call->input;

    return store_oauth_module_put(call->store, &call->store_request, &route, module, err) &&
           answer_oauth(call, module, err);
}

bool api_oauth_module_get(struct call *call, struct error *err)
{
    struct oauth_route route = route_of(call);
    struct oauth_module module;

    return store_oauth_module_get(call->store, &call->store_request, &route, &module, err) &&
           answer_oauth(call, &module, err);
}

bool api_oauth_module_delete(struct call *call, struct error *err)
{
    struct oauth_route route = route_of(call);

    return store_oauth_module_delete(call->store, &call->store_request, &route, err) &&
           call_answer(call, 204);
}
