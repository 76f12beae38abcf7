/* SPDX-License-Identifier: MIT */
/* The configuration of web servers that ask adit-gate. */
#ifndef ADIT_CTL_CONFIG_GATE_CONFIG_H
#define ADIT_CTL_CONFIG_GATE_CONFIG_H

#include "base/buf.h"
#include "base/must_check.h"
#include "ctl/ctl.h"

/* Fills in the template of a web server for the route of the options.  Returns CTL_OK, or the exit
 * status after a message. */
MUST_CHECK int gate_config_fill(struct ctl *ctl, const char *template, struct buf *out);

#endif
