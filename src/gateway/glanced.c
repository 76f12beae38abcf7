/* SPDX-License-Identifier: MIT */
/* What was seen of keys that were asked about together. */
#include "gateway/glanced.h"

#include "gateway/asking.h"

static bool is_same_key(const struct gateway_key *a, const struct gateway_key *b)
{
    return text_eq(a->fingerprint, b->fingerprint) && text_eq(a->account_id, b->account_id);
}

/* Returns the number of keys if it is none of them. */
static size_t find_glanced(const struct glanced *glanced, const struct gateway_key *key)
{
    size_t at = 0;

    while (at < glanced->n && !is_same_key(&glanced->keys[at], key))
        at++;
    return at;
}

/* One that was late would have all others wait for it. */
static bool was_late(struct gateway *gateway, const struct gateway_key *key)
{
    const struct heavy_key *known = heavy_keys_find(&gateway->heavy_keys, key);

    return known && known->late_until_ms > 0;
}

void glanced_add(struct gateway *gateway, const struct gateway_key *key)
{
    struct glanced *glanced = &gateway->glanced;
    const char *account_id, *fingerprint;

    if (gateway->by_account || glanced->n == asking_glance_most(gateway) ||
        find_glanced(glanced, key) < glanced->n || was_late(gateway, key))
        return;
    account_id = arena_copy(&glanced->arena, key->account_id.s, key->account_id.len);
    fingerprint = arena_copy(&glanced->arena, key->fingerprint.s, key->fingerprint.len);
    if (account_id && fingerprint)
        glanced->keys[glanced->n++] =
            (struct gateway_key){.account_id = {account_id, key->account_id.len},
                                 .fingerprint = {fingerprint, key->fingerprint.len}};
}

void glanced_read(struct gateway *gateway)
{
    struct glanced *glanced = &gateway->glanced;
    const struct gateway_keys keys = {glanced->keys, glanced->n};
    struct gateway_glance *seen;
    const char *why;

    /* What was not read is asked for one by one. */
    if (keys.n > 0 && asking_about(gateway, &glanced->arena, keys, asking_glance, &seen, &why))
        glanced->seen = seen;
    glanced->n_polls = gateway->n_polls;
}

bool glanced_is_old(const struct gateway *gateway)
{
    return gateway->glanced.n_polls != gateway->n_polls;
}

const struct gateway_glance *glanced_find(const struct gateway *gateway,
                                          const struct gateway_key *key)
{
    const struct glanced *glanced = &gateway->glanced;
    const size_t at = find_glanced(glanced, key);

    if (!glanced->seen || at == glanced->n)
        return NULL;
    return glanced->seen[at].n == 0 || !glanced_is_old(gateway) ? &glanced->seen[at] : NULL;
}

void glanced_forget(struct gateway *gateway)
{
    struct glanced *glanced = &gateway->glanced;

    glanced->n = 0;
    glanced->seen = NULL;
    arena_reset(&glanced->arena);
}
