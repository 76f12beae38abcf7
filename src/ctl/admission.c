/* SPDX-License-Identifier: MIT */
/* Warnings of modules that let in whom they may not be meant to. */
#include "ctl/admission.h"

#include "model/oauth_admission.h"

/* Modules that are named. */
#define NAMED_MAX 20

/* Appends what is to be known of a route whose module is written or, if it is NULL, deleted;
 * nothing if all is well. */
static void say_admission(const struct conf *conf, const struct oauth_module *module,
                          struct buf *text)
{
    struct oauth_admission admission;

    if (!module) {
        if (!conf->gate.refuses_without_module)
            buf_puts(text, "everybody passes a route without a module, unless [gate] "
                           "without_module is refuse");
        return;
    }
    oauth_admission_find(module,
                         module->provider > 0 ? conf_oauth_application(conf, module->provider)
                                              : OAUTH_APPLICATION_UNKNOWN,
                         &admission);
    if (admission.whom >= OAUTH_ADMITS_ANYONE || oauth_admission_has_flaw(&admission))
        oauth_admission_say(text, &admission);
}

void admission_warn(struct admission_warnings *warnings, const struct oauth_route *route,
                    const struct oauth_module *module)
{
    struct buf text = {0};

    say_admission(warnings->conf, module, &text);
    if (text.len > 0 && warnings->n++ < NAMED_MAX)
        buf_printf(warnings->out, "aditctl: warning: edge %.*s, route %.*s: %s\n",
                   (int)route->edge_id.len, route->edge_id.s, (int)route->route_id.len,
                   route->route_id.s, buf_text(&text).s);
    buf_free(&text);
}

void admission_warn_rest(const struct admission_warnings *warnings)
{
    if (warnings->n > NAMED_MAX)
        buf_printf(warnings->out, "aditctl: warning: %zu modules more let in anyone or nobody\n",
                   warnings->n - NAMED_MAX);
}
