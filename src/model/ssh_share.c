/* SPDX-License-Identifier: MIT */
/* Finds the owner who has most of a key. */
#include "model/ssh_share.h"

/* The owner who takes most, and how many owners there are. */
struct most {
    struct text owner_id;
    double share;
    size_t n_owners;
};

static double larger(double a, double b)
{
    return a > b ? a : b;
}

static bool is_first_of_owner(const struct ssh_grant *grants, size_t at)
{
    for (size_t i = 0; i < at; i++) {
        if (text_eq(grants[i].owner_id, grants[at].owner_id))
            return false;
    }
    return true;
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

/* Returns false if memory runs out. */
static bool find_most(const struct ssh_grant *grants, size_t n, ssh_share_measure *measure,
                      void *context, struct arena *arena, struct most *most)
{
    struct ssh_grant *own = arena_array(arena, n, sizeof *own);

    *most = (struct most){.share = -1};
    if (!own)
        return false;
    for (size_t i = 0; i < n; i++) {
        struct text owner_id = grants[i].owner_id;
        double share;

        if (!is_first_of_owner(grants, i))
            continue;
        if (!measure(context, arena, own, take_own(grants + i, n - i, owner_id, own), &share))
            return false;
        most->n_owners++;
        if (share > most->share) {
            most->share = share;
            most->owner_id = owner_id;
        }
    }
    return true;
}

static double share_of_size(size_t n, uint64_t n_rules, uint64_t n_bytes)
{
    return larger((double)n / SSH_GRANTS_MAX, larger((double)n_rules / SSH_GRANT_RULES_MAX,
                                                     (double)n_bytes / SSH_GRANT_BYTES_MAX));
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
    *share = share_of_size(n + has_beyond, n_rules, n_bytes);
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

enum ssh_share_outcome ssh_share_read(const struct ssh_grant *grants, size_t n,
                                      const struct ssh_beyond *beyond, struct arena *arena,
                                      struct ssh_left_out *left_out)
{
    struct ssh_beyond alone = without(*beyond, grants, n);
    struct most most;

    if (left_out->n == SSH_LEFT_OUT_MAX)
        return SSH_SHARE_NOBODY;
    if (!find_most(grants, n, measure_read, &alone, arena, &most))
        return SSH_SHARE_NO_MEMORY;
    /* None of the owner's may have been read. */
    if (share_of_size(1, alone.n_rules, alone.n_bytes) > most.share)
        most.owner_id = alone.owner_id;
    return add_left_out(left_out, most.owner_id, arena);
}

bool ssh_share_most(struct ssh_grant *grants, size_t n, struct arena *arena, struct text *owner_id)
{
    struct ssh_beyond none = {.n_rules = 0};
    struct most most;

    if (!find_most(grants, n, measure_read, &none, arena, &most))
        return false;
    *owner_id = most.owner_id;
    return true;
}

enum ssh_share_outcome ssh_share_fit(struct ssh_grant *grants, size_t *n,
                                     ssh_share_measure *measure, void *context, struct arena *arena,
                                     struct ssh_left_out *left_out)
{
    struct most most;
    size_t n_kept = 0;

    if (left_out->n == SSH_LEFT_OUT_MAX)
        return SSH_SHARE_NOBODY;
    if (!find_most(grants, *n, measure, context, arena, &most))
        return SSH_SHARE_NO_MEMORY;
    if (most.n_owners < 2)
        return SSH_SHARE_NOBODY;
    for (size_t i = 0; i < *n; i++) {
        if (!text_eq(grants[i].owner_id, most.owner_id))
            grants[n_kept++] = grants[i];
    }
    *n = n_kept;
    return add_left_out(left_out, most.owner_id, arena);
}
