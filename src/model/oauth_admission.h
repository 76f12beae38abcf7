/* SPDX-License-Identifier: MIT */
/* Whom an OAuth module lets in: the one answer that the interface, the console, aditctl and its
 * doctor give.  adit-gate judges visitors with the same predicates (gate/rules.h). */
#ifndef ADIT_MODEL_OAUTH_ADMISSION_H
#define ADIT_MODEL_OAUTH_ADMISSION_H

#include "base/buf.h"
#include "model/oauth_module.h"

/* Does the operator have an OAuth application for modules that name none? */
enum oauth_application {
    OAUTH_APPLICATION_UNKNOWN, /* the settings are not those of adit-gate */
    OAUTH_APPLICATION_MISSING,
    OAUTH_APPLICATION_THERE
};

/* The strictest is 0. */
enum oauth_admitted {
    OAUTH_ADMITS_NOBODY,
    OAUTH_ADMITS_LISTED,   /* whom one of the lists names that count */
    OAUTH_ADMITS_ANYONE,   /* anyone with an account at the provider: open to everybody */
    OAUTH_ADMITS_EVERYBODY /* the module is not enforced: nobody has to sign in */
};

/* Why nobody passes, at all or by a list. */
enum oauth_flaw {
    OAUTH_FLAW_NONE,
    OAUTH_FLAW_NO_PROVIDER,    /* the module selects none */
    OAUTH_FLAW_NO_APPLICATION, /* it has none of its own, and the operator has none */
    OAUTH_FLAW_UNVERIFIED,     /* the provider says of no address that it is verified */
    OAUTH_FLAW_NO_TEAMS,       /* the provider has no teams and organizations */
    OAUTH_FLAW_SCOPE           /* the module's own scopes lack one that is needed */
};

/* The lists of a module, in the order of its members. */
enum oauth_list {
    OAUTH_LIST_EMAIL_ADDRESSES,
    OAUTH_LIST_EMAIL_DOMAINS,
    OAUTH_LIST_TEAMS,
    OAUTH_LIST_ORGANIZATIONS,
    OAUTH_N_LISTS
};

struct oauth_admission {
    enum oauth_admitted whom;
    int provider;         /* position; 0: none */
    enum oauth_flaw flaw; /* of the module: nobody can sign in, whatever the lists hold */
    struct {
        bool is_given; /* it holds something */
        enum oauth_flaw flaw;
    } lists[OAUTH_N_LISTS];
};

/* Returns whether all lists are empty: whoever signs in may pass. */
MUST_CHECK bool oauth_lists_are_empty(const struct oauth_provider *config);

/* Says whom the module lets in.  Of the lists it only looks at .n, but for the scopes. */
void oauth_admission_find(const struct oauth_module *module, enum oauth_application application,
                          struct oauth_admission *admission);

/* Returns whether an enabled module, or a list of it, lets nobody in. */
MUST_CHECK bool oauth_admission_has_flaw(const struct oauth_admission *admission);

/* Returns a word of the interface, static: "nobody", "listed", "anyone", "everybody". */
const char *oauth_admitted_word(enum oauth_admitted whom);

/* Appends one sentence without its full stop: "anyone with an account at GitHub passes". */
void oauth_admission_say(struct buf *out, const struct oauth_admission *admission);

/* Appends the admission as JSON. */
void oauth_admission_write(struct buf *out, const struct oauth_admission *admission);

#endif
