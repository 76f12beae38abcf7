/* SPDX-License-Identifier: MIT */
/* What the changes of a plan open. */
#include "ctl/admission.h"
#include "ctl/document/plan_change.h"

static void warn_of_change(struct admission_warnings *warnings, const struct plan_change *change)
{
    const struct document_entry *entry = &change->write.row.entry;
    const struct document_module *module = &entry->of.module;
    bool is_gone = change->verb == DOCUMENT_DELETE;

    if (entry->kind == DOCUMENT_OAUTH_MODULE)
        admission_warn(warnings, &module->place, is_gone ? NULL : &module->value.oauth_module);
    else if (entry->kind == DOCUMENT_MUTUAL_TLS_MODULE)
        admission_warn_edge(warnings, module->place.edge_id,
                            is_gone ? NULL : &module->value.mutual_tls_module);
    else if (entry->kind == DOCUMENT_CREDENTIAL && change->loses_rules)
        admission_warn_rules(warnings, entry->of.credential.input.id);
}

void plan_warn_admissions(struct plan *plan)
{
    struct admission_warnings warnings = {.conf = &plan->ctl->conf, .out = &plan->warnings};

    for (size_t i = 0; i < plan->n_changes; i++)
        warn_of_change(&warnings, plan->changes[i]);
    admission_warn_rest(&warnings);
}
