/* SPDX-License-Identifier: MIT */
/* Making names of the service's name. */
#include "http/names.h"

#include <stdio.h>

#include "base/ascii.h"

bool names_valid(struct text name)
{
    if (!name.s || name.len < 1 || name.len > NAMES_SERVICE_MAX || !ascii_is_lower(name.s[0]))
        return false;
    for (size_t i = 1; i < name.len; i++) {
        if (!ascii_is_lower(name.s[i]) && !ascii_is_digit(name.s[i]))
            return false;
    }
    return true;
}

void names_fill(struct http_names *names, const char *name)
{
    char title[NAMES_SERVICE_MAX + 1];
    char shout[NAMES_SERVICE_MAX + 1];
    size_t i;

    for (i = 0; i < NAMES_SERVICE_MAX && name[i]; i++) {
        title[i] = i == 0 ? ascii_upper(name[i]) : name[i];
        shout[i] = ascii_upper(name[i]);
    }
    title[i] = shout[i] = '\0';
    snprintf(names->version_header, sizeof names->version_header, "%s-Version", title);
    snprintf(names->version_variable, sizeof names->version_variable, "HTTP_%s_VERSION", shout);
    snprintf(names->operation_header, sizeof names->operation_header, "%s-Operation-Id", title);
    snprintf(names->error_prefix, sizeof names->error_prefix, "ERR_%s_", shout);
    snprintf(names->cookie_prefix, sizeof names->cookie_prefix, "%.*s.", NAMES_SERVICE_MAX, name);
}
