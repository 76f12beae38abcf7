/* SPDX-License-Identifier: MIT */
/* The User or Bot that a command line names. */
#ifndef ADIT_CTL_PRINCIPALS_H
#define ADIT_CTL_PRINCIPALS_H

#include "ctl/ctl.h"
#include "store/principal.h"

/* Returns the User or Bot whose id is the verb's argument; kind is "user" or "bot". */
struct principal ctl_principal(const struct ctl *ctl, const char *kind);

/* Says that there is no such User or Bot, or that the verb of the other kind takes the id.  Returns
 * CTL_FAILED. */
int ctl_no_principal(const struct principal *principal, const char *verb);

#endif
