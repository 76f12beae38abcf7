/* SPDX-License-Identifier: MIT */
/* Host names and addresses. */
#include "model/domain.h"

#include <arpa/inet.h>

#include "base/ascii.h"

#define LABEL_MAX 63

/* Bytes of the longest IPv6 address: six groups and a dotted quad. */
#define IPV6_TEXT_MAX 45

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
    char copy[IPV6_TEXT_MAX + 1] = "";

    if (!text_present(host) || host.len > IPV6_TEXT_MAX)
        return false;
    memcpy(copy, host.s, host.len);
    return strspn(copy, "0123456789abcdefABCDEF:.") == host.len &&
           inet_pton(AF_INET6, copy, out) == 1;
}

bool ipv6_valid(struct text host)
{
    unsigned char value[IPV6_SIZE];

    return ipv6_read(host, value);
}
