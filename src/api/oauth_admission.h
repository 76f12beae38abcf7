/* SPDX-License-Identifier: MIT */
/* Whom OAuth modules let in, and which providers there are.  Neither reads what is stored. */
#ifndef ADIT_API_OAUTH_ADMISSION_H
#define ADIT_API_OAUTH_ADMISSION_H

#include "api/call.h"

/* Appends whom a module lets in, as far as the settings of this host say. */
void api_oauth_admission_write(const struct call *call, const struct oauth_module *module,
                               struct buf *out);

MUST_CHECK bool api_oauth_admission_read(struct call *call, struct error *err);
MUST_CHECK bool api_oauth_admission_make(struct call *call, struct error *err);
MUST_CHECK bool api_oauth_provider_list(struct call *call, struct error *err);

#endif
