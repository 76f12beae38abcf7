/* SPDX-License-Identifier: MIT */
/* What the gate knows of each identity provider, as its documentation says. */
#ifndef ADIT_GATE_PROVIDER_TABLE_H
#define ADIT_GATE_PROVIDER_TABLE_H

#include <stdbool.h>

#include "model/oauth_module.h"

/* Positions. */
enum provider_position {
    PROVIDER_GITHUB = 1,
    PROVIDER_FACEBOOK,
    PROVIDER_MICROSOFT,
    PROVIDER_GOOGLE,
    PROVIDER_LINKEDIN,
    PROVIDER_GITLAB,
    PROVIDER_TWITCH,
    PROVIDER_AMAZON
};

/* What says that an address is verified: that the person can read its mail, or could once.  Where
 * the row does not say otherwise, its domain counts as the address does. */
enum provider_emails {
    PROVIDER_EMAILS_NONE,     /* nothing: no address counts */
    PROVIDER_EMAILS_VERIFIED, /* "email" beside "email_verified": true (OpenID Connect Core, 5.1) */
    PROVIDER_EMAILS_HOSTED, /* so, but its domain counts only if "hd" is the same, and gmail.com */
    PROVIDER_EMAILS_TENANT, /* "email" beside "xms_edov", or endpoints of one tenant */
    PROVIDER_EMAILS_LIST    /* elements of USER_URL/emails with "verified": true */
};

struct provider {
    const char *authorize_url;
    const char *token_url;
    const char *user_url;
    const char *user_query;      /* appended to user_url, encoded; "": nothing */
    const char *authorize_query; /* appended to authorize_url, encoded; "": nothing */
    const char *offline_scopes;  /* besides those of identity_provider_table.h, for a refresh token;
                                  * NULL: none is needed or there is none */
    const char *offline_query;   /* for a refresh token, as authorize_query; NULL: nothing */
    const char *subject;         /* member of the user endpoint's answer: the stable id */
    const char *name;            /* member: what people know the user by */
    enum provider_emails emails;
    bool takes_pkce; /* RFC 7636, S256 */
};

/* In the order of positions, from 1. */
extern const struct provider provider_table[OAUTH_N_PROVIDERS];

#endif
