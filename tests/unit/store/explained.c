/* SPDX-License-Identifier: MIT */
/* Reads the plans that auto_explain writes to the server's log. */
#include "store/explained.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "store/tried.h"

/* The server's log, of tests/unit/with_postgres, and how far it has been read. */
static char log_path[512];
static long log_offset;

/* The names of the tables of the schema and of their indexes, each in blanks. */
static char relations[8192];

static void find_log(void)
{
    const char *conninfo = getenv("ADIT_TEST_CONNINFO");
    const char *host = conninfo ? strstr(conninfo, "host=") : NULL;

    ck_assert_ptr_nonnull(host);
    host += strlen("host=");
    snprintf(log_path, sizeof log_path, "%.*s/log", (int)strcspn(host, " "), host);
}

static void find_relations(void)
{
    static const struct pg_statement find = {
        .name = "find_relations",
        .types = PG_TEXT,
        .sql = "SELECT ' ' || string_agg(c.relname, ' ') || ' ' FROM pg_catalog.pg_class AS c"
               " WHERE c.relnamespace = 'adit'::pg_catalog.regnamespace"
               " AND c.relkind IN ('r', 'p', 'i', 'I')",
    };
    struct pg_params params = {.n = 0};
    struct pg *pg = tried_connect();
    struct pg_result *result;

    ck_assert_msg(pg_run(pg, &find, &params, &result, &tried.err), "%s", tried.err.cause);
    ck_assert_uint_lt(pg_text(result, 0, 0).len, sizeof relations);
    snprintf(relations, sizeof relations, "%s", pg_text(result, 0, 0).s);
    ck_assert(strstr(relations, " ssh_credential ") && strstr(relations, " audit_event "));
    pg_result_free(result);
    pg_free(pg);
}

void explained_begin(void)
{
    database_run(tried.owner,
                 "DO $$DECLARE setting text; BEGIN FOREACH setting IN ARRAY"
                 " '{session_preload_libraries = auto_explain,"
                 " auto_explain.log_min_duration = 0, auto_explain.log_analyze = on,"
                 " auto_explain.log_timing = off, auto_explain.log_nested_statements = on,"
                 " auto_explain.log_format = text}'::text[] LOOP"
                 " EXECUTE format('ALTER DATABASE %I SET %s', current_database(), setting);"
                 " END LOOP; END$$");
    find_log();
    find_relations();
    explained_forget();
}

static FILE *open_log(void)
{
    FILE *log = fopen(log_path, "r");

    ck_assert_msg(log != NULL, "%s", log_path);
    return log;
}

void explained_forget(void)
{
    FILE *log = open_log();

    ck_assert_int_eq(fseek(log, 0, SEEK_END), 0);
    log_offset = ftell(log);
    fclose(log);
}

/* Returns the number after a word of a line of the plan; 0: the line has no such word. */
static double number_after(const char *line, const char *word)
{
    const char *at = strstr(line, word);

    return at ? strtod(at + strlen(word), NULL) : 0;
}

/* Copies the relation that a node of a plan reads or changes; "": none of the schema's. */
static void find_relation(const char *line, char name[64])
{
    const char *at = strstr(line, " on ");
    char blanks[68];

    name[0] = '\0';
    if (!at)
        return;
    at += strlen(" on ");
    snprintf(name, 64, "%.*s", (int)strcspn(at, " \n"), at);
    snprintf(blanks, sizeof blanks, " %s ", name);
    if (!strstr(relations, blanks))
        name[0] = '\0';
}

static bool has_prefix(const char *name, const char *prefix)
{
    return strncmp(name, prefix, strlen(prefix)) == 0;
}

struct reading {
    struct explained *out;
    char relation[64]; /* of the latest node */
    double n_principals;
};

static void count(struct reading *reading, const char *line, double n)
{
    if (n == 0 || !reading->relation[0])
        return;
    /* api_key and its indexes, not api_key_use. */
    if (has_prefix(reading->relation, "api_key") && !has_prefix(reading->relation, "api_key_use"))
        return;
    if (has_prefix(reading->relation, "principal")) {
        reading->n_principals += n;
        if (reading->n_principals > reading->out->n_principals)
            reading->out->n_principals = reading->n_principals;
        return;
    }
    if (reading->out->n_rows == 0)
        snprintf(reading->out->where, sizeof reading->out->where, "%s: %.180s", reading->relation,
                 line);
    reading->out->n_rows += n;
}

static void read_line(struct reading *reading, const char *line)
{
    if (strstr(line, "Query Text:")) {
        reading->out->n_plans++;
        reading->n_principals = 0;
    } else if (strstr(line, "(cost=")) {
        find_relation(line, reading->relation);
        count(reading, line, number_after(line, "(actual rows="));
    } else {
        count(reading, line,
              number_after(line, "Rows Removed by Filter: ") +
                  number_after(line, "Rows Removed by Index Recheck: "));
    }
}

void explained_take(struct explained *out)
{
    struct reading reading = {.out = out};
    FILE *log = open_log();
    char line[4096];

    *out = (struct explained){0};
    ck_assert_int_eq(fseek(log, log_offset, SEEK_SET), 0);
    while (fgets(line, sizeof line, log))
        read_line(&reading, line);
    ck_assert(!ferror(log));
    log_offset = ftell(log);
    fclose(log);
}

/* ---- statements that a session has prepared ---- */

struct pg_result *explained_find(struct pg *pg, const char *name)
{
    static const struct pg_statement find = {
        .name = "find_prepared",
        .types = PG_TEXT,
        .sql = "SELECT s.name FROM pg_catalog.pg_prepared_statements AS s"
               " WHERE s.name ~ ('^' || $1::text || '_[0-9a-f]{16}$')",
    };
    struct pg_params params = {.n = 0};
    struct pg_result *result;

    pg_add_text(&params, text_of(name));
    ck_assert_msg(pg_run(pg, &find, &params, &result, &tried.err), "%s", tried.err.cause);
    ck_assert_msg(pg_rows(result) == 1, "%s was not prepared", name);
    return result;
}

long explained_pages(struct pg *pg, const char *name, const char *arguments)
{
    struct pg_result *prepared = explained_find(pg, name);
    /* The driver tells statements apart by their addresses. */
    struct pg_statement *explain = arena_array(&tried.arena, 1, sizeof *explain);
    struct pg_params params = {.n = 0};
    struct pg_result *plan;
    double n = 0;
    char sql[1024];

    snprintf(sql, sizeof sql,
             "EXPLAIN (ANALYZE, BUFFERS, COSTS OFF, TIMING OFF, SUMMARY OFF) EXECUTE %s (%s)",
             pg_text(prepared, 0, 0).s, arguments);
    ck_assert_ptr_nonnull(explain);
    *explain = (struct pg_statement){.name = "explain", .types = PG_TEXT, .sql = sql};
    ck_assert_msg(pg_run(pg, explain, &params, &plan, &tried.err), "%s", tried.err.cause);
    /* The first node has the pages of all. */
    for (int row = 0; row < pg_rows(plan) && n == 0; row++)
        n = number_after(pg_text(plan, row, 0).s, "Buffers: shared hit=") +
            number_after(pg_text(plan, row, 0).s, " read=");
    ck_assert_msg(n > 0, "%s has read nothing", name);
    pg_result_free(plan);
    pg_result_free(prepared);
    return (long)n;
}
