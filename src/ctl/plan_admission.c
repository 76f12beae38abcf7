/* SPDX-License-Identifier: MIT */
/* Warnings of modules that let in whom they may not be meant to. */
#include "ctl/plan_kind.h"
#include "model/oauth_admission.h"

/* Modules that are named. */
#define NAMED_MAX 20

/* Appends what is to be known of a route whose module is written or deleted; nothing if all is
 * well. */
static void say_admission(const struct plan *plan, const struct plan_change *change,
                          struct buf *text)
{
    const struct document_oauth *oauth = &change->write.row.entry.of.oauth;
    const int provider = oauth->module.provider;
    struct oauth_admission admission;

    if (change->verb == DOCUMENT_DELETE) {
        if (!plan->ctl->conf.gate.refuses_without_module)
            buf_puts(text, "everybody passes a route without a module, unless [gate] "
                           "without_module is refuse");
        return;
    }
    oauth_admission_find(&oauth->module,
                         provider > 0 ? conf_oauth_application(&plan->ctl->conf, provider)
                                      : OAUTH_APPLICATION_UNKNOWN,
                         &admission);
    if (admission.whom >= OAUTH_ADMITS_ANYONE || oauth_admission_has_flaw(&admission))
        oauth_admission_say(text, &admission);
}

void plan_warn_admissions(struct plan *plan)
{
    size_t n = 0;

    for (size_t i = 0; i < plan->n_changes; i++) {
        const struct document_entry *entry = &plan->changes[i]->write.row.entry;
        struct buf text = {0};

        if (entry->kind == DOCUMENT_OAUTH)
            say_admission(plan, plan->changes[i], &text);
        if (text.len > 0 && n++ < NAMED_MAX)
            plan_warn(plan, "edge %.*s, route %.*s: %s", (int)entry->of.oauth.edge_id.len,
                      entry->of.oauth.edge_id.s, (int)entry->of.oauth.id.len, entry->of.oauth.id.s,
                      buf_text(&text).s);
        buf_free(&text);
    }
    if (n > NAMED_MAX)
        plan_warn(plan, "%zu modules more let in anyone or nobody", n - NAMED_MAX);
}
