/* SPDX-License-Identifier: MIT */
/* The eight identity providers.  One table says all that the gate knows of them. */
#ifndef ADIT_GATE_PROVIDER_H
#define ADIT_GATE_PROVIDER_H

#include "base/arena.h"
#include "base/buf.h"
#include "base/must_check.h"
#include "conf/conf.h"
#include "gate/fetch.h"
#include "gate/identity.h"
#include "model/oauth_module.h"

/* The OAuth application at a provider, with which a visitor is signed in. */
struct provider_client {
    int provider;                     /* position, 1 to OAUTH_N_PROVIDERS */
    const struct conf_provider *conf; /* overrides of [provider.NAME]; never NULL */
    struct text client_id;
    struct text client_secret;
    struct text_list scopes; /* of the module; empty: those that its lists need */
    bool wants_teams;        /* the module lists teams or organizations */
    struct text redirect_uri;
};

/* Returns what people call the provider at a position, static. */
const char *provider_title(int provider);

/* Appends the URL to which the visitor's browser goes to sign in: the authorize endpoint with
 * response_type=code, client_id, redirect_uri, scope, state, and the PKCE challenge (RFC 7636,
 * S256) of the verifier where the provider takes one.  A failure sets out->failed. */
void provider_authorize_url(struct buf *out, const struct provider_client *client,
                            struct text state, struct text code_verifier);

/* How asking a provider ended.  PROVIDER_AWAY is 0. */
enum provider_outcome {
    PROVIDER_AWAY,    /* no right answer in time; *why says what happened */
    PROVIDER_REFUSED, /* the provider does not accept the code or the token */
    PROVIDER_ANSWERED
};

/* Exchanges the code of a callback for an access token (RFC 6749, 4.1.3), in the arena.  Waits in
 * the lane of the fetcher.  *why is static or in the arena, for the log; it holds no code, token or
 * secret. */
MUST_CHECK enum provider_outcome provider_exchange(struct fetcher *fetcher,
                                                   const struct provider_client *client,
                                                   struct text code, struct text code_verifier,
                                                   struct arena *arena, struct text *token,
                                                   const char **why);

/* Asks the provider's endpoints who holds the token: subject, name, verified addresses, and with
 * client->wants_teams organizations and teams, all pages of them.  Otherwise as
 * provider_exchange().  PROVIDER_REFUSED: the token is not good any more. */
MUST_CHECK enum provider_outcome provider_identify(struct fetcher *fetcher,
                                                   const struct provider_client *client,
                                                   struct text token, struct arena *arena,
                                                   struct identity *identity, const char **why);

#endif
