/* SPDX-License-Identifier: MIT */
/* The names in requests and answers that contain the service's own name. */
#ifndef ADIT_HTTP_NAMES_H
#define ADIT_HTTP_NAMES_H

#include <stdbool.h>

#include "base/must_check.h"
#include "base/text.h"

#define NAMES_SERVICE_MAX 32

struct http_names {
    char version_header[NAMES_SERVICE_MAX + 16];   /* "Service-Version" */
    char version_variable[NAMES_SERVICE_MAX + 16]; /* "HTTP_SERVICE_VERSION" (RFC 3875, 4.1.18) */
    char operation_header[NAMES_SERVICE_MAX + 16]; /* "Service-Operation-Id" */
    char error_prefix[NAMES_SERVICE_MAX + 16];     /* "ERR_SERVICE_" */
    char cookie_prefix[NAMES_SERVICE_MAX + 2];     /* "service." */
};

/* Returns whether the text can be a service's name: 1 to 32 lowercase letters and digits, a letter
 * first. */
MUST_CHECK bool names_valid(struct text name);

/* Fills in *names for a service's name, which must be valid. */
void names_fill(struct http_names *names, const char *name);

#endif
