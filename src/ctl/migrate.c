/* SPDX-License-Identifier: MIT */
/* aditctl migrate. */
#include "ctl/ctl.h"
#include "store/migrations.h"
#include "store/schema.h"

static void print_applied(const char *name)
{
    printf("applied %s\n", name);
}

int ctl_migrate(struct ctl *ctl)
{
    struct error err;
    bool has_responder;

    if (!schema_migrate(ctl->pg, print_applied, &err) ||
        !schema_has_responder(ctl->pg, &has_responder, &err))
        return ctl_fail_error(&err);
    printf("the schema is at version %d\n", migrations_latest);
    if (!has_responder)
        puts("note: this role may not create roles, so there is no adit_responder with fewer "
             "rights: "
             "the\nresponder has to connect as the owner of the tables");
    return CTL_OK;
}
