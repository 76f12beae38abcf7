/* SPDX-License-Identifier: MIT */
/* The grammar of host names and addresses. */
#ifndef ADIT_MODEL_DOMAIN_H
#define ADIT_MODEL_DOMAIN_H

#include <stdbool.h>

#include "base/must_check.h"
#include "base/text.h"

/* Bytes of the longest domain, a leading "*." included. */
#define DOMAIN_MAX 253

/* Returns whether the text is a domain without a wildcard (RFC 952, 1123): at most DOMAIN_MAX
 * bytes, no trailing dot, labels of 1 to 63 letters, digits and inner hyphens.  A label may also be
 * an underscore and a label.  Returns false with the reason in *why, as the words after "it is not
 * a domain:"; static. */
MUST_CHECK bool domain_valid(struct text domain, const char **why);

/* Returns whether the text has digits and dots only.  No host name is like that. */
bool domain_looks_like_ipv4(struct text host);

/* Returns whether the last label is a number, in decimal or in hexadecimal after "0x".  No domain
 * of the DNS is like that, but such a name may be a spelling of an IPv4 address (inet_aton(3)). */
bool domain_ends_in_number(struct text domain);

/* Returns whether the text is an IPv4 address: four decimal numbers from 0 to 255 without leading
 * zeros. */
MUST_CHECK bool ipv4_valid(struct text host);

/* Bytes of an IPv6 address. */
#define IPV6_SIZE 16

/* Reads an IPv6 address (RFC 4291), without brackets and without a zone, into network order.
 * Returns false if the text is none. */
MUST_CHECK bool ipv6_read(struct text host, unsigned char out[IPV6_SIZE]);

/* Bytes of the longest IPv6 address in text, six groups and a dotted quad, and of its NUL. */
#define IPV6_TEXT_SIZE 46

/* Writes the address in the form of RFC 5952, with a dotted quad only if it is an IPv4 address that
 * was mapped to IPv6 ("::ffff:192.0.2.1"). */
void ipv6_write(const unsigned char address[IPV6_SIZE], char out[IPV6_TEXT_SIZE]);

#endif
