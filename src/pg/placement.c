/* SPDX-License-Identifier: MIT */
/* The placement of a database that has all rows. */
#include "pg/placement.h"

#include "pg/session.h"

static struct pg_form form_as_it_is(const struct pg_statement *statement,
                                    const struct pg_params *params)
{
    return (struct pg_form){.sql = statement->sql, .n = params->n - params->has_place};
}

static bool never(const char *sqlstate, const char *other)
{
    (void)sqlstate, (void)other;
    return false;
}

const struct pg_placement pg_plain = {
    .setup_sql = pg_setup_sql,
    .form = form_as_it_is,
    .has_ended = never,
    .is_elsewhere = never,
    .names = never,
};
