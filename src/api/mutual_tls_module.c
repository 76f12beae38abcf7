/* SPDX-License-Identifier: MIT */
/* The handlers of mutual TLS modules. */
#include "store/mutual_tls_module.h"

#include "api/call.h"

static void write_module(struct call *call, const void *resource)
{
    mutual_tls_module_write(&call->response->body, resource, call->base_url);
}

static bool answer(struct call *call, const struct mutual_tls_module *module, struct error *err)
{
    return call_answer_resource(call, 200, module->revision, write_module, module, err);
}

bool mutual_tls_module_read_put(struct call *call, struct error *err)
{
    return mutual_tls_module_read(&call->body, call->match.ids[0], call->arena,
                                  &call->input.mutual_tls, err);
}

bool mutual_tls_module_put(struct call *call, struct error *err)
{
    return store_mutual_tls_module_put(call->store, &call->caller, call->match.ids[0],
                                       &call->input.mutual_tls, call->arena, err) &&
           answer(call, &call->input.mutual_tls, err);
}

bool mutual_tls_module_get(struct call *call, struct error *err)
{
    struct mutual_tls_module module;

    return store_mutual_tls_module_get(call->store, &call->caller, call->match.ids[0], call->arena,
                                       &module, err) &&
           answer(call, &module, err);
}

bool mutual_tls_module_delete(struct call *call, struct error *err)
{
    return store_mutual_tls_module_delete(call->store, &call->caller, call->match.ids[0],
                                          call->arena, err) &&
           call_answer(call, 204);
}
