/* SPDX-License-Identifier: MIT */
/* The daemon's drivers of the database. */
#ifndef ADIT_GATEWAY_DRIVERS_H
#define ADIT_GATEWAY_DRIVERS_H

#include "base/must_check.h"
#include "gateway/gateway.h"

/* Returns why the settings cannot be obeyed where the accounts are, static, or NULL. */
const char *drivers_fault(const struct conf *conf);

/* Makes the drivers, which connect when they are used, from the settings.  Returns false where
 * memory is short. */
MUST_CHECK bool drivers_open(struct gateway *gateway);

/* Frees those that were made. */
void drivers_close(struct gateway *gateway);

#endif
