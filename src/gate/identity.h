/* SPDX-License-Identifier: MIT */
/* Who a visitor is, as an identity provider says. */
#ifndef ADIT_GATE_IDENTITY_H
#define ADIT_GATE_IDENTITY_H

#include <stdbool.h>

#include "base/text.h"

#define IDENTITY_LISTS_LEN 16

struct identity {
    struct text subject;            /* the provider's stable id of the user; never empty */
    struct text name;               /* shown to people: a login name; absent: none is known */
    struct text_list emails;        /* verified addresses, the primary one first */
    struct text_list organizations; /* slugs, of the code hosting platform */
    struct text_list teams;         /* "<org>/<team>", of the code hosting platform */

    /* There was more of it: see rules_narrow(). */
    bool is_narrowed;
    unsigned char narrowed_to[IDENTITY_LISTS_LEN]; /* a digest of the lists */
};

#endif
