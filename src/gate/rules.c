/* SPDX-License-Identifier: MIT */
/* The lists of an OAuth module, which may hold anything: psql checks less than the API. */
#include "gate/rules.h"

#include <string.h>

#include "base/ascii.h"
#include "crypt/crypt.h"
#include "gate/packed.h"
#include "model/oauth_admission.h"

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

static bool admits_address(const struct oauth_provider *lists, struct text address,
                           bool proves_domain)
{
    struct text domain = domain_of(address);

    return text_present(domain) && ((proves_domain && holds(&lists->email_domains, domain)) ||
                                    holds(&lists->email_addresses, address));
}

bool rules_admit(const struct oauth_provider *lists, const struct identity *identity)
{
    if (oauth_lists_are_empty(lists))
        return true;
    for (size_t i = 0; i < identity->emails.n; i++) {
        if (admits_address(lists, identity->emails.items[i], identity->known & IDENTITY_DOMAINS))
            return true;
    }
    return share_one(&lists->teams, &identity->teams) ||
           share_one(&lists->organizations, &identity->organizations);
}

static bool holds_all(const struct text_list *list, const struct text_list *wanted)
{
    for (size_t i = 0; i < wanted->n; i++) {
        if (!holds(list, wanted->items[i]))
            return false;
    }
    return true;
}

static bool holds_less(const struct identity *now, const struct identity *before)
{
    return (before->known & ~now->known & IDENTITY_DOMAINS) ||
           !holds_all(&now->emails, &before->emails) ||
           !holds_all(&now->organizations, &before->organizations) ||
           !holds_all(&now->teams, &before->teams);
}

bool rules_differ(const struct identity *now, const struct identity *before)
{
    return holds_less(now, before) || holds_less(before, now) ||
           (now->emails.n > 0 && !text_eq(now->emails.items[0], before->emails.items[0]));
}

/* ---- narrowing ---- */

static size_t bytes_of(const struct text_list *list)
{
    size_t size = 0;

    for (size_t i = 0; i < list->n; i++)
        size += list->items[i].len + 2;
    return size;
}

/* Returns false if memory or libcrypto fails. */
static bool digest_lists(const struct oauth_provider *lists,
                         unsigned char digest[IDENTITY_LISTS_LEN])
{
    unsigned char whole[CRYPT_SHA256_LEN];
    struct buf bytes = {0};
    bool ok;

    packed_put_list(&bytes, &lists->email_addresses);
    packed_put_list(&bytes, &lists->email_domains);
    packed_put_list(&bytes, &lists->teams);
    packed_put_list(&bytes, &lists->organizations);
    ok = !bytes.failed && crypt_sha256(bytes.data, bytes.len, whole);
    buf_free(&bytes);
    if (ok)
        memcpy(digest, whole, IDENTITY_LISTS_LEN);
    return ok;
}

static bool names_address(const struct oauth_provider *lists, struct text address)
{
    return admits_address(lists, address, true);
}

static bool names_team(const struct oauth_provider *lists, struct text team)
{
    return holds(&lists->teams, team);
}

static bool names_organization(const struct oauth_provider *lists, struct text organization)
{
    return holds(&lists->organizations, organization);
}

/* Keeps the first n_first entries, and those that the lists name. */
static void keep_named(const struct oauth_provider *lists, struct text_list *own, size_t n_first,
                       bool (*names)(const struct oauth_provider *, struct text))
{
    size_t room = RULES_NAMED_MAX;
    size_t n = 0;

    for (size_t i = 0; i < own->n; i++) {
        struct text entry = own->items[i];

        if (entry.len > room || (i >= n_first && !names(lists, entry)))
            continue;
        own->items[n++] = entry;
        if (i >= n_first)
            room -= entry.len;
    }
    own->n = n;
}

void rules_narrow(const struct oauth_provider *lists, struct identity *identity)
{
    if (bytes_of(&identity->emails) + bytes_of(&identity->organizations) +
            bytes_of(&identity->teams) <=
        RULES_WHOLE_MAX)
        return;
    keep_named(lists, &identity->emails, 1, names_address);
    keep_named(lists, &identity->organizations, 0, names_organization);
    keep_named(lists, &identity->teams, 0, names_team);
    identity->is_narrowed = true;
    /* Without a digest, it is narrowed to no lists that there are. */
    if (!digest_lists(lists, identity->narrowed_to))
        memset(identity->narrowed_to, 0, IDENTITY_LISTS_LEN);
}

bool rules_may_lack(const struct oauth_provider *lists, const struct identity *identity)
{
    unsigned char digest[IDENTITY_LISTS_LEN];

    if (!identity->is_narrowed || rules_admit(lists, identity))
        return false;
    return !digest_lists(lists, digest) ||
           memcmp(digest, identity->narrowed_to, IDENTITY_LISTS_LEN) != 0;
}
