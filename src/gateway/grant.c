/* SPDX-License-Identifier: MIT */
/* Unites the credentials of a key. */
#include "gateway/grant.h"

#include "model/acl.h"

/* Whoever writes with psql can store any text as a rule. */
static bool keep_valid(struct judge_grant *grant, struct arena *arena)
{
    struct text_list *granted = &grant->granted;
    const char *why;

    *granted = (struct text_list){.given = true};
    granted->items = arena_array(arena, grant->rules.n + 1, sizeof *granted->items);
    for (size_t i = 0; granted->items && i < grant->rules.n; i++) {
        if (acl_rule_valid(grant->rules.items[i], &why))
            granted->items[granted->n++] = grant->rules.items[i];
    }
    return granted->items != NULL;
}

bool grant_unite(const struct gateway_credentials *found, struct arena *arena,
                 struct judge_grant *grant)
{
    struct text_list *lists = arena_array(arena, found->n, sizeof *lists);
    struct text *ids = arena_array(arena, found->n, sizeof *ids);

    if (!lists || !ids)
        return false;
    for (size_t i = 0; i < found->n; i++) {
        lists[i] = found->items[i].acl;
        ids[i] = found->items[i].id;
    }
    grant->account_id = found->items[0].account_id;
    grant->digest = found->digest;
    grant->credential_ids = (struct text_list){.items = ids, .n = found->n, .given = true};
    return acl_unite(lists, found->n, arena, &grant->rules) && keep_valid(grant, arena);
}
