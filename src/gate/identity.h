/* SPDX-License-Identifier: MIT */
/* Who a visitor is, as an identity provider says. */
#ifndef ADIT_GATE_IDENTITY_H
#define ADIT_GATE_IDENTITY_H

#include <stdbool.h>

#include "base/text.h"

#define IDENTITY_LISTS_LEN 16
/* What is known of a visitor, as bits.  A list that the provider did not give is not known, and
 * says nothing; a known one may be empty. */
enum identity_kind {
    IDENTITY_EMAILS = 1,
    IDENTITY_ORGANIZATIONS = 2,
    IDENTITY_TEAMS = 4,
    IDENTITY_DOMAINS = 8 /* an address proves that its domain counts the visitor to its people */
};
#define IDENTITY_ALL 15

struct identity {
    struct text subject;            /* the provider's stable id of the user; never empty */
    struct text name;               /* shown to people: a login name; absent: none is known */
    unsigned known;                 /* bits of identity_kind */
    struct text_list emails;        /* verified addresses, the primary one first */
    struct text_list organizations; /* slugs, of the code hosting platform */
    struct text_list teams;         /* "<org>/<team>", of the code hosting platform; also those
                                     * above the visitor's */

    /* There was more of it: see rules_narrow(). */
    bool is_narrowed;
    unsigned char narrowed_to[IDENTITY_LISTS_LEN]; /* a digest of the lists */
};

#endif
