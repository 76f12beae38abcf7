/* SPDX-License-Identifier: MIT */
/* aditctl migrate. */
#include "ctl/listing.h"
#include "ctl/option_values.h"
#include "store/migrations.h"
#include "store/schema.h"

/* How long to wait for locks that other sessions hold, such as pg_dump. */
#define PATIENCE_S (5 * 60)

static void print_waiting(void *context, const char *holder)
{
    (void)context;
    ctl_note("waiting for a lock on the tables, probably held by %s", holder);
}

/* What was applied: for JSON, a list of names. */
struct applying {
    const struct ctl *ctl;
    struct buf names;
};

static void print_applied(void *context, const char *name)
{
    struct applying *applying = context;

    if (!applying->ctl->options.json)
        printf("applied %s\n", name);
    buf_printf(&applying->names, "%s ", name);
}

static void print_json(const struct ctl *ctl, const struct buf *names, bool has_responder)
{
    char version[LISTING_NUMBER_SIZE];
    const struct listing_fact facts[] = {
        {"version", LISTING_NUMBER, listing_number(version, migrations_latest)},
        {"applied", LISTING_LIST, buf_text(names)},
        {"has_responder_role", LISTING_BOOL, text_of(has_responder ? "yes" : "no")},
    };

    listing_put_json(ctl, facts, 3);
}

int ctl_migrate(struct ctl *ctl)
{
    struct applying applying = {.ctl = ctl};
    struct schema_migrating how = {.spread = ctl_spread(),
                                   .waiting = print_waiting,
                                   .applied = print_applied,
                                   .context = &applying};
    int64_t patience_s = PATIENCE_S;
    struct error err;
    bool has_responder;

    if (ctl->options.wait && !ctl_read_duration("wait", ctl->options.wait, &patience_s))
        return CTL_USAGE;
    how.patience_ms = patience_s * 1000;
    if (!schema_migrate(ctl->pg, &how, &err) ||
        !schema_has_role(ctl->pg, SCHEMA_RESPONDER, &has_responder, &err)) {
        buf_free(&applying.names);
        return ctl_fail_error(&err);
    }
    if (ctl->options.json) {
        print_json(ctl, &applying.names, has_responder);
    } else {
        printf("the schema is at version %d\n", migrations_latest);
        if (!has_responder)
            puts("note: this database role may not create roles, so there is no adit_responder;\n"
                 "the responder must connect as the owner of the tables");
    }
    buf_free(&applying.names);
    return CTL_OK;
}
