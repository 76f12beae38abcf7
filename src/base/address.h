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

/* What a client has of IPv6 is its /64, at many hosts a /56 or a /48.  Several clients may share
 * the wider ones, so these have so many times as much.  The narrowest is the first. */
#define ADDRESS_N_WIDTHS 3
#define ADDRESS_TIMES_MAX 4
extern const struct address_width {
    unsigned char n_bytes; /* of the network */
    unsigned char times;
} address_widths[ADDRESS_N_WIDTHS];

/* Returns how many of these networks an address is in: one, if it is not of IPv6. */
static inline size_t address_n_widths(const struct address_network *network)
{
    return network->is_v6 ? ADDRESS_N_WIDTHS : 1;
}

/* Returns whether two are the same. */
MUST_CHECK bool address_same_network(const struct address_network *a,
                                     const struct address_network *b);

#endif
