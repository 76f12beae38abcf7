/* SPDX-License-Identifier: MIT */
/* Whom a route's OAuth module lets in. */
#ifndef ADIT_GATE_RULES_H
#define ADIT_GATE_RULES_H

#include "base/must_check.h"
#include "gate/identity.h"
#include "model/oauth_module.h"

/* Returns whether the lists let an identity in: all of them are empty, or one of them holds one of
 * its addresses, the domain of one, one of its teams or one of its organizations.
 *
 * All compare byte for byte, but ASCII letters without case, also those before the '@'.  Nothing is
 * normalized: an internationalized domain matches only in the form that the provider gives, no
 * letter of another alphabet equals an ASCII letter, and a trailing dot counts.  A domain does not
 * match its subdomains.  Empty entries match nothing, and so do addresses, of the list or of the
 * identity, that do not have exactly one '@' with text on both sides.  A domain counts only with
 * IDENTITY_DOMAINS. */
MUST_CHECK bool rules_admit(const struct oauth_provider *lists, const struct identity *identity);

/* Returns whether one of two identities lacks something of the other that lists may name, for
 * whatever reason: the provider has given it or taken it away, was not asked for it, or
 * rules_narrow() has left it out; or whether the first address is another one, by which
 * applications know the visitor. */
MUST_CHECK bool rules_differ(const struct identity *now, const struct identity *before);

/* An identity of more bytes than this is narrowed: nobody may fill a session with memberships. */
#define RULES_WHOLE_MAX 2048

/* ... to so many bytes of what the lists name, of each kind. */
#define RULES_NAMED_MAX 1024

/* Leaves out of a large identity what the lists do not name.  The first address stays, and if the
 * lists let the identity in, they still do. */
void rules_narrow(const struct oauth_provider *lists, struct identity *identity);

/* Returns whether the lists do not let an identity in that may lack what they name now: it was
 * narrowed to other lists. */
MUST_CHECK bool rules_may_lack(const struct oauth_provider *lists, const struct identity *identity);

#endif
