/* SPDX-License-Identifier: MIT */
/* What only lists of OAuth modules have. */
#ifndef ADIT_API_OAUTH_MODULE_H
#define ADIT_API_OAUTH_MODULE_H

#include "api/page.h"

/* As api_page_read().  A filter that means a provider by what people call it is refused: it would
 * find nothing. */
MUST_CHECK bool api_oauth_module_read_page(struct call *call, struct api_page *page,
                                           struct error *err);

#endif
