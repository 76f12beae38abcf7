/* SPDX-License-Identifier: MIT */
/* What a failed result means. */
#include "pg/failure.h"

#include <stdio.h>
#include <string.h>

/* SQLSTATEs and classes of them (their first two characters).  The first that fits counts; all
 * others are a bug: ERR_INTERNAL, PG_VERDICT_FAILED. */
static const struct meaning {
    const char *state;
    enum error_code code;
    enum pg_verdict verdict;
} meanings[] = {
    /* The server ends the session with these; libpq may not have seen its end yet. */
    {"08", ERR_DATABASE_UNAVAILABLE, PG_VERDICT_LOST},
    {"57P01", ERR_DATABASE_UNAVAILABLE, PG_VERDICT_LOST},
    {"57P02", ERR_DATABASE_UNAVAILABLE, PG_VERDICT_LOST},
    {"57P03", ERR_DATABASE_UNAVAILABLE, PG_VERDICT_LOST},
    {"57P05", ERR_DATABASE_UNAVAILABLE, PG_VERDICT_LOST},
    /* Serialization failure, deadlock. */
    {"40001", ERR_DATABASE_UNAVAILABLE, PG_VERDICT_RETRY},
    {"40P01", ERR_DATABASE_UNAVAILABLE, PG_VERDICT_RETRY},
    /* Another transaction deleted the row that a new one refers to.  Run again, the statement sees
     * that.  A bug fails again. */
    {"23503", ERR_INTERNAL, PG_VERDICT_RETRY},
    /* The prepared statement is gone, or was planned for another schema. */
    {"26000", ERR_INTERNAL, PG_VERDICT_UNPREPARED},
    {"0A000", ERR_INTERNAL, PG_VERDICT_LEAVE},
    /* A standby; a full disk; a full queue of notifications, because a listener does not read. */
    {"25006", ERR_DATABASE_READ_ONLY, PG_VERDICT_LEAVE},
    {"53100", ERR_DATABASE_READ_ONLY, PG_VERDICT_FAILED},
    {"54000", ERR_DATABASE_READ_ONLY, PG_VERDICT_FAILED},
    /* statement_timeout, lock_timeout. */
    {"57014", ERR_DATABASE_TIMEOUT, PG_VERDICT_FAILED},
    {"55P03", ERR_DATABASE_TIMEOUT, PG_VERDICT_FAILED},
    /* A table, column, function, schema or right is missing, or a column has another type.  A
     * restored backup lacks rights until 'aditctl migrate' grants them. */
    {"42P01", ERR_SCHEMA_MISMATCH, PG_VERDICT_FAILED},
    {"42703", ERR_SCHEMA_MISMATCH, PG_VERDICT_FAILED},
    {"42883", ERR_SCHEMA_MISMATCH, PG_VERDICT_FAILED},
    {"42804", ERR_SCHEMA_MISMATCH, PG_VERDICT_FAILED},
    {"3F000", ERR_SCHEMA_MISMATCH, PG_VERDICT_FAILED},
    {"42501", ERR_SCHEMA_MISMATCH, PG_VERDICT_FAILED},
    /* Too few resources, a limit, an operator, the system. */
    {"53", ERR_DATABASE_UNAVAILABLE, PG_VERDICT_FAILED},
    {"54", ERR_DATABASE_UNAVAILABLE, PG_VERDICT_FAILED},
    {"57", ERR_DATABASE_UNAVAILABLE, PG_VERDICT_FAILED},
    {"58", ERR_DATABASE_UNAVAILABLE, PG_VERDICT_FAILED},
};

static const char *field_of(const PGresult *result, int field)
{
    const char *text = PQresultErrorField(result, field);

    return text ? text : "";
}

static struct meaning meaning_of(const PGresult *result, const struct pg_placement *placement)
{
    const char *state = field_of(result, PG_DIAG_SQLSTATE);

    if (!state[0] || placement->has_ended(state, field_of(result, PG_DIAG_MESSAGE_PRIMARY)))
        return (struct meaning){"", ERR_DATABASE_UNAVAILABLE, PG_VERDICT_LOST};
    for (size_t i = 0; i < sizeof meanings / sizeof meanings[0]; i++) {
        if (strncmp(state, meanings[i].state, strlen(meanings[i].state)) == 0)
            return meanings[i];
    }
    return (struct meaning){state, ERR_INTERNAL, PG_VERDICT_FAILED};
}

enum pg_verdict pg_judge(const PGresult *result, const struct pg_placement *placement)
{
    ExecStatusType status = PQresultStatus(result);

    if (status == PGRES_TUPLES_OK || status == PGRES_COMMAND_OK || status == PGRES_EMPTY_QUERY)
        return PG_VERDICT_DONE;
    if (placement->is_elsewhere(field_of(result, PG_DIAG_SQLSTATE),
                                field_of(result, PG_DIAG_SEVERITY_NONLOCALIZED)))
        return PG_VERDICT_ELSEWHERE;
    return meaning_of(result, placement).verdict;
}

/* Returns whether the result is an error of that SQLSTATE by that name, which may be NULL. */
static bool violates(const PGresult *result, const struct pg_placement *placement,
                     const char *sqlstate, const char *name)
{
    const char *state = PQresultErrorField(result, PG_DIAG_SQLSTATE);
    const char *found = PQresultErrorField(result, PG_DIAG_CONSTRAINT_NAME);

    if (!name || !state || strcmp(state, sqlstate) != 0)
        return false;
    return found ? strcmp(found, name) == 0
                 : placement->names(field_of(result, PG_DIAG_MESSAGE_PRIMARY), name);
}

/* Only the primary message goes to the log: DETAIL quotes rows.  A result of libpq's own has no
 * primary message; the first line of its text takes its place. */
void pg_describe(struct error *err, const PGresult *result, const struct pg_statement *statement,
                 const struct pg_placement *placement)
{
    const char *state = PQresultErrorField(result, PG_DIAG_SQLSTATE);
    const char *message = PQresultErrorField(result, PG_DIAG_MESSAGE_PRIMARY);
    enum error_code code = meaning_of(result, placement).code;

    if (!message)
        message = PQresultErrorMessage(result);
    if (statement && violates(result, placement, "23505", statement->unique))
        code = statement->on_unique;
    for (const struct pg_limit *limit = statement ? statement->limits : NULL; limit && limit->name;
         limit++) {
        if (violates(result, placement, "23514", limit->name))
            code = limit->code;
    }
    if (state && statement && statement->ad_hoc_ms && strcmp(state, "57014") == 0)
        code = statement->on_slow;
    error_cause(err, code, "database: %s %.*s", state ? state : "-", (int)strcspn(message, "\n"),
                message);
    snprintf(err->sqlstate, sizeof err->sqlstate, "%s", state ? state : "");
}

bool pg_is_own_memory(const char *message)
{
    return !strstr(message, "FATAL") &&
           (strstr(message, "out of memory") || strstr(message, "Memory allocation failure"));
}
