/* SPDX-License-Identifier: MIT */
/* Host names and addresses. */
#include "model/domain.h"

#include <arpa/inet.h>
#include <stdio.h>

#include "base/ascii.h"

#define LABEL_MAX 63

/* Of 16 bits. */
#define IPV6_GROUPS (IPV6_SIZE / 2)
#define GROUP_SIZE sizeof "ffff"

/* Returns NULL if the bytes are a label, or the reason why not. */
static const char *label_fault(const char *s, size_t len)
{
    size_t first = len > 0 && s[0] == '_';

    if (len == 0)
        return "a label between dots is empty";
    if (len > LABEL_MAX)
        return "a label is longer than 63 bytes";
    if (len == first)
        return "a label is only an underscore";
    for (size_t i = first; i < len; i++) {
        if ((unsigned char)s[i] >= 0x80)
            return "it has characters outside ASCII; write the label in its 'xn--' form";
        if (!ascii_is_alnum(s[i]) && s[i] != '-')
            return "a label may contain letters, digits, hyphens and a leading underscore";
    }
    if (s[first] == '-' || s[len - 1] == '-')
        return "a label begins or ends with a hyphen";
    return NULL;
}

static const char *domain_fault(struct text domain)
{
    size_t start = 0;

    if (!text_present(domain))
        return "it is empty";
    if (domain.len > DOMAIN_MAX)
        return "it is longer than 253 bytes";
    if (domain.s[0] == '@')
        return "it begins with '@'; give what follows";
    if (domain.len > 1 && domain.s[domain.len - 1] == '.')
        return "it ends with a dot";
    for (size_t i = 0; i <= domain.len; i++) {
        const char *fault;

        if (i < domain.len && domain.s[i] != '.')
            continue;
        fault = label_fault(domain.s + start, i - start);
        if (fault)
            return fault;
        start = i + 1;
    }
    return NULL;
}

bool domain_valid(struct text domain, const char **why)
{
    const char *fault = domain_fault(domain);

    if (fault)
        *why = fault;
    return !fault;
}

bool domain_looks_like_ipv4(struct text host)
{
    for (size_t i = 0; i < host.len; i++) {
        if (!ascii_is_digit(host.s[i]) && host.s[i] != '.')
            return false;
    }
    return text_present(host);
}

bool domain_ends_in_number(struct text domain)
{
    size_t from = domain.len;
    bool is_hex;

    while (from > 0 && domain.s[from - 1] != '.')
        from--;
    is_hex =
        domain.len - from >= 2 && domain.s[from] == '0' && ascii_lower(domain.s[from + 1]) == 'x';
    for (size_t i = is_hex ? from + 2 : from; i < domain.len; i++) {
        if (!(is_hex ? ascii_hex_value(domain.s[i]) >= 0 : ascii_is_digit(domain.s[i])))
            return false;
    }
    return from < domain.len;
}

/* Returns the length of the number from 0 to 255 at s, or 0 if there is none. */
static size_t octet_len(const char *s, size_t room)
{
    unsigned value = 0;
    size_t len = 0;

    while (len < room && len < 3 && ascii_is_digit(s[len]))
        value = value * 10 + (unsigned)(s[len++] - '0');
    return value > 255 || (len > 1 && s[0] == '0') ? 0 : len;
}

bool ipv4_valid(struct text host)
{
    size_t at = 0;

    if (!text_present(host))
        return false;
    for (int i = 0; i < 4; i++) {
        size_t len;

        if (i > 0 && (at >= host.len || host.s[at++] != '.'))
            return false;
        len = octet_len(host.s + at, host.len - at);
        if (len == 0)
            return false;
        at += len;
    }
    return at == host.len;
}

/* Some systems' inet_pton() accepts more than the RFC's forms.  So it gets only texts of the RFC's
 * characters. */
bool ipv6_read(struct text host, unsigned char out[IPV6_SIZE])
{
    char copy[IPV6_TEXT_SIZE] = "";

    if (!text_present(host) || host.len >= IPV6_TEXT_SIZE)
        return false;
    memcpy(copy, host.s, host.len);
    return strspn(copy, "0123456789abcdefABCDEF:.") == host.len &&
           inet_pton(AF_INET6, copy, out) == 1;
}

/* Returns the length of the run of zero groups that starts at a group. */
static size_t zero_groups(const unsigned char *address, size_t group)
{
    size_t n = 0;

    while (group + n < IPV6_GROUPS && address[2 * (group + n)] == 0 &&
           address[2 * (group + n) + 1] == 0)
        n++;
    return n;
}

/* inet_ntop() of libc also writes a quad for addresses whose first 96 bits are zero. */
void ipv6_write(const unsigned char address[IPV6_SIZE], char out[IPV6_TEXT_SIZE])
{
    static const unsigned char mapped[12] = {[10] = 0xff, [11] = 0xff};
    size_t gap = 0;
    size_t gap_len = 1; /* one zero group is not shortened */
    char *at = out;

    if (memcmp(address, mapped, sizeof mapped) == 0) {
        snprintf(out, IPV6_TEXT_SIZE, "::ffff:%d.%d.%d.%d", address[12], address[13], address[14],
                 address[15]);
        return;
    }
    for (size_t group = 0; group < IPV6_GROUPS; group++) {
        if (zero_groups(address, group) > gap_len) {
            gap = group;
            gap_len = zero_groups(address, group);
        }
    }
    for (size_t group = 0; group < IPV6_GROUPS; group++) {
        if (group > 0 || (gap == 0 && gap_len > 1))
            *at++ = ':';
        if (group == gap && gap_len > 1)
            group += gap_len - 1;
        else
            at += snprintf(at, GROUP_SIZE, "%x", address[2 * group] << 8 | address[2 * group + 1]);
    }
    if (gap_len > 1 && gap + gap_len == IPV6_GROUPS)
        *at++ = ':';
    *at = '\0';
}
