/* SPDX-License-Identifier: MIT */
/* Addresses of clients, as far as they tell clients apart. */
#include "base/address.h"

#include <arpa/inet.h>
#include <string.h>

struct address_network address_network_of(struct text text)
{
    static const unsigned char mapped[12] = {[10] = 0xff, [11] = 0xff};
    struct address_network network = {.is_known = false};
    unsigned char bytes[sizeof(struct in6_addr)];
    char copy[INET6_ADDRSTRLEN];

    if (text.len == 0 || text.len >= sizeof copy)
        return network;
    memcpy(copy, text.s, text.len);
    copy[text.len] = '\0';
    if (inet_pton(AF_INET, copy, bytes + sizeof mapped) == 1)
        memcpy(bytes, mapped, sizeof mapped);
    else if (inet_pton(AF_INET6, copy, bytes) != 1)
        return network;
    network.is_known = true;
    network.is_v6 = memcmp(bytes, mapped, sizeof mapped) != 0;
    if (network.is_v6) {
        network.is_loopback = memcmp(bytes, &in6addr_loopback, sizeof bytes) == 0;
        network.n_bytes = sizeof network.bytes;
        memcpy(network.bytes, bytes, sizeof network.bytes);
    } else {
        network.is_loopback = bytes[sizeof mapped] == IN_LOOPBACKNET;
        network.n_bytes = sizeof bytes - sizeof mapped;
        memcpy(network.bytes, bytes + sizeof mapped, network.n_bytes);
    }
    return network;
}

struct address_network address_widen(const struct address_network *network, unsigned char n_bytes)
{
    struct address_network wide = *network;

    if (!network->is_v6)
        return wide;
    wide.n_bytes = n_bytes;
    memset(wide.bytes + n_bytes, 0, sizeof wide.bytes - n_bytes);
    return wide;
}

const struct address_width address_widths[ADDRESS_N_WIDTHS] = {
    {8, 1}, {7, 2}, {6, ADDRESS_TIMES_MAX}};

bool address_same_network(const struct address_network *a, const struct address_network *b)
{
    return a->is_known == b->is_known && a->is_v6 == b->is_v6 && a->n_bytes == b->n_bytes &&
           memcmp(a->bytes, b->bytes, sizeof a->bytes) == 0;
}
