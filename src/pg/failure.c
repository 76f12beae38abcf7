/* SPDX-License-Identifier: MIT */
/* What a failed result means. */
#include "pg/failure.h"

#include <stdio.h>
#include <string.h>

bool pg_state_has_class(const char *state, const char *class)
{
    return strncmp(state, class, 2) == 0;
}

bool pg_state_is_one_of(const char *state, const char *states)
{
    return strlen(state) == 5 && strstr(states, state) != NULL;
}

static bool is_passing(const char *state)
{
    static const char *const classes[] = {"08", "53", "54", "57", "58"};

    for (size_t i = 0; i < sizeof classes / sizeof classes[0]; i++) {
        if (pg_state_has_class(state, classes[i]))
            return true;
    }
    return !state[0] || pg_state_is_one_of(state, "40001 40P01");
}

static bool violates(const PGresult *result, const char *state, const char *unique)
{
    const char *name = PQresultErrorField(result, PG_DIAG_CONSTRAINT_NAME);

    return strcmp(state, "23505") == 0 && name && unique && strcmp(name, unique) == 0;
}

static enum error_code code_of(const PGresult *result, const char *state,
                               const struct pg_statement *statement)
{
    if (statement && violates(result, state, statement->unique))
        return statement->on_unique;
    /* Beside a standby's: a disk without room, and a queue of notifications without (54000, which a
     * listener that reads nothing fills). */
    if (pg_state_is_one_of(state, "25006 53100 54000"))
        return ERR_DATABASE_READ_ONLY;
    if (pg_state_is_one_of(state, "57014 55P03"))
        return ERR_DATABASE_TIMEOUT;
    if (pg_state_is_one_of(state, "42P01 42703 42883 3F000"))
        return ERR_SCHEMA_MISMATCH;
    return is_passing(state) ? ERR_DATABASE_UNAVAILABLE : ERR_INTERNAL;
}

/* Only the primary message goes to the log: DETAIL quotes rows.  A result that libpq made itself
 * has none; the first line of its text is that. */
void pg_describe(struct error *err, const PGresult *result, const struct pg_statement *statement)
{
    const char *state = PQresultErrorField(result, PG_DIAG_SQLSTATE);
    const char *message = PQresultErrorField(result, PG_DIAG_MESSAGE_PRIMARY);

    if (!message)
        message = PQresultErrorMessage(result);
    error_cause(err, code_of(result, state ? state : "", statement), "database: %s %.*s",
                state ? state : "-", (int)strcspn(message, "\n"), message);
    snprintf(err->sqlstate, sizeof err->sqlstate, "%s", state ? state : "");
}

bool pg_is_own_memory(const char *message)
{
    return !strstr(message, "FATAL") &&
           (strstr(message, "out of memory") || strstr(message, "Memory allocation failure"));
}
