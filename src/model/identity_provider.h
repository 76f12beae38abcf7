/* SPDX-License-Identifier: MIT */
/* What is known of each identity provider, whatever a deployment names it. */
#ifndef ADIT_MODEL_IDENTITY_PROVIDER_H
#define ADIT_MODEL_IDENTITY_PROVIDER_H

#include <stdint.h>

#include "base/buf.h"
#include "base/must_check.h"
#include "base/text.h"

/* Positions: the places of the rows of provider_table.h, from 1.  0 stands for none. */
enum provider_position {
    PROVIDER_BEFORE_FIRST,
#define IDENTITY_PROVIDER(symbol, ...) PROVIDER_##symbol,
#include "model/provider_table.h"
#undef IDENTITY_PROVIDER
    PROVIDER_BEHIND_LAST
};

#define OAUTH_N_PROVIDERS (PROVIDER_BEHIND_LAST - 1)

/* What a provider tells of a visitor. */
enum identity_provider_part {
    IDENTITY_PROVIDER_USER, /* who it is */
    IDENTITY_PROVIDER_EMAILS,
    IDENTITY_PROVIDER_ORGANIZATIONS,
    IDENTITY_PROVIDER_TEAMS,
    IDENTITY_PROVIDER_N_PARTS
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

/* A row of provider_table.h.  Queries are encoded, and appended to URLs. */
struct identity_provider {
    const char *name;  /* the default */
    const char *title; /* how people call it */
    bool has_teams;    /* and organizations */
    enum provider_emails emails;
    const char *scopes;         /* what adit-gate asks for */
    const char *team_scopes;    /* ... and besides, for teams and organizations */
    const char *offline_scopes; /* ... and besides, for a refresh token */
    /* Words of which one is needed; "": none is; NULL: it never tells them. */
    const char *needed[IDENTITY_PROVIDER_N_PARTS];
    const char *authorize_url;
    const char *token_url;
    const char *user_url;
    const char *authorize_query;
    const char *offline_query; /* to authorize_url, for a refresh token */
    const char *user_query;
    const char *subject_member; /* of the user endpoint's answer: the stable id */
    const char *name_member;    /* ... what people know the user by */
    bool takes_pkce;            /* RFC 7636, S256 */
};

/* Returns the position that a database has stored; 0 for NULL.  One that this program has no row
 * for counts as none, which lets nobody in: a later program has written it. */
int identity_provider_stored(int64_t position);

/* Returns the row of a position, from 1, static. */
const struct identity_provider *identity_provider_at(int position);

/* Returns the position of the provider that people call so, in any case of the letters, or 0. */
int identity_provider_called(struct text title);

/* Returns whether the provider says of addresses that they are verified, or may say so.  No other
 * address lets anybody pass. */
MUST_CHECK bool identity_provider_verifies(int position);

/* Returns whether the provider tells a part to a token of these scopes.  A scope may be several
 * words, with blanks between them.  None at all: those that adit-gate asks for. */
MUST_CHECK bool identity_provider_tells(int position, enum identity_provider_part part,
                                        const struct text_list *scopes);

/* Appends a deployment's name of a provider, and how people call it: "provider_a (GitHub)".  A name
 * that says it already stands alone. */
void identity_provider_write(struct buf *out, const char *name, int position);

#endif
