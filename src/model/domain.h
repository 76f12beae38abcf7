/* SPDX-License-Identifier: MIT */
/* The grammar of host names and addresses, as rules and lists of domains share it. */
#ifndef ADIT_MODEL_DOMAIN_H
#define ADIT_MODEL_DOMAIN_H

#include <stdbool.h>

#include "base/must_check.h"
#include "base/text.h"

/* Bytes of the longest domain, a leading "*." included. */
#define DOMAIN_MAX 253

/* Returns whether the text is a domain without a wildcard: labels of 1 to 63 letters, digits and
 * hyphens (RFC 952, 1123), hyphens inside only, an underscore may lead a label that goes on behind
 * it as a label does; no trailing dot; at most DOMAIN_MAX bytes.  If not, *why is a static clause
 * that completes "it is not a domain: ...". */
MUST_CHECK bool domain_valid(struct text domain, const char **why);

/* Returns whether the text consists of digits and dots only, as no name of a host does. */
bool domain_looks_like_ipv4(struct text host);

/* Returns whether the text is an IPv4 address: four decimal numbers up to 255 without leading
 * zeros. */
MUST_CHECK bool ipv4_valid(struct text host);

/* Returns whether the text is an IPv6 address (RFC 4291), without brackets and without a zone. */
MUST_CHECK bool ipv6_valid(struct text host);

#define IPV6_SIZE 16

/* The same, and writes its value in network order. */
MUST_CHECK bool ipv6_read(struct text host, unsigned char out[IPV6_SIZE]);

#endif
