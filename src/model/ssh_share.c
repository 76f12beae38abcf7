/* SPDX-License-Identifier: MIT */
/* Finds the owner of a key who is left out, and the one who has most. */
#include "model/ssh_share.h"

/* What newcomers have together: as long as those who came before take the rest and no more, none of
 * them is left out for a newcomer; and a newcomer with an equal part of it is left out for nobody.
 */
#define NEWCOMERS_SHARE 0.25

struct owner_share {
    struct text owner_id;
    double share;
};

/* The owners of a key, in the order in which they came. */
struct owners {
    struct owner_share *items;
    size_t n;
};

static double larger(double a, double b)
{
    return a > b ? a : b;
}

static bool has_owner(const struct owners *owners, struct text owner_id)
{
    for (size_t i = 0; i < owners->n; i++) {
        if (text_eq(owners->items[i].owner_id, owner_id))
            return true;
    }
    return false;
}

static size_t take_own(const struct ssh_grant *grants, size_t n, struct text owner_id,
                       struct ssh_grant *own)
{
    size_t n_own = 0;

    for (size_t i = 0; i < n; i++) {
        if (text_eq(grants[i].owner_id, owner_id))
            own[n_own++] = grants[i];
    }
    return n_own;
}

/* Lists the owners of the grants, with room for one more.  Returns false if memory runs out. */
static bool measure_owners(const struct ssh_grant *grants, size_t n, ssh_share_measure *measure,
                           void *context, struct arena *arena, struct owners *owners)
{
    struct ssh_grant *own = arena_array(arena, n, sizeof *own);

    *owners = (struct owners){.items = arena_array(arena, n + 1, sizeof *owners->items)};
    if (!own || !owners->items)
        return false;
    for (size_t i = 0; i < n; i++) {
        struct text owner_id = grants[i].owner_id;
        double share;

        if (has_owner(owners, owner_id))
            continue;
        if (!measure(context, arena, own, take_own(grants + i, n - i, owner_id, own), &share))
            return false;
        owners->items[owners->n++] = (struct owner_share){owner_id, share};
    }
    return true;
}

/* There is one. */
static struct owner_share find_most(const struct owners *owners)
{
    struct owner_share most = owners->items[0];

    for (size_t i = 1; i < owners->n; i++) {
        if (owners->items[i].share > most.share)
            most = owners->items[i];
    }
    return most;
}

/* Returns the owner who is left out: who is too much alone, or else the last who came of those who
 * take more than a newcomer's part.  All together are too much, so there is one. */
static struct text find_left_out(const struct owners *owners)
{
    struct owner_share most = find_most(owners);
    double least = NEWCOMERS_SHARE / larger(1, (double)owners->n - 1);

    if (most.share > 1)
        return most.owner_id;
    for (size_t i = owners->n; i > 0; i--) {
        if (owners->items[i - 1].share > least)
            return owners->items[i - 1].owner_id;
    }
    return most.owner_id;
}

/* most_rules is their limit; 0: SSH_GRANT_RULES_MAX. */
static double share_of_size(size_t n, uint64_t n_rules, uint64_t n_bytes, uint64_t most_rules)
{
    double of_rules = (double)n_rules / (double)(most_rules > 0 ? most_rules : SSH_GRANT_RULES_MAX);

    return larger((double)n / SSH_GRANTS_MAX,
                  larger(of_rules, (double)n_bytes / SSH_GRANT_BYTES_MAX));
}

static uint64_t count_bytes(const struct ssh_grant *grant)
{
    uint64_t n = 0;

    for (size_t i = 0; i < grant->acl.n; i++)
        n += grant->acl.items[i].len;
    return n;
}

/* Makes the numbers those of the one beyond alone. */
static struct ssh_beyond without(struct ssh_beyond beyond, const struct ssh_grant *grants, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        beyond.n_rules -= grants[i].acl.n;
        beyond.n_bytes -= count_bytes(&grants[i]);
    }
    return beyond;
}

/* Measures what was read.  The context is the one beyond, which counts for its owner. */
static bool measure_read(void *context, struct arena *arena, struct ssh_grant *grants, size_t n,
                         double *share)
{
    const struct ssh_beyond *beyond = context;
    bool has_beyond = text_eq(grants[0].owner_id, beyond->owner_id);
    uint64_t n_rules = has_beyond ? beyond->n_rules : 0;
    uint64_t n_bytes = has_beyond ? beyond->n_bytes : 0;

    (void)arena;
    for (size_t i = 0; i < n; i++) {
        n_rules += grants[i].acl.n;
        n_bytes += count_bytes(&grants[i]);
    }
    *share = share_of_size(n + has_beyond, n_rules, n_bytes, beyond->most_rules);
    return true;
}

static enum ssh_share_outcome add_left_out(struct ssh_left_out *left_out, struct text owner_id,
                                           struct arena *arena)
{
    const char *copy = arena_copy(arena, owner_id.s, owner_id.len);

    if (!copy)
        return SSH_SHARE_NO_MEMORY;
    left_out->owner_ids[left_out->n++] = (struct text){copy, owner_id.len};
    return SSH_SHARE_LEFT_OUT;
}

/* Lists the owners of what was read and of the one beyond.  None of the latter's may have been
 * read: the oldest of each are read in the order of their age, so then this owner came last. */
static bool list_read(const struct ssh_grant *grants, size_t n, const struct ssh_beyond *beyond,
                      struct arena *arena, struct owners *owners)
{
    struct ssh_beyond alone = without(*beyond, grants, n);

    if (!measure_owners(grants, n, measure_read, &alone, arena, owners))
        return false;
    if (alone.owner_id.s && !has_owner(owners, alone.owner_id))
        owners->items[owners->n++] = (struct owner_share){
            alone.owner_id, share_of_size(1, alone.n_rules, alone.n_bytes, alone.most_rules)};
    return true;
}

enum ssh_share_outcome ssh_share_read(const struct ssh_grant *grants, size_t n,
                                      const struct ssh_beyond *beyond, struct arena *arena,
                                      struct ssh_left_out *left_out)
{
    struct owners owners;

    if (left_out->n == SSH_LEFT_OUT_MAX)
        return SSH_SHARE_NOBODY;
    if (!list_read(grants, n, beyond, arena, &owners))
        return SSH_SHARE_NO_MEMORY;
    return add_left_out(left_out, find_left_out(&owners), arena);
}

bool ssh_share_most(const struct ssh_grant *grants, size_t n, const struct ssh_beyond *beyond,
                    struct arena *arena, struct text *owner_id)
{
    struct owners owners;

    if (!list_read(grants, n, beyond, arena, &owners))
        return false;
    *owner_id = owners.n > 0 ? find_most(&owners).owner_id : (struct text){0};
    return true;
}

enum ssh_share_outcome ssh_share_fit(struct ssh_grant *grants, size_t *n,
                                     ssh_share_measure *measure, void *context, struct arena *arena,
                                     struct ssh_left_out *left_out)
{
    struct owners owners;
    struct text owner_id;
    size_t n_kept = 0;

    if (left_out->n == SSH_LEFT_OUT_MAX)
        return SSH_SHARE_NOBODY;
    if (!measure_owners(grants, *n, measure, context, arena, &owners))
        return SSH_SHARE_NO_MEMORY;
    if (owners.n < 2)
        return SSH_SHARE_NOBODY;
    owner_id = find_left_out(&owners);
    for (size_t i = 0; i < *n; i++) {
        if (!text_eq(grants[i].owner_id, owner_id))
            grants[n_kept++] = grants[i];
    }
    *n = n_kept;
    return add_left_out(left_out, owner_id, arena);
}
