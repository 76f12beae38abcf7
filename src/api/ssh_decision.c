/* SPDX-License-Identifier: MIT */
/* The handler of decisions about SSH keys. */
#include "api/ssh_decision.h"

#include "store/ssh_decision.h"

bool api_ssh_decision_read(struct call *call, struct error *err)
{
    struct ssh_decision_input *input = call_input(call, sizeof *input, err);

    return input && ssh_decision_read(&call->body, call->arena, input, err);
}

bool api_ssh_decision_make(struct call *call, struct error *err)
{
    const struct ssh_decision_input *input = call->input;
    struct ssh_grant_list list = {0};
    struct ssh_decision decision;
    bool ok = store_ssh_decision_find(call->store, &call->store_request, input->fingerprint, &list,
                                      err) &&
              ssh_decision_make(list.items, list.n, &list.left_out, input->target, call->arena,
                                &decision, err);

    if (ok)
        ssh_decision_write(&call->response->body, &decision, call->base_url);
    ssh_grant_list_free(&list);
    return ok && call_answer(call, 200);
}
