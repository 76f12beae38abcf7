/* SPDX-License-Identifier: MIT */
/* The handlers of questions about OAuth modules that need not be stored. */
#include "api/oauth_admission.h"

#include "json/write.h"

void api_oauth_admission_write(const struct call *call, const struct oauth_module *module,
                               struct buf *out)
{
    enum oauth_application application =
        module->provider > 0 ? call->settings->oauth_applications[module->provider - 1]
                             : OAUTH_APPLICATION_UNKNOWN;
    struct oauth_admission admission;

    oauth_admission_find(module, application, &admission);
    oauth_admission_write(out, &admission);
}

bool api_oauth_admission_read(struct call *call, struct error *err)
{
    const struct module_place none = {.edge_id = {.s = NULL}};
    const struct field_reader reader = {.arena = call->arena};
    struct oauth_module *module = call_input(call, sizeof *module, err);

    return module &&
           oauth_module_read(&call->body, &none, &call->settings->oauth, &reader, module, err);
}

bool api_oauth_admission_make(struct call *call, struct error *err)
{
    if (!store_authorize(call->store, &call->store_request, false, err))
        return false;
    api_oauth_admission_write(call, call->input, &call->response->body);
    return call_answer(call, 200);
}

bool api_oauth_provider_list(struct call *call, struct error *err)
{
    struct buf *out = &call->response->body;

    if (!store_authorize(call->store, &call->store_request, false, err))
        return false;
    json_open(out, '{');
    json_put_name(out, "providers");
    json_open(out, '[');
    for (int position = 1; position <= OAUTH_N_PROVIDERS; position++) {
        json_open(out, '{');
        json_put_member(out, "name", text_of(call->settings->oauth.providers[position - 1]));
        json_put_member(out, "title", text_of(identity_provider_at(position)->title));
        json_close(out, '}');
    }
    json_close(out, ']');
    json_close(out, '}');
    return call_answer(call, 200);
}
