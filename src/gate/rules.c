/* SPDX-License-Identifier: MIT */
/* The lists of an OAuth module, which may hold anything: psql checks less than the API. */
#include "gate/rules.h"

#include "base/ascii.h"

static bool equal(struct text a, struct text b)
{
    if (a.len != b.len || a.len == 0)
        return false;
    for (size_t i = 0; i < a.len; i++) {
        if (ascii_lower(a.s[i]) != ascii_lower(b.s[i]))
            return false;
    }
    return true;
}

static bool holds(const struct text_list *list, struct text wanted)
{
    for (size_t i = 0; i < list->n; i++) {
        if (equal(list->items[i], wanted))
            return true;
    }
    return false;
}

static bool share_one(const struct text_list *list, const struct text_list *own)
{
    for (size_t i = 0; i < own->n; i++) {
        if (holds(list, own->items[i]))
            return true;
    }
    return false;
}

/* Returns the domain of an address, absent for what is not an address.  Programs disagree on which
 * '@' of several ends the local part. */
static struct text domain_of(struct text address)
{
    const char *at = address.len > 0 ? memchr(address.s, '@', address.len) : NULL;
    size_t local_len = at ? (size_t)(at - address.s) : 0;

    if (local_len == 0 || memchr(at + 1, '@', address.len - local_len - 1))
        return (struct text){.s = NULL};
    return text_part(address, local_len + 1, address.len);
}

static bool admits_address(const struct oauth_provider *lists, struct text address)
{
    struct text domain = domain_of(address);

    return text_present(domain) &&
           (holds(&lists->email_domains, domain) || holds(&lists->email_addresses, address));
}

bool rules_admit(const struct oauth_provider *lists, const struct identity *identity)
{
    if (lists->email_addresses.n == 0 && lists->email_domains.n == 0 && lists->teams.n == 0 &&
        lists->organizations.n == 0)
        return true;
    for (size_t i = 0; i < identity->emails.n; i++) {
        if (admits_address(lists, identity->emails.items[i]))
            return true;
    }
    return share_one(&lists->teams, &identity->teams) ||
           share_one(&lists->organizations, &identity->organizations);
}
