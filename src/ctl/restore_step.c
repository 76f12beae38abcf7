/* SPDX-License-Identifier: MIT */
/* aditctl restore: what becomes of a row of the plan. */
#include "ctl/restore_step.h"

#include <stdio.h>
#include <string.h>

#include "model/ssh_credential.h"

static bool needs_secret(const struct restore *restore, int row)
{
    return pg_bool(restore->plan, row, RESTORE_HAS_CLIENT) &&
           !pg_bool(restore->plan, row, RESTORE_KEEPS_SECRET);
}

bool restore_step_sets_secret(const struct restore *restore, int row)
{
    return restore->secret.s && pg_bool(restore->plan, row, RESTORE_HAS_CLIENT);
}

static bool is_same(const struct restore *restore, int row)
{
    return pg_bool(restore->plan, row, RESTORE_IS_SAME) && !restore_step_sets_secret(restore, row);
}

/* Returns whether the credential would come to have no rule, though the service requires rules. */
static bool lacks_rules(const struct restore *restore, int row)
{
    const struct text_list acl = {.n = (size_t)pg_int(restore->plan, row, RESTORE_N_RULES)};
    bool has_none_now = !pg_is_null(restore->plan, row, RESTORE_N_RULES_NOW) &&
                        pg_int(restore->plan, row, RESTORE_N_RULES_NOW) == 0;
    struct error ignored;

    return restore->ctl->conf.require_acl && !pg_is_null(restore->plan, row, RESTORE_N_RULES) &&
           !has_none_now && !ssh_credential_check_rules(&acl, &ignored);
}

const char *restore_step_reason(const struct restore *restore, int row,
                                char room[RESTORE_STEP_REASON_SIZE])
{
    struct text kind = pg_text(restore->plan, row, RESTORE_KIND);
    struct text lacks = pg_text(restore->plan, row, RESTORE_LACKS);
    struct text owner = pg_text(restore->plan, row, RESTORE_DISABLED_OWNER);
    bool is_holder = text_eq(kind, text_of("principal")) || text_eq(kind, text_of("account"));

    /* First, since none of the other remedies helps. */
    if (lacks_rules(restore, row)) {
        snprintf(room, RESTORE_STEP_REASON_SIZE,
                 "it had no rule, and [service] require_acl is yes; to permit everything, %s *",
                 pg_is_null(restore->plan, row, RESTORE_CURRENT) ? "create another with the rule"
                                                                 : "give it the rule");
        return room;
    }
    if (pg_bool(restore->plan, row, RESTORE_BY_OTHERS))
        return "others changed it later; restore it by its name, with --event or --at";
    if (is_holder && pg_is_null(restore->plan, row, RESTORE_WANTED))
        return "it was created since; 'restore' deletes no account, User or Bot";
    if (lacks.s) {
        snprintf(room, RESTORE_STEP_REASON_SIZE, "its %s %s is gone; restore that first",
                 text_eq(lacks, pg_text(restore->plan, row, RESTORE_ACCOUNT_ID)) ? "account"
                                                                                 : "owner",
                 lacks.s);
        return room;
    }
    if (owner.s) {
        snprintf(room, RESTORE_STEP_REASON_SIZE,
                 "its owner %s is disabled; to restore it anyway, add --enable", owner.s);
        return room;
    }
    if (needs_secret(restore, row) && !restore->secret.s)
        return "its client secret is gone; restore it by its name, with --client-secret-file";
    if (pg_bool(restore->plan, row, RESTORE_STAYS_DISABLED) && is_same(restore, row))
        return "it is disabled and stays so; to enable it, add --enable";
    return NULL;
}

bool restore_step_is_settled(const struct restore *restore, int row)
{
    return is_same(restore, row) && !pg_bool(restore->plan, row, RESTORE_STAYS_DISABLED);
}

bool restore_step_is_due(const struct restore *restore, int row)
{
    char room[RESTORE_STEP_REASON_SIZE];

    return !restore_step_is_settled(restore, row) && !restore_step_reason(restore, row, room);
}

struct module_place restore_step_route(const struct restore *restore, int row)
{
    struct text resource = pg_text(restore->plan, row, RESTORE_RESOURCE);
    size_t edge_len = strcspn(resource.s, "/");

    return (struct module_place){.edge_id = text_part(resource, 0, edge_len),
                                 .route_id = text_part(resource, edge_len + 1, resource.len)};
}
