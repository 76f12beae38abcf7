/* SPDX-License-Identifier: MIT */
/* What the changes of modules mean for visitors. */
#include "ctl/admission.h"
#include "ctl/plan_kind.h"

void plan_warn_admissions(struct plan *plan)
{
    struct admission_warnings warnings = {.conf = &plan->ctl->conf, .out = &plan->warnings};

    for (size_t i = 0; i < plan->n_changes; i++) {
        const struct plan_change *change = plan->changes[i];
        const struct document_oauth *oauth = &change->write.row.entry.of.oauth;
        const struct oauth_route route = {.edge_id = oauth->edge_id, .route_id = oauth->id};

        if (change->write.row.entry.kind == DOCUMENT_OAUTH)
            admission_warn(&warnings, &route,
                           change->verb == DOCUMENT_DELETE ? NULL : &oauth->module);
    }
    admission_warn_rest(&warnings);
}
