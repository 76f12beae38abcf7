/* SPDX-License-Identifier: MIT */
/* Addresses of clients, as far as they tell clients apart. */
#ifndef ADIT_BASE_ADDRESS_H
#define ADIT_BASE_ADDRESS_H

#include <stdbool.h>

#include "base/must_check.h"
#include "base/text.h"

/* Whom an address names.  A client with an IPv6 address has all of its /64, at least. */
struct address_network {
    bool is_known;
    bool is_loopback; /* a proxy of this machine, or this machine itself */
    bool is_v6;
    unsigned char n_bytes;  /* that count */
    unsigned char bytes[8]; /* of IPv4, or the first ones of IPv6; the others are zero */
};

/* Reads an IPv4 or IPv6 address.  An IPv4 address in an IPv6 address (RFC 4291, 2.5.5.2) is an IPv4
 * address.  Any other text is unknown: all zero. */
MUST_CHECK struct address_network address_network_of(struct text text);

/* Returns the network of so many bytes, at most 8, that an IPv6 network is in.  Returns any other
 * one as it is. */
MUST_CHECK struct address_network address_widen(const struct address_network *network,
                                                unsigned char n_bytes);

/* Returns whether two are the same. */
MUST_CHECK bool address_same_network(const struct address_network *a,
                                     const struct address_network *b);

#endif
