/* SPDX-License-Identifier: MIT */
/* A small table of keys. */
#include "gateway/heavy_keys.h"

#include <stdio.h>

static bool is_about(const struct heavy_key *known, const struct gateway_key *key)
{
    return known->used > 0 && text_eq(text_of(known->fingerprint), key->fingerprint) &&
           text_eq(text_of(known->account_id), key->account_id);
}

struct heavy_key *heavy_keys_find(struct heavy_keys *keys, const struct gateway_key *key)
{
    for (size_t i = 0; i < HEAVY_KEYS_MAX; i++) {
        if (is_about(&keys->items[i], key)) {
            keys->items[i].used = ++keys->n_used;
            return &keys->items[i];
        }
    }
    return NULL;
}

static struct heavy_key *find_longest_unused(struct heavy_keys *keys)
{
    struct heavy_key *oldest = &keys->items[0];

    for (size_t i = 1; i < HEAVY_KEYS_MAX; i++) {
        if (keys->items[i].used < oldest->used)
            oldest = &keys->items[i];
    }
    return oldest;
}

struct heavy_key *heavy_keys_renew(struct heavy_keys *keys, const struct gateway_key *key,
                                   struct text digest)
{
    struct heavy_key *known = heavy_keys_find(keys, key);

    known = known ? known : find_longest_unused(keys);
    heavy_key_forget(known);
    snprintf(known->account_id, sizeof known->account_id, "%.*s", (int)key->account_id.len,
             key->account_id.s);
    snprintf(known->fingerprint, sizeof known->fingerprint, "%.*s", (int)key->fingerprint.len,
             key->fingerprint.s);
    snprintf(known->digest, sizeof known->digest, "%.*s", (int)digest.len, digest.s);
    known->used = ++keys->n_used;
    return known;
}

static bool copy_into(struct arena *arena, struct text text, struct text *out)
{
    *out = (struct text){arena_copy(arena, text.s, text.len), text.len};
    return out->s != NULL;
}

static bool has_grant(const struct heavy_key *known)
{
    return known->grant.options.s != NULL;
}

/* Forgets the key whose grant was not used for the longest time, if there are as many as may be. */
static void make_grant_room(struct heavy_keys *keys, size_t most)
{
    struct heavy_key *oldest = NULL;
    size_t n = 0;

    for (size_t i = 0; i < HEAVY_KEYS_MAX; i++) {
        struct heavy_key *known = &keys->items[i];

        if (!has_grant(known))
            continue;
        n++;
        if (!oldest || known->used < oldest->used)
            oldest = known;
    }
    if (n >= most)
        heavy_key_forget(oldest);
}

bool heavy_key_grant(struct heavy_keys *keys, size_t most, struct heavy_key *known,
                     const struct judge_grant *grant)
{
    struct judge_grant *copy = &known->grant;
    bool ok;

    make_grant_room(keys, most);
    ok = copy_into(&known->arena, grant->account_id, &copy->account_id) &&
         copy_into(&known->arena, grant->digest, &copy->digest) &&
         copy_into(&known->arena, grant->options, &copy->options) &&
         session_copy_list(&known->arena, grant->credential_ids, &copy->credential_ids) &&
         session_copy_list(&known->arena, grant->owner_ids, &copy->owner_ids) &&
         session_copy_list(&known->arena, grant->granted, &copy->granted);

    if (!ok)
        heavy_key_forget(known);
    return ok;
}

void heavy_key_forget(struct heavy_key *known)
{
    arena_free(&known->arena);
    *known = (struct heavy_key){.used = 0};
}

void heavy_keys_free(struct heavy_keys *keys)
{
    for (size_t i = 0; i < HEAVY_KEYS_MAX; i++)
        heavy_key_forget(&keys->items[i]);
}
