/* SPDX-License-Identifier: MIT */
/* The handlers of mutual TLS modules. */
#include "api/mutual_tls_module.h"

#include "store/mutual_tls_module.h"

static void write_mutual_tls(struct call *call, const void *resource)
{
    mutual_tls_module_write(&call->response->body, resource, call->base_url);
}

static bool answer_mutual_tls(struct call *call, const struct mutual_tls_module *module,
                              struct error *err)
{
    return call_answer_resource(call, 200, module->revision, write_mutual_tls, module, err);
}

bool api_mutual_tls_module_read_put(struct call *call, struct error *err)
{
    struct mutual_tls_module *module = call_input(call, sizeof *module, err);

    return module &&
           mutual_tls_module_read(&call->body, call->match.ids[0], call->arena, module, err);
}

bool api_mutual_tls_module_put(struct call *call, struct error *err)
{
    struct mutual_tls_module *module = call->input;

    return store_mutual_tls_module_put(call->store, &call->store_request, call->match.ids[0],
                                       module, err) &&
           answer_mutual_tls(call, module, err);
}

bool api_mutual_tls_module_get(struct call *call, struct error *err)
{
    struct mutual_tls_module module;

    return store_mutual_tls_module_get(call->store, &call->store_request, call->match.ids[0],
                                       &module, err) &&
           answer_mutual_tls(call, &module, err);
}

bool api_mutual_tls_module_delete(struct call *call, struct error *err)
{
    return store_mutual_tls_module_delete(call->store, &call->store_request, call->match.ids[0],
                                          err) &&
           call_answer(call, 204);
}
