/* SPDX-License-Identifier: MIT */
/* The OAuth application with which a route's visitors sign in. */
#include "gate/application.h"

#include <string.h>

#include "base/clock.h"
#include "store/oauth_secret.h"

static struct text redirect_uri(const struct gate_call *call)
{
    struct text url = gate_call_variable(call, GATE_ADIT_URL);
    char *out = arena_alloc(&call->lane->arena, url.len + sizeof GATE_CALLBACK);

    if (!out)
        return (struct text){.s = NULL};
    memcpy(out, url.s, url.len);
    memcpy(out + url.len, GATE_CALLBACK, sizeof GATE_CALLBACK);
    return text_of(out);
}

bool application_fill(const struct gate_call *call, struct provider_client *client)
{
    const struct oauth_provider *config = &call->stored.module.config;
    const struct conf *conf = &call->lane->worker->gate->conf;

    *client = (struct provider_client){.provider = call->place.provider,
                                       .conf = &conf->oauth_providers[call->place.provider - 1],
                                       .client_id = config->client_id,
                                       .scopes = config->scopes,
                                       .wants = provider_wants(config),
                                       .keeps_token = call->stored.module.auth_check_interval > 0,
                                       .redirect_uri = redirect_uri(call),
                                       .deadline_ms = clock_steady_ms() + PROVIDER_MS};
    if (!client->client_id.s)
        client->client_id = text_of(client->conf->client_id);
    return text_present(client->client_id) && client->redirect_uri.s;
}

static bool read_client_secret(struct gate_call *call, struct gate_secret *secret,
                               struct error *err)
{
    struct database *database = call->lane->worker->database;
    struct pg *pg = database_take(database, &call->lane->wait, call->place.account_id, err);
    bool ok;

    if (!pg)
        return false;
    ok = store_gate_secret(pg, call->place.account_id, &call->question.route, &call->stored.module,
                           &call->lane->arena, secret, err);
    database_give(database, pg, ok, err);
    return ok;
}

bool application_open_secret(struct gate_call *call, struct provider_client *client,
                             struct error *err)
{
    const struct gate *gate = call->lane->worker->gate;
    const struct oauth_module *module = &call->stored.module;
    struct gate_secret secret;
    struct keyring_place place;

    if (!module->config.client_id.s) {
        client->client_secret = text_of(gate->managed_secrets[call->place.provider - 1]);
        return client->client_secret.s ||
               error_cause(err, ERR_INTERNAL, "the managed application has no secret");
    }
    if (!read_client_secret(call, &secret, err))
        return false;
    if (!secret.is_found)
        return error_cause(err, ERR_INTERNAL, "the module was changed meanwhile");
    place = oauth_secret_place(call->place.account_id, &call->question.route, module->provider);
    return keyring_open(gate->keyring, &place, secret.key_id, secret.sealed, &call->lane->arena,
                        &client->client_secret, err);
}
