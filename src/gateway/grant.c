/* SPDX-License-Identifier: MIT */
/* Unites the credentials of a key. */
#include "gateway/grant.h"

#include "model/acl.h"

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
        .account_id = found->account_id,
        .credential_ids = {.items = ids, .n = found->n, .given = true},
        .digest = found->digest.s ? found->digest : text_of(""),
    };
    return acl_unite(lists, found->n, arena, &grant->rules) && keep_for_sshd(grant, arena);
}

/* Measures what one owner's credentials take of what sshd is told.  The context is the ports. */
static bool measure_told(void *context, struct arena *arena, struct ssh_grant *grants, size_t n,
                         double *share)
{
    const struct ssh_domain_ports *ports = context;
    const struct gateway_credentials own = {.items = grants, .n = n};
    struct judge_grant grant;
    double kept;

    if (!grant_unite(&own, arena, &grant) || !ssh_options_measure(grant.rules, ports, share))
        return false;
    kept = ssh_options_share(grant.granted);
    if (kept > *share)
        *share = kept;
    return true;
}

static bool is_among(struct text_list list, struct text item)
{
    for (size_t i = 0; i < list.n; i++) {
        if (text_eq(list.items[i], item))
            return true;
    }
    return false;
}

static bool name_owners(const struct gateway_credentials *found, struct arena *arena,
                        struct text_list *owner_ids)
{
    *owner_ids = (struct text_list){.items = arena_array(arena, found->n, sizeof(struct text)),
                                    .given = true};
    for (size_t i = 0; owner_ids->items && i < found->n; i++) {
        if (!is_among(*owner_ids, found->items[i].owner_id))
            owner_ids->items[owner_ids->n++] = found->items[i].owner_id;
    }
    return owner_ids->items != NULL;
}

static bool write_for_sshd(const struct ssh_domain_ports *ports, struct arena *arena,
                           struct judge_grant *grant, const char **why)
{
    struct buf options = {0};
    bool ok;

    *why = GRANT_TOO_MUCH;
    if (!ssh_options_fit(grant->granted))
        return false;
    ok = ssh_options_write(&options, grant->rules, ports, why);
    if (ok) {
        grant->options.len = options.len;
        grant->options.s = arena_copy(arena, buf_text(&options).s, options.len);
        *why = ssh_options_no_memory;
        ok = grant->options.s != NULL;
    }
    buf_free(&options);
    return ok;
}

bool grant_make(struct gateway_credentials *found, const struct ssh_domain_ports *ports,
                struct ssh_left_out *left_out, struct arena *arena, struct judge_grant *grant,
                const char **why)
{
    struct ssh_domain_ports context = *ports;
    enum ssh_share_outcome outcome = SSH_SHARE_LEFT_OUT;

    *why = GRANT_OVER;
    if (found->is_over || found->n == 0)
        return false;
    while (outcome == SSH_SHARE_LEFT_OUT) {
        *why = ssh_options_no_memory;
        if (!grant_unite(found, arena, grant))
            return false;
        if (write_for_sshd(ports, arena, grant, why)) {
            *why = ssh_options_no_memory;
            return name_owners(found, arena, &grant->owner_ids);
        }
        if (*why == ssh_options_no_memory)
            return false;
        outcome = ssh_share_fit(found->items, &found->n, measure_told, &context, arena, left_out);
    }
    if (outcome == SSH_SHARE_NO_MEMORY)
        *why = ssh_options_no_memory;
    return false;
}
