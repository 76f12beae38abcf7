/* SPDX-License-Identifier: MIT */
/* What is known of each identity provider, whatever a deployment names it. */
#ifndef ADIT_MODEL_IDENTITY_PROVIDER_H
#define ADIT_MODEL_IDENTITY_PROVIDER_H

#include "base/buf.h"
#include "base/must_check.h"
#include "base/text.h"

#define OAUTH_N_PROVIDERS 8

/* What a provider tells of a visitor. */
enum identity_provider_part {
    IDENTITY_PROVIDER_USER, /* who it is */
    IDENTITY_PROVIDER_EMAILS,
    IDENTITY_PROVIDER_ORGANIZATIONS,
    IDENTITY_PROVIDER_TEAMS,
    IDENTITY_PROVIDER_N_PARTS
};

/* A row of identity_provider_table.h. */
struct identity_provider {
    const char *title;
    const char *scopes;
    const char *team_scopes; /* NULL: it has no teams and organizations */
    /* Words of which one is needed; "": none is; NULL: it never tells them. */
    const char *needed[IDENTITY_PROVIDER_N_PARTS];
};

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
