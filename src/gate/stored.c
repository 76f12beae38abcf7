/* SPDX-License-Identifier: MIT */
/* What is stored about a request's route. */
#include "gate/stored.h"

#include "gate/database.h"
#include "gate/visit.h"

/* Returns why an account cannot be obeyed, or NULL. */
static const char *accounts_fault(int n_accounts)
{
    if (n_accounts == 0)
        return "the account does not exist; correct the setting account of [gate], or ADIT_ACCOUNT "
               "in the web server's configuration";
    return n_accounts == 1 ? NULL
                           : "there are several accounts; name one in the setting account of "
                             "[gate], or as ADIT_ACCOUNT in the web server's configuration";
}

static bool ask_store(struct gate_call *call, struct error *err)
{
    struct gate_lane *lane = call->lane;
    struct database *database = lane->worker->database;
    struct pg *pg = database_take(database, &lane->wait, call->question.account_id, err);
    bool ok;

    if (!pg)
        return false;
    ok = store_gate_ask(pg, &call->question, &lane->arena, &call->stored, err);
    database_give(database, pg, ok, err);
    return ok;
}

bool stored_look_up(struct gate_call *call)
{
    struct error err = {.code = ERR_NONE};
    const char *fault;
    bool ok;

    visit_ask(call);
    ok = ask_store(call, &err);
    fault = ok ? accounts_fault(call->stored.n_accounts) : error_reason(&err);
    if (!ok || fault) {
        gate_call_log(call, LOG_LEVEL_ERROR, "cannot decide", fault, NULL);
        gate_call_refuse(call, HTML_PAGE_NOT_READY, NULL);
        return false;
    }
    call->place = (struct sealed_place){.account_id = call->stored.account_id,
                                        .edge_id = call->question.route.edge_id,
                                        .route_id = call->question.route.route_id,
                                        .provider = call->stored.module.provider};
    call->cookie_prefix = call->stored.module.cookie_prefix;
    if (!call->cookie_prefix.s)
        call->cookie_prefix = text_of(call->lane->worker->gate->names.cookie_prefix);
    call->phase = CALL_LOOKED_UP;
    return true;
}
