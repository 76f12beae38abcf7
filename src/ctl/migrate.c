/* SPDX-License-Identifier: MIT */
/* aditctl migrate. */
#include "ctl/ctl.h"
#include "store/migrations.h"
#include "store/schema.h"

/* How long to wait for locks that other sessions hold, such as pg_dump. */
#define PATIENCE_S (5 * 60)

static void print_waiting(const char *holder)
{
    fprintf(stderr, "aditctl: waiting for a lock on the tables, probably held by %s\n", holder);
}

static void print_applied(const char *name)
{
    printf("applied %s\n", name);
}

int ctl_migrate(struct ctl *ctl)
{
    struct schema_migrating how = {.waiting = print_waiting, .applied = print_applied};
    int64_t patience_s = PATIENCE_S;
    struct error err;
    bool has_responder;

    if (ctl->options.wait && !ctl_read_duration("wait", ctl->options.wait, &patience_s))
        return CTL_USAGE;
    how.patience_ms = patience_s * 1000;
    if (!schema_migrate(ctl->pg, &how, &err) ||
        !schema_has_role(ctl->pg, SCHEMA_RESPONDER, &has_responder, &err))
        return ctl_fail_error(&err);
    printf("the schema is at version %d\n", migrations_latest);
    if (!has_responder)
        puts("note: this database role may not create roles, so there is no adit_responder;\n"
             "the responder must connect as the owner of the tables");
    return CTL_OK;
}
