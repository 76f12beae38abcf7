/* SPDX-License-Identifier: MIT */
/* Unites the credentials of a key. */
#include "gateway/grant.h"

#include "model/acl.h"
#include "model/ssh_options.h"

/* No sshd knows labels, and whoever writes with psql can store any text as a rule. */
static bool is_for_sshd(struct text rule)
{
    struct acl_target target;
    const char *why;

    return acl_rule_read(rule, &target, &why) && target.kind != ACL_LABEL;
}

static bool keep_for_sshd(struct judge_grant *grant, struct arena *arena)
{
    struct text_list *granted = &grant->granted;

    *granted = (struct text_list){.given = true};
    granted->items = arena_array(arena, grant->rules.n + 1, sizeof *granted->items);
    for (size_t i = 0; granted->items && i < grant->rules.n; i++) {
        if (is_for_sshd(grant->rules.items[i]))
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
    *grant = (struct judge_grant){
        .account_id = found->items[0].account_id,
        .credential_ids = {.items = ids, .n = found->n, .given = true},
        .digest = found->digest,
    };
    return acl_unite(lists, found->n, arena, &grant->rules) && keep_for_sshd(grant, arena);
}

bool grant_fits(const struct judge_grant *grant)
{
    return ssh_options_fit(grant->granted);
}
