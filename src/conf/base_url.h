/* SPDX-License-Identifier: MIT */
/* The setting base_url: the beginning of every uri in an answer. */
#ifndef ADIT_CONF_BASE_URL_H
#define ADIT_CONF_BASE_URL_H

#include "base/must_check.h"

/* Takes the slashes off the end of an http or https URL with a host, and perhaps a port and a path.
 * "" is no URL and stays.  Returns NULL, or why it is none, as the words after its value; static.
 */
MUST_CHECK const char *conf_base_url_trim(char *value);

#endif
