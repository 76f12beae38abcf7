/* SPDX-License-Identifier: MIT */
/* Changes of a plan, its warnings and its failures. */
#include "ctl/document/plan_change.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "ctl/terminal.h"

bool plan_out_of_memory(void)
{
    ctl_fail("out of memory");
    return false;
}

bool plan_fail(const struct error *err)
{
    ctl_fail_error(err);
    return false;
}

void plan_warn(struct plan *plan, const char *format, ...)
{
    char what[1024]; /* a warning has at most two ids */
    va_list args;

    va_start(args, format);
    vsnprintf(what, sizeof what, format, args);
    va_end(args);
    terminal_put_warning(&plan->warnings, text_of(what));
}

struct plan_change *plan_new_change(struct plan *plan, enum document_verb verb,
                                    const struct document_entry *entry, struct text account_id)
{
    struct plan_change *change = arena_alloc(&plan->arena, sizeof *change);

    if (!change) {
        plan_out_of_memory();
        return NULL;
    }
    change->verb = verb;
    change->write.row.account_id = account_id;
    change->write.row.entry = *entry;
    return change;
}

bool plan_add_change(struct plan *plan, struct plan_change *change)
{
    if (plan->n_changes == plan->cap_changes) {
        size_t cap = plan->cap_changes ? plan->cap_changes * 2 : 64;
        struct plan_change **more = reallocarray(plan->changes, cap, sizeof *more);

        if (!more)
            return plan_out_of_memory();
        plan->changes = more;
        plan->cap_changes = cap;
    }
    plan->changes[plan->n_changes++] = change;
    return true;
}

struct text plan_keep(struct plan *plan, struct text text, bool *ok)
{
    if (text.s)
        text.s = arena_copy(&plan->arena, text.s, text.len);
    *ok = *ok && (text.s || text.len == 0);
    return text;
}
