/* SPDX-License-Identifier: MIT */
/* Sorted targets of rules. */
#include "model/acl_targets.h"

#include <stdlib.h>

static int by_target_and_text(const void *left, const void *right)
{
    const struct acl_target *a = left;
    const struct acl_target *b = right;
    int order = acl_target_order(a, b);

    return order ? order : acl_name_order(a->name, b->name);
}

bool acl_targets_read(struct text_list rules, struct acl_targets *out)
{
    *out = (struct acl_targets){.items = calloc(rules.n ? rules.n : 1, sizeof *out->items)};
    if (!out->items)
        return false;
    for (size_t i = 0; i < rules.n; i++) {
        struct acl_target *target = &out->items[out->n];
        const char *why;

        if (acl_rule_read(rules.items[i], target, &why) &&
            (target->kind == ACL_DOMAIN || target->kind == ACL_ADDRESS))
            out->n++;
    }
    qsort(out->items, out->n, sizeof *out->items, by_target_and_text);
    return true;
}

/* In their order, the wildcards below a wildcard follow it directly. */
void acl_targets_narrow(struct acl_targets *targets)
{
    size_t n = 0;

    for (size_t i = 0; i < targets->n; i++) {
        const struct acl_target *target = &targets->items[i];

        if (n > 0 && target->any_below && acl_target_permits(&targets->items[n - 1], target))
            continue;
        targets->items[n++] = *target;
    }
    targets->n = n;
}

/* Returns the last target that is not after the target, or NULL. */
static const struct acl_target *find_last(const struct acl_targets *targets,
                                          const struct acl_target *target)
{
    size_t from = 0;
    size_t to = targets->n;

    while (from < to) {
        size_t middle = from + (to - from) / 2;

        if (acl_target_order(&targets->items[middle], target) > 0)
            to = middle;
        else
            from = middle + 1;
    }
    return from > 0 ? &targets->items[from - 1] : NULL;
}

bool acl_targets_have(const struct acl_targets *targets, const struct acl_target *target)
{
    const struct acl_target *last = find_last(targets, target);

    return last && acl_target_order(last, target) == 0;
}

/* If a wildcard covers the name, the last wildcard before the name does: all between the two would
 * be below the first, and acl_targets_narrow() removed them. */
bool acl_targets_permit(const struct acl_targets *targets, const struct acl_target *asked)
{
    struct acl_target wildcard = *asked;
    const struct acl_target *last;

    if (acl_targets_have(targets, asked))
        return true;
    wildcard.any_below = true;
    last = asked->kind == ACL_DOMAIN ? find_last(targets, &wildcard) : NULL;
    return last && acl_target_permits(last, asked);
}

void acl_targets_free(struct acl_targets *targets)
{
    free(targets->items);
    *targets = (struct acl_targets){0};
}
