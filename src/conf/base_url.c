/* SPDX-License-Identifier: MIT */
/* The setting base_url. */
#include "conf/base_url.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "base/number.h"
#include "base/text.h"

/* Returns whether the port of a URL, if it has one, is valid.  Starts at the host, which may be an
 * IPv6 address in brackets. */
static bool port_valid(const char *host)
{
    const char *port = host + (*host == '[' ? strcspn(host, "]/") : 0);
    struct text digits;
    uint64_t value;

    port += strcspn(port, ":/");
    if (*port != ':')
        return true;
    port++;
    digits = (struct text){.s = port, .len = strcspn(port, "/")};
    return port[0] != '0' && number_read(digits, 10, 65535, &value);
}

const char *conf_base_url_trim(char *value)
{
    size_t len = strlen(value);
    size_t scheme = strncmp(value, "https://", 8) == 0 ? 8 : 7;

    if (len == 0)
        return NULL;
    if (strncmp(value, "http://", 7) != 0 && scheme != 8)
        return "must begin with http:// or https://";
    if (strspn(value, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~:/[]%") !=
        len)
        return "may contain only a scheme, a host, a port and a path";
    while (len > scheme && value[len - 1] == '/')
        value[--len] = '\0';
    if (len == scheme || strchr(":/", value[scheme]))
        return "has no host";
    return port_valid(value + scheme) ? NULL : "has an invalid port; use 1 to 65535";
}
