/* SPDX-License-Identifier: MIT */
/* What a bind rule names. */
#include "model/acl_target.h"

#include "base/ascii.h"
#include "base/number.h"

#define LABEL_PART_MAX 255
#define PORT_MAX 65535

/* ---- reading ---- */

static bool refuse_target(const char **why, const char *sentence)
{
    *why = sentence;
    return false;
}

static bool has_byte(struct text text, char byte)
{
    return text.len > 0 && memchr(text.s, byte, text.len) != NULL;
}

/* ---- reading a target ---- */

static bool check_domain(struct text domain, const char **why)
{
    const char *clause;

    if (has_byte(domain, '*'))
        return refuse_target(why, "a domain may contain '*' only as a leading '*.'");
    return domain_valid(domain, &clause) ||
           refuse_target(
               why, "the target is not a domain. A domain is labels of 1 to 63 letters, digits "
                    "and inner hyphens, with dots between them and none at the end; a label "
                    "may begin with an underscore");
}

static bool read_domain(struct text text, struct acl_target *target, const char **why)
{
    target->kind = ACL_DOMAIN;
    target->any_below = text.len >= 2 && text.s[0] == '*' && text.s[1] == '.';
    target->name = text_part(text, target->any_below ? 2 : 0, text.len);
    if (text.len > DOMAIN_MAX)
        return refuse_target(why, "the domain is longer than 253 bytes, with its '*.'");
    return check_domain(target->name, why);
}

static bool read_port(struct text port, struct acl_target *target, const char **why)
{
    uint64_t value;

    if (port.len > 0 && port.s[0] != '0' && number_read(port, 10, PORT_MAX, &value)) {
        target->port = (unsigned short)value;
        return true;
    }
    return refuse_target(
        why, "the port must be a number from 1 to 65535, without sign, space or leading "
             "zero");
}

static bool read_host(struct text host, struct acl_target *target, const char **why)
{
    size_t len = host.len;

    target->name = host;
    target->is_ipv6 = len >= 2 && host.s[0] == '[' && host.s[len - 1] == ']';
    if (target->is_ipv6) {
        target->name = text_part(host, 1, len - 1);
        return ipv6_read(target->name, target->ipv6) ||
               refuse_target(why, "the brackets must contain an IPv6 address without a zone");
    }
    if (len == 0)
        return refuse_target(why, "the host before the port is missing");
    if (has_byte(host, ':'))
        return refuse_target(why, "a host may not contain ':', except an IPv6 address in brackets");
    if (domain_looks_like_ipv4(host))
        return ipv4_valid(host) ||
               refuse_target(why, "the host is digits and dots only, but is not an IPv4 address");
    if (has_byte(host, '*'))
        return refuse_target(why, "the host of an address takes no wildcard");
    if (len > DOMAIN_MAX)
        return refuse_target(why, "the host is longer than 253 bytes");
    return check_domain(host, why);
}

/* Starts at the colon before the port. */
static bool read_address(struct text text, size_t colon, struct acl_target *target,
                         const char **why)
{
    target->kind = ACL_ADDRESS;
    return read_port(text_part(text, colon + 1, text.len), target, why) &&
           read_host(text_part(text, 0, colon), target, why);
}

static bool check_label_part(struct text text, const char **why)
{
    if (text.len == 0)
        return refuse_target(why, "a label needs both a key and a value");
    if (text.len > LABEL_PART_MAX)
        return refuse_target(why, "the key or the value of the label is longer than 255 bytes");
    if (text_eq(text, text_of("*")))
        return true;
    for (size_t i = 0; i < text.len; i++) {
        char c = text.s[i];

        if (c == '*')
            return refuse_target(why, "a label may contain '*' only as the whole key or value");
        if (c == '=')
            return refuse_target(why, "a label must contain exactly one '='");
        if (!ascii_is_visible(c) || c == ',')
            return refuse_target(why,
                                 "a label's key and value must be printable ASCII without space, "
                                 "',' and '='");
    }
    return true;
}

/* Starts at the first '='. */
static bool read_label(struct text text, size_t equals, struct acl_target *target, const char **why)
{
    target->kind = ACL_LABEL;
    target->name = text_part(text, 0, equals);
    target->value = text_part(text, equals + 1, text.len);
    return check_label_part(target->name, why) && check_label_part(target->value, why);
}

bool acl_target_read(struct text text, struct acl_target *target, const char **why)
{
    const char *equals;

    *target = (struct acl_target){0};
    if (!text_present(text))
        return refuse_target(why, "the rule names no target");
    equals = memchr(text.s, '=', text.len);
    if (equals)
        return read_label(text, (size_t)(equals - text.s), target, why);
    for (size_t i = text.len; i-- > 0;) {
        /* A colon in brackets does not end the host: "[::1]" is an address without a port. */
        if (text.s[i] == ']' && i == text.len - 1)
            return refuse_target(why, "the address in brackets needs a ':<port>'");
        if (text.s[i] == ':')
            return read_address(text, i, target, why);
    }
    return read_domain(text, target, why);
}

/* ---- judging ---- */

static bool equal_ignoring_case(struct text a, struct text b)
{
    if (a.len != b.len)
        return false;
    for (size_t i = 0; i < a.len; i++) {
        if (ascii_lower(a.s[i]) != ascii_lower(b.s[i]))
            return false;
    }
    return true;
}

/* Returns whether the name is one or more labels, a dot and the suffix.  Both are valid domains, so
 * the label before the dot is not empty. */
static bool is_below(struct text name, struct text suffix)
{
    size_t rest;

    if (name.len <= suffix.len)
        return false;
    rest = name.len - suffix.len;
    return name.s[rest - 1] == '.' && equal_ignoring_case(text_part(name, rest, name.len), suffix);
}

/* A requested wildcard needs a rule whose wildcard is at least as wide. */
static bool domain_permits(const struct acl_target *rule, const struct acl_target *asked)
{
    if (!rule->any_below)
        return !asked->any_below && equal_ignoring_case(rule->name, asked->name);
    return is_below(asked->name, rule->name) ||
           (asked->any_below && equal_ignoring_case(rule->name, asked->name));
}

static bool address_permits(const struct acl_target *rule, const struct acl_target *asked)
{
    if (rule->is_ipv6 != asked->is_ipv6 || rule->port != asked->port)
        return false;
    if (rule->is_ipv6)
        return memcmp(rule->ipv6, asked->ipv6, sizeof rule->ipv6) == 0;
    return equal_ignoring_case(rule->name, asked->name);
}

static bool label_part_permits(struct text rule, struct text asked)
{
    return text_eq(rule, text_of("*")) || text_eq(rule, asked);
}

bool acl_target_permits(const struct acl_target *rule, const struct acl_target *asked)
{
    if (rule->kind != asked->kind)
        return false;
    switch (rule->kind) {
    case ACL_EVERYTHING:
        return true;
    case ACL_DOMAIN:
        return domain_permits(rule, asked);
    case ACL_ADDRESS:
        return address_permits(rule, asked);
    case ACL_LABEL:
        return label_part_permits(rule->name, asked->name) &&
               label_part_permits(rule->value, asked->value);
    }
    return false;
}
