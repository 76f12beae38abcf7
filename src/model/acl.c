/* SPDX-License-Identifier: MIT */
/* Bind rules. */
#include "model/acl.h"

#include "base/ascii.h"
#include "base/number.h"
#include "model/domain.h"

#define BIND "bind:"
#define BIND_LEN 5

#define LABEL_PART_MAX 255
#define PORT_MAX 65535

/* The end of every reason. */
#define FORM                                                                                       \
    " A rule is '*', 'bind:<domain>', 'bind:*.<domain>', 'bind:<host>:<port>' or "                 \
    "'bind:<key>=<value>'"

/* The parts of a target.  No NUL follows the texts. */
struct target {
    enum acl_kind kind;
    bool any_below;     /* domain: "*." is in front of name */
    struct text name;   /* domain without "*.", host without brackets, key */
    struct text detail; /* port, value */
    bool is_ipv6;
    unsigned char ipv6[IPV6_SIZE];
};

static bool refuse_rule(const char **why, const char *sentence)
{
    *why = sentence;
    return false;
}

static bool is_text(struct text text, const char *wanted)
{
    return text_eq(text, text_of(wanted));
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
        return refuse_rule(why, "a domain may contain '*' only as a leading '*.'." FORM);
    return domain_valid(domain, &clause) ||
           refuse_rule(why,
                       "the target is not a domain. A domain is labels of 1 to 63 letters, digits "
                       "and inner hyphens, with dots between them and none at the end; a label "
                       "may begin with an underscore." FORM);
}

static bool read_domain(struct text text, struct target *target, const char **why)
{
    target->kind = ACL_DOMAIN;
    target->any_below = text.len >= 2 && text.s[0] == '*' && text.s[1] == '.';
    target->name = text_part(text, target->any_below ? 2 : 0, text.len);
    if (text.len > DOMAIN_MAX)
        return refuse_rule(why, "the domain is longer than 253 bytes, with its '*.'." FORM);
    return check_domain(target->name, why);
}

static bool check_port(struct text port, const char **why)
{
    uint64_t value;

    return (port.len > 0 && port.s[0] != '0' && number_read(port, 10, PORT_MAX, &value)) ||
           refuse_rule(why,
                       "the port must be a number from 1 to 65535, without sign, space or leading "
                       "zero." FORM);
}

static bool read_host(struct text host, struct target *target, const char **why)
{
    size_t len = host.len;

    target->name = host;
    target->is_ipv6 = len >= 2 && host.s[0] == '[' && host.s[len - 1] == ']';
    if (target->is_ipv6) {
        target->name = text_part(host, 1, len - 1);
        return ipv6_read(target->name, target->ipv6) ||
               refuse_rule(why, "the brackets must contain an IPv6 address without a zone." FORM);
    }
    if (len == 0)
        return refuse_rule(why, "the host before the port is missing." FORM);
    if (has_byte(host, ':'))
        return refuse_rule(why,
                           "a host may not contain ':', except an IPv6 address in brackets." FORM);
    if (domain_looks_like_ipv4(host))
        return ipv4_valid(host) ||
               refuse_rule(why,
                           "the host is digits and dots only, but is not an IPv4 address." FORM);
    if (has_byte(host, '*'))
        return refuse_rule(why, "the host of an address takes no wildcard." FORM);
    if (len > DOMAIN_MAX)
        return refuse_rule(why, "the host is longer than 253 bytes." FORM);
    return check_domain(host, why);
}

/* Starts at the colon before the port. */
static bool read_address(struct text text, size_t colon, struct target *target, const char **why)
{
    target->kind = ACL_ADDRESS;
    target->detail = text_part(text, colon + 1, text.len);
    return check_port(target->detail, why) && read_host(text_part(text, 0, colon), target, why);
}

static bool check_label_part(struct text text, const char **why)
{
    if (text.len == 0)
        return refuse_rule(why, "a label needs both a key and a value." FORM);
    if (text.len > LABEL_PART_MAX)
        return refuse_rule(why, "the key or the value of the label is longer than 255 bytes." FORM);
    if (is_text(text, "*"))
        return true;
    for (size_t i = 0; i < text.len; i++) {
        char c = text.s[i];

        if (c == '*')
            return refuse_rule(why, "a label may contain '*' only as the whole key or value." FORM);
        if (c == '=')
            return refuse_rule(why, "a label must contain exactly one '='." FORM);
        if (!ascii_is_visible(c) || c == ',')
            return refuse_rule(why,
                               "a label's key and value must be printable ASCII without space, "
                               "',' and '='." FORM);
    }
    return true;
}

/* Starts at the first '='. */
static bool read_label(struct text text, size_t equals, struct target *target, const char **why)
{
    target->kind = ACL_LABEL;
    target->name = text_part(text, 0, equals);
    target->detail = text_part(text, equals + 1, text.len);
    return check_label_part(target->name, why) && check_label_part(target->detail, why);
}

static bool read_target(struct text text, struct target *target, const char **why)
{
    const char *equals;

    *target = (struct target){0};
    if (!text_present(text))
        return refuse_rule(why, "the rule names no target." FORM);
    equals = memchr(text.s, '=', text.len);
    if (equals)
        return read_label(text, (size_t)(equals - text.s), target, why);
    for (size_t i = text.len; i-- > 0;) {
        /* A colon in brackets does not end the host: "[::1]" is an address without a port. */
        if (text.s[i] == ']' && i == text.len - 1)
            return refuse_rule(why, "the address in brackets needs a ':<port>'." FORM);
        if (text.s[i] == ':')
            return read_address(text, i, target, why);
    }
    return read_domain(text, target, why);
}

/* ---- rules ---- */

static bool is_bind_rule(struct text rule)
{
    return text_begins(rule, BIND);
}

static bool permits_everything(struct text rule)
{
    return is_text(rule, "*") || is_text(rule, BIND "*");
}

static bool stands_at(struct text text, size_t at, const char *wanted)
{
    return text_begins(text_part(text, at, text.len), wanted);
}

static bool parts_rules(char c)
{
    return ascii_is_space(c) || c == ',' || c == ';';
}

/* Returns whether a text that is not a rule lists several rules, or several targets after "bind:".
 */
static bool is_list(struct text rule)
{
    bool has_first = false;
    bool is_parted = false;

    for (size_t i = 0; i < rule.len; i++) {
        if (is_parted && stands_at(rule, i, BIND))
            return true;
        is_parted = has_first && parts_rules(rule.s[i]);
        has_first = has_first || !parts_rules(rule.s[i]);
    }
    return is_bind_rule(rule) && has_byte(rule, ',') && !has_byte(rule, '=');
}

static bool is_url(struct text rule)
{
    for (size_t i = BIND_LEN - 1; i < rule.len && is_bind_rule(rule); i++) {
        if (stands_at(rule, i, "://"))
            return true;
    }
    return false;
}

bool acl_rule_valid(struct text rule, const char **why)
{
    struct target target;

    if (permits_everything(rule))
        return true;
    if (!is_bind_rule(rule))
        refuse_rule(why, "the rule does not begin with 'bind:' in lowercase." FORM);
    else if (read_target(text_part(rule, BIND_LEN, rule.len), &target, why))
        return true;
    if (is_list(rule))
        return refuse_rule(why, "the string contains several rules. Make each rule a string of its "
                                "own: [\"bind:a.example\", \"bind:b.example\"]." FORM);
    if (is_url(rule))
        return refuse_rule(why,
                           "the target is a URL. Give its host, 'bind:a.example', or its host and "
                           "port, 'bind:a.example:443'." FORM);
    return false;
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
static bool domain_permits(const struct target *rule, const struct target *asked)
{
    if (!rule->any_below)
        return !asked->any_below && equal_ignoring_case(rule->name, asked->name);
    return is_below(asked->name, rule->name) ||
           (asked->any_below && equal_ignoring_case(rule->name, asked->name));
}

static bool address_permits(const struct target *rule, const struct target *asked)
{
    if (rule->is_ipv6 != asked->is_ipv6 || !text_eq(rule->detail, asked->detail))
        return false;
    if (rule->is_ipv6)
        return memcmp(rule->ipv6, asked->ipv6, sizeof rule->ipv6) == 0;
    return equal_ignoring_case(rule->name, asked->name);
}

static bool label_part_permits(struct text rule, struct text asked)
{
    return is_text(rule, "*") || text_eq(rule, asked);
}

static bool target_permits(const struct target *rule, const struct target *asked)
{
    if (rule->kind != asked->kind)
        return false;
    switch (rule->kind) {
    case ACL_DOMAIN:
        return domain_permits(rule, asked);
    case ACL_ADDRESS:
        return address_permits(rule, asked);
    case ACL_LABEL:
        return label_part_permits(rule->name, asked->name) &&
               label_part_permits(rule->detail, asked->detail);
    }
    return false;
}

/* A malformed rule permits nothing. */
static bool rule_permits(struct text rule, const struct target *asked)
{
    struct target target;
    const char *why;

    return is_bind_rule(rule) && read_target(text_part(rule, BIND_LEN, rule.len), &target, &why) &&
           target_permits(&target, asked);
}

bool acl_permits(struct text_list rules, struct text target)
{
    struct target asked;
    const char *why;
    bool well_formed = read_target(target, &asked, &why);

    for (size_t i = 0; i < rules.n; i++) {
        if (permits_everything(rules.items[i]))
            return true;
        if (well_formed && rule_permits(rules.items[i], &asked))
            return true;
    }
    return rules.n == 0;
}
