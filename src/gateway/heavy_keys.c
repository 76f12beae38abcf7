/* SPDX-License-Identifier: MIT */
/* A small table of keys. */
#include "gateway/heavy_keys.h"

#include <stdio.h>
#include <string.h>

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

/* ---- room ---- */

/* What the keys of one owner take. */
struct owner_part {
    const char *owner_id;
    size_t bytes;
};

#define N_PARTS (2 * HEAVY_KEYS_MAX)

static struct owner_part *find_part(struct owner_part parts[N_PARTS], const char *owner_id)
{
    size_t at = text_hash(text_of(owner_id)) % N_PARTS;

    while (parts[at].owner_id && strcmp(parts[at].owner_id, owner_id) != 0)
        at = (at + 1) % N_PARTS;
    parts[at].owner_id = owner_id;
    return &parts[at];
}

/* Places count as much as bytes.  What several hold counts for each by a part. */
static size_t room_of(const struct heavy_key *known)
{
    size_t bytes = HEAVY_KEYS_BYTES_MAX / HEAVY_KEYS_MAX;

    if (known->rules)
        bytes += known->ids->bytes + known->rules->bytes / known->rules->n_holders;
    return bytes;
}

/* Returns whether a key may make room: for a place if there is no newcomer, or for its bytes. */
static bool may_go(const struct heavy_key *known, const struct heavy_key *newcomer)
{
    return known->used > 0 && (!newcomer || (known->rules && known != newcomer));
}

/* Whoever has many keys pushes out their own, and not those of others.  Returns NULL if no key may
 * go. */
static const char *find_greatest_owner(const struct heavy_keys *keys,
                                       const struct heavy_key *newcomer)
{
    struct owner_part parts[N_PARTS] = {{NULL, 0}};
    const struct owner_part *most = NULL;

    for (size_t i = 0; i < HEAVY_KEYS_MAX; i++) {
        const struct heavy_key *known = &keys->items[i];
        struct owner_part *part;

        if (!may_go(known, newcomer))
            continue;
        part = find_part(parts, known->payer_id);
        part->bytes += room_of(known);
        if (!most || part->bytes > most->bytes)
            most = part;
    }
    return most ? most->owner_id : NULL;
}

/* Returns the key of that owner which was not used for the longest time. */
static struct heavy_key *find_longest_unused(struct heavy_keys *keys,
                                             const struct heavy_key *newcomer)
{
    const char *owner_id = find_greatest_owner(keys, newcomer);
    struct heavy_key *oldest = NULL;

    for (size_t i = 0; owner_id && i < HEAVY_KEYS_MAX; i++) {
        struct heavy_key *known = &keys->items[i];

        if (may_go(known, newcomer) && strcmp(known->payer_id, owner_id) == 0 &&
            (!oldest || known->used < oldest->used))
            oldest = known;
    }
    return oldest;
}

static struct heavy_key *find_key_place(struct heavy_keys *keys)
{
    for (size_t i = 0; i < HEAVY_KEYS_MAX; i++) {
        if (keys->items[i].used == 0)
            return &keys->items[i];
    }
    return find_longest_unused(keys, NULL);
}

static void make_bytes_room(struct heavy_keys *keys, const struct heavy_key *newcomer)
{
    struct heavy_key *known;

    while (keys->bytes > HEAVY_KEYS_BYTES_MAX &&
           (known = find_longest_unused(keys, newcomer)) != NULL)
        heavy_key_forget(keys, known);
}

/* ---- what is known ---- */

struct heavy_key *heavy_keys_renew(struct heavy_keys *keys, const struct gateway_key *key,
                                   struct text digest)
{
    struct heavy_key *known = heavy_keys_find(keys, key);

    known = known ? known : find_key_place(keys);
    heavy_key_forget(keys, known);
    snprintf(known->account_id, sizeof known->account_id, "%.*s", (int)key->account_id.len,
             key->account_id.s);
    snprintf(known->fingerprint, sizeof known->fingerprint, "%.*s", (int)key->fingerprint.len,
             key->fingerprint.s);
    snprintf(known->digest, sizeof known->digest, "%.*s", (int)digest.len, digest.s);
    known->used = ++keys->n_used;
    return known;
}

static struct shared *keep_texts(struct heavy_keys *keys, struct text text, struct text_list first,
                                 struct text_list second)
{
    struct shared *kept = shared_new(text, first, second);

    keys->bytes += kept ? kept->bytes : 0;
    return kept;
}

static struct shared *keep_rules(struct heavy_keys *keys, const struct judge_grant *grant)
{
    const struct text_list none = {.n = 0};
    const uint64_t hash = text_hash(grant->options);

    for (size_t i = 0; i < HEAVY_KEYS_MAX; i++) {
        struct shared *rules = keys->items[i].rules;

        if (rules && shared_is(rules, hash, grant->options, grant->granted, none)) {
            rules->n_holders++;
            return rules;
        }
    }
    return keep_texts(keys, grant->options, grant->granted, none);
}

bool heavy_key_grant(struct heavy_keys *keys, struct heavy_key *known,
                     const struct judge_grant *grant)
{
    known->ids = keep_texts(keys, grant->account_id, grant->credential_ids, grant->owner_ids);
    known->rules = keep_rules(keys, grant);
    if (!known->ids || !known->rules) {
        heavy_key_forget(keys, known);
        return false;
    }
    make_bytes_room(keys, known);
    return true;
}

struct judge_grant heavy_key_granted(const struct heavy_key *known)
{
    return (struct judge_grant){.account_id = known->ids->text,
                                .credential_ids = known->ids->lists[0],
                                .owner_ids = known->ids->lists[1],
                                .digest = text_of(known->digest),
                                .granted = known->rules->lists[0],
                                .options = known->rules->text};
}

void heavy_key_forget(struct heavy_keys *keys, struct heavy_key *known)
{
    if (known->ids)
        keys->bytes -= shared_drop(known->ids);
    if (known->rules)
        keys->bytes -= shared_drop(known->rules);
    *known = (struct heavy_key){.used = 0};
}

void heavy_keys_free(struct heavy_keys *keys)
{
    for (size_t i = 0; i < HEAVY_KEYS_MAX; i++)
        heavy_key_forget(keys, &keys->items[i]);
}
