/* SPDX-License-Identifier: MIT */
/* The lines of a settings file. */
#ifndef ADIT_CONF_PARSE_H
#define ADIT_CONF_PARSE_H

#include <stdbool.h>
#include <stdio.h>

#include "base/must_check.h"
#include "conf/conf.h"

/* Reads an open settings file, whose path is conf->path, and sets each setting that it names.
 * Returns false with a reason at the first line that is wrong; settings of lines before it are
 * changed then.  The caller closes the file. */
MUST_CHECK bool conf_parse(struct conf *conf, FILE *file, char reason[CONF_REASON_SIZE]);

#endif
