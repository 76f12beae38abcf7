/* SPDX-License-Identifier: MIT */
/* Sorted targets of rules.
 *
 * A key is the class of its target, the port of an address, and the value of an IPv6 address or the
 * name from its end to its start.  A dot is the lowest character of a name in a key.  So the names
 * below a domain follow it directly. */
#include "model/acl_targets.h"

#include <stdlib.h>

#include "base/ascii.h"

/* The classes, in their order. */
#define DOMAIN '1'
#define WILDCARD '2'
#define HOST '3'
#define IPV6 '4'

#define KEY_MAX (3 + DOMAIN_MAX)

/* ---- keys ---- */

static char class_of(const struct acl_target *target)
{
    if (target->kind == ACL_DOMAIN)
        return target->any_below ? WILDCARD : DOMAIN;
    return target->is_ipv6 ? IPV6 : HOST;
}

/* Writes the key of a target whose name is in lower case.  Returns its length. */
static size_t write_key(const struct acl_target *target, char key[KEY_MAX])
{
    size_t len = 0;

    key[len++] = class_of(target);
    key[len++] = (char)(target->port >> 8);
    key[len++] = (char)(target->port & 0xff);
    if (target->is_ipv6) {
        memcpy(key + len, target->ipv6, sizeof target->ipv6);
        return len + sizeof target->ipv6;
    }
    for (size_t i = target->name.len; i-- > 0;)
        key[len++] = (char)(target->name.s[i] == '.' ? 1 : target->name.s[i]);
    return len;
}

/* ---- reading ---- */

/* Copies the name in lower case, and the key.  Returns false if memory runs out. */
static bool complete_target(struct acl_sorted_target *item, struct arena *arena)
{
    struct text name = item->target.name;
    char *lower = arena_copy(arena, name.s, name.len);
    char key[KEY_MAX];

    if (!lower)
        return false;
    for (size_t i = 0; i < name.len; i++)
        lower[i] = ascii_lower(name.s[i]);
    item->target.name.s = lower;
    item->key.len = write_key(&item->target, key);
    item->key.s = arena_copy(arena, key, item->key.len);
    return item->key.s;
}

static int by_key_and_name(const void *left, const void *right)
{
    const struct acl_sorted_target *a = left;
    const struct acl_sorted_target *b = right;
    int order = text_cmp(a->key, b->key);

    return order ? order : text_cmp(a->target.name, b->target.name);
}

bool acl_targets_read(struct text_list rules, struct acl_targets *out)
{
    *out = (struct acl_targets){0};
    out->items = arena_array(&out->arena, rules.n, sizeof *out->items);
    if (!out->items)
        return false;
    for (size_t i = 0; i < rules.n; i++) {
        struct acl_sorted_target *item = &out->items[out->n];
        const char *why;

        if (!acl_rule_read(rules.items[i], &item->target, &why) ||
            item->target.kind == ACL_EVERYTHING || item->target.kind == ACL_LABEL)
            continue;
        if (!complete_target(item, &out->arena))
            return false;
        out->n++;
    }
    qsort(out->items, out->n, sizeof *out->items, by_key_and_name);
    return true;
}

void acl_targets_narrow(struct acl_targets *targets)
{
    size_t n = 0;

    for (size_t i = 0; i < targets->n; i++) {
        if (n == 0 || !acl_target_permits(&targets->items[n - 1].target, &targets->items[i].target))
            targets->items[n++] = targets->items[i];
    }
    targets->n = n;
}

/* ---- finding ---- */

/* Returns the last target whose key is not after the key, or NULL. */
static const struct acl_sorted_target *find_last(const struct acl_targets *targets, struct text key)
{
    size_t from = 0;
    size_t to = targets->n;

    while (from < to) {
        size_t middle = from + (to - from) / 2;

        if (text_cmp(targets->items[middle].key, key) > 0)
            to = middle;
        else
            from = middle + 1;
    }
    return from > 0 ? &targets->items[from - 1] : NULL;
}

static bool has_key(const struct acl_targets *targets, struct text key)
{
    const struct acl_sorted_target *last = find_last(targets, key);

    return last && text_eq(last->key, key);
}

bool acl_targets_have_domain(const struct acl_targets *targets, struct text domain)
{
    struct acl_target target = {.kind = ACL_DOMAIN, .name = domain};
    char key[KEY_MAX];
    size_t len = write_key(&target, key);

    return has_key(targets, (struct text){key, len});
}

/* If a wildcard covers the name, the last wildcard before the name does: all between the two would
 * be below the first, and acl_targets_narrow() removed those. */
bool acl_targets_permit(const struct acl_targets *targets, const struct acl_sorted_target *asked)
{
    const struct acl_sorted_target *last;
    char key[KEY_MAX];

    if (has_key(targets, asked->key))
        return true;
    if (asked->target.kind != ACL_DOMAIN)
        return false;
    memcpy(key, asked->key.s, asked->key.len);
    key[0] = WILDCARD;
    last = find_last(targets, (struct text){key, asked->key.len});
    return last && acl_target_permits(&last->target, &asked->target);
}

void acl_targets_free(struct acl_targets *targets)
{
    arena_free(&targets->arena);
    *targets = (struct acl_targets){0};
}
