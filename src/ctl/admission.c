/* SPDX-License-Identifier: MIT */
/* Warnings of what lets in whom it may not be meant to. */
#include "ctl/admission.h"

#include "ctl/terminal.h"
#include "model/oauth_admission.h"

/* Warnings that are printed. */
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

/* Appends a line to the warnings, and frees it. */
static void add_warning(struct admission_warnings *warnings, struct buf *line)
{
    if (line->len > 0 && warnings->n++ < NAMED_MAX)
        terminal_put_warning(warnings->out, buf_text(line));
    buf_free(line);
}

void admission_warn(struct admission_warnings *warnings, const struct module_place *route,
                    const struct oauth_module *module)
{
    struct buf text = {0}, line = {0};

    say_admission(warnings->conf, module, &text);
    if (text.len > 0)
        buf_printf(&line, "edge %.*s, route %.*s: %s", (int)route->edge_id.len, route->edge_id.s,
                   (int)route->route_id.len, route->route_id.s, buf_text(&text).s);
    add_warning(warnings, &line);
    buf_free(&text);
}

void admission_warn_edge(struct admission_warnings *warnings, struct text edge_id,
                         const struct mutual_tls_module *module)
{
    const char *says = !module            ? "everybody passes an edge without a module"
                       : !module->enabled ? "everybody passes: the module is disabled"
                       : module->certificate_authority_ids.n == 0
                           ? "nobody passes: the module has no certificate authority"
                           : NULL;
    struct buf line = {0};

    if (says)
        buf_printf(&line, "TLS edge %.*s: %s", (int)edge_id.len, edge_id.s, says);
    add_warning(warnings, &line);
}

void admission_warn_rules(struct admission_warnings *warnings, struct text id)
{
    struct buf line = {0};

    buf_printf(&line, "credential %.*s loses its rules, and may bind everything", (int)id.len,
               id.s);
    add_warning(warnings, &line);
}

void admission_warn_rest(const struct admission_warnings *warnings)
{
    if (warnings->n > NAMED_MAX)
        buf_printf(warnings->out, "aditctl: warning: %zu more let in everybody or nobody\n",
                   warnings->n - NAMED_MAX);
}
