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

    if (!schema_migrate(ctl->pg, print_applied, &err))
        return ctl_fail_error(&err);
    printf("the schema is at version %d\n", migrations_latest);
    return CTL_OK;
}
