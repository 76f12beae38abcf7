/* SPDX-License-Identifier: MIT */
/* What the options of aditctl restore say. */
#ifndef ADIT_CTL_RESTORE_ORDER_H
#define ADIT_CTL_RESTORE_ORDER_H

#include "ctl/ctl.h"
#include "ctl/history.h"
#include "store/restore.h"

/* Checks which options were given, and reads all but those that name the row.  *providers, which
 * order refers to, must outlive it.  Returns CTL_OK, or CTL_USAGE after a message. */
MUST_CHECK int restore_order_read(struct ctl *ctl, struct history_names *providers,
                                  struct restore_order *order);

/* Returns why a plan changes nothing: static text. */
const char *restore_order_met(const struct pg_result *plan);

#endif
