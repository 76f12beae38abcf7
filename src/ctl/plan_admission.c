/* SPDX-License-Identifier: MIT */
/* Warnings of modules that let in whom they may not be meant to. */
#include "ctl/plan_kind.h"
#include "model/oauth_admission.h"

/* Modules that are named. */
#define NAMED_MAX 20

static bool is_written(const struct plan_change *change)
{
    return change->write.row.entry.kind == DOCUMENT_OAUTH && change->verb != DOCUMENT_DELETE;
}

/* Returns whether the module that is written needs somebody's attention. */
static bool find_admission(const struct plan *plan, const struct document_oauth *oauth,
                           struct oauth_admission *admission)
{
    const int provider = oauth->module.provider;

    oauth_admission_find(&oauth->module,
                         provider > 0 ? conf_oauth_application(&plan->ctl->conf, provider)
                                      : OAUTH_APPLICATION_UNKNOWN,
                         admission);
    return admission->whom == OAUTH_ADMITS_ANYONE || oauth_admission_has_flaw(admission);
}

void plan_warn_admissions(const struct plan *plan)
{
    size_t n = 0;

    for (size_t i = 0; i < plan->n_changes; i++) {
        const struct document_oauth *oauth = &plan->changes[i]->write.row.entry.of.oauth;
        struct oauth_admission admission;
        struct buf text = {0};

        if (!is_written(plan->changes[i]) || !find_admission(plan, oauth, &admission) ||
            n++ >= NAMED_MAX)
            continue;
        oauth_admission_say(&text, &admission);
        fprintf(stderr, "aditctl: warning: edge %.*s, route %.*s: %s\n", (int)oauth->edge_id.len,
                oauth->edge_id.s, (int)oauth->id.len, oauth->id.s, buf_text(&text).s);
        buf_free(&text);
    }
    if (n > NAMED_MAX)
        fprintf(stderr, "aditctl: warning: %zu modules more let in anyone or nobody\n",
                n - NAMED_MAX);
}
