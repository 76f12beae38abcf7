/* SPDX-License-Identifier: MIT */
/* Signing a visitor in at an identity provider, as its row of provider_table.h says. */
#ifndef ADIT_GATE_PROVIDER_H
#define ADIT_GATE_PROVIDER_H

#include "base/arena.h"
#include "base/buf.h"
#include "base/must_check.h"
#include "conf/conf.h"
#include "gate/fetch.h"
#include "gate/identity.h"
#include "model/oauth_module.h"

/* Time for all questions about one visitor: those of a sign-in, and those of a check.  Each of them
 * has PROVIDER_REQUEST_MS at most. */
#define PROVIDER_MS 10000
#define PROVIDER_REQUEST_MS 5000

/* The OAuth application at a provider, with which a visitor is signed in. */
struct provider_client {
    int provider;                     /* position, 1 to OAUTH_N_PROVIDERS */
    const struct conf_provider *conf; /* overrides of [provider.NAME]; never NULL */
    struct text client_id;
    struct text client_secret;
    struct text_list scopes; /* of the module; empty: those that its lists need */
    unsigned wants;          /* bits of identity_kind: what the module lists */
    bool keeps_token;        /* the provider is to be asked again */
    struct text redirect_uri;
    int64_t deadline_ms; /* of all questions, on the steady clock */
};

/* Returns what the lists of a module tell visitors apart by: bits of identity_kind. */
unsigned provider_wants(const struct oauth_provider *lists);

/* Lists the scopes that a sign-in asks for to know the visitor: the module's own, or those that its
 * lists need.  The list is in the arena.  Returns false if memory runs out. */
MUST_CHECK bool provider_scopes(const struct provider_client *client, struct arena *arena,
                                struct text_list *scopes);

/* Appends the URL to which the visitor's browser goes to sign in: the authorize endpoint with
 * response_type=code, client_id, redirect_uri, scope, state, and the PKCE challenge (RFC 7636,
 * S256) of the verifier where the provider takes one.  A failure sets out->failed. */
void provider_authorize_url(struct buf *out, const struct provider_client *client,
                            struct text state, struct text code_verifier);

/* How asking a provider ended.  PROVIDER_AWAY is 0. */
enum provider_outcome {
    PROVIDER_AWAY,       /* no right answer in time, an outage, a rate limit */
    PROVIDER_REFUSED,    /* the code or the token is not good, or the visitor has refused */
    PROVIDER_NOT_SET_UP, /* the application is not as the provider wants it: for the operator */
    PROVIDER_NOT_GIVEN,  /* of one list: the token may not read it */
    PROVIDER_ANSWERED
};

#define PROVIDER_N_OUTCOMES (PROVIDER_ANSWERED + 1)

/* Of a visitor, in the arena. */
struct provider_tokens {
    struct text access;
    struct text refresh; /* absent: the provider gave none */
};

/* What all questions for one visitor share. */
struct provider_asking {
    struct fetcher *fetcher; /* of a lane, which waits */
    const struct provider_client *client;
    struct arena *arena; /* of what is found */
    /* Set by each function: static or in the arena, for the log.  Holds no code, token or secret.
     */
    const char *why;
};

/* Exchanges the code of a callback for tokens (RFC 6749, 4.1.3). */
MUST_CHECK enum provider_outcome provider_exchange(struct provider_asking *asking, struct text code,
                                                   struct text code_verifier,
                                                   struct provider_tokens *tokens);

/* Exchanges a refresh token for new tokens (RFC 6749, 6).  Where the provider gives no new refresh
 * token, the old one is in *tokens. */
MUST_CHECK enum provider_outcome provider_refresh(struct provider_asking *asking,
                                                  struct text refresh,
                                                  struct provider_tokens *tokens);

/* Asks the provider's endpoints who holds the token: subject, name, verified addresses, and, if
 * client->wants names one of them, organizations and teams, all pages of them.  A list that the
 * provider does not give is not in identity->known; if client->wants names it, why says so with
 * PROVIDER_ANSWERED, too, and is NULL otherwise.  PROVIDER_REFUSED: the token is not good any more.
 * Never PROVIDER_NOT_GIVEN. */
MUST_CHECK enum provider_outcome provider_identify(struct provider_asking *asking,
                                                   struct text token, struct identity *identity);

#endif
