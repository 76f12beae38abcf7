/* SPDX-License-Identifier: MIT */
/* The handlers of mutual TLS modules. */
#include "store/mutual_tls_module.h"

#include "api/call.h"

static bool answer(struct call *call, const struct mutual_tls_module *module)
{
    mutual_tls_module_write(&call->response->body, module, call->base_url);
    return call_answer(call, 200);
}

bool mutual_tls_module_read_put(struct call *call, struct error *err)
{
    return mutual_tls_module_read(&call->body, call->match.ids[0], call->arena,
                                  &call->input.mutual_tls, err);
}

bool mutual_tls_module_put(struct call *call, struct error *err)
{
    return store_mutual_tls_module_put(call->store, &call->bearer, call->match.ids[0],
                                       &call->input.mutual_tls, call->arena, err) &&
           answer(call, &call->input.mutual_tls);
}

bool mutual_tls_module_get(struct call *call, struct error *err)
{
    struct mutual_tls_module module;

    return store_mutual_tls_module_get(call->store, &call->bearer, call->match.ids[0], call->arena,
                                       &module, err) &&
           answer(call, &module);
}

bool mutual_tls_module_delete(struct call *call, struct error *err)
{
    return store_mutual_tls_module_delete(call->store, &call->bearer, call->match.ids[0], err) &&
           call_answer(call, 204);
}
