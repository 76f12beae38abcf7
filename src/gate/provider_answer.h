/* SPDX-License-Identifier: MIT */
/* Reading providers' answers.  Every reason is static, and holds nothing of the answer. */
#ifndef ADIT_GATE_PROVIDER_ANSWER_H
#define ADIT_GATE_PROVIDER_ANSWER_H

#include "base/arena.h"
#include "base/must_check.h"
#include "gate/fetch.h"
#include "gate/identity.h"
#include "gate/provider.h"

/* Each reads an answer of a provider, a position, after gate/meaning.h has said what it means. */

/* Reads what the token endpoint answered (RFC 6749, 5).  *tokens are in the arena. */
MUST_CHECK enum provider_outcome provider_answer_token(const struct fetch_answer *answer,
                                                       int provider, struct arena *arena,
                                                       struct provider_tokens *tokens,
                                                       const char **why);

/* Who answers at a user endpoint.  The row says how the answer is read; it stays the caller's. */
struct provider_answerer {
    int provider; /* position */
    const struct identity_provider *row;
    /* Both endpoints are those of one tenant, which answers for its addresses. */
    bool has_own_tenant;
};

/* Reads what the user endpoint answered: subject, name and, unless they are at another endpoint,
 * verified addresses, in the arena.  Of identity->known it sets IDENTITY_DOMAINS. */
MUST_CHECK enum provider_outcome provider_answer_user(const struct fetch_answer *answer,
                                                      const struct provider_answerer *who,
                                                      struct arena *arena,
                                                      struct identity *identity, const char **why);

/* A list that grows page by page, in the arena. */
struct provider_answer_texts {
    struct arena *arena;
    struct text_list list;
    size_t room;
};

/* Reads one page, and appends what it lists.  Elements that are malformed are left out. */
typedef enum provider_outcome provider_answer_page(const struct fetch_answer *answer, int provider,
                                                   struct provider_answer_texts *texts,
                                                   const char **why);

/* Pages of verified addresses (the primary one goes first), of organizations' slugs, and of teams
 * as "<org>/<team>".  PROVIDER_NOT_GIVEN: nobody knows what the list has. */
MUST_CHECK enum provider_outcome provider_answer_emails(const struct fetch_answer *answer,
                                                        int provider,
                                                        struct provider_answer_texts *texts,
                                                        const char **why);
MUST_CHECK enum provider_outcome provider_answer_organizations(const struct fetch_answer *answer,
                                                               int provider,
                                                               struct provider_answer_texts *texts,
                                                               const char **why);
MUST_CHECK enum provider_outcome provider_answer_teams(const struct fetch_answer *answer,
                                                       int provider,
                                                       struct provider_answer_texts *texts,
                                                       const char **why);

#endif
