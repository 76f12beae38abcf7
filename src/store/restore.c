/* SPDX-License-Identifier: MIT */
/* Undoing changes with what the record of changes holds. */
#include "store/restore.h"

#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "store/change_sql.h"
#include "model/resource_table.h"
#include "store/key_limits.h"
#include "store/resource_sql.h"
#include "store/sql.h"

/* A plan that was made while the table was empty would read all of it, for each row that comes
 * back.
 */
#define BEGIN_SQL                                                                                  \
    "BEGIN; SET LOCAL statement_timeout = '60s'; SET LOCAL lock_timeout = '10s';"                  \
    " SET LOCAL TimeZone = 'UTC'; SET LOCAL enable_seqscan = off"

/* For plan_statement, which reads all of a table at once, after history_begin(). */
#define PLAN_SETTINGS                                                                              \
    "SET LOCAL enable_nestloop = off; SET LOCAL enable_seqscan = on;"                              \
    " SET LOCAL enable_bitmapscan = on"
#define SETTINGS_TIMEOUT_MS 4000

/* The row that an event recorded, with the columns of today's table: those that it lacks are as
 * they are now, or NULL, and those that the table has no more are gone. */
#define ROW_OF(table)                                                                              \
    "to_jsonb(jsonb_populate_record(jsonb_populate_record(NULL::adit." table ", now.present), "    \
    "c.before))"

/* Whether an event was made by $6. */
#define IS_BY(event) CHANGE_IS_BY(event, "$6::text")

/* Without what differs in rows that are the same to a caller. */
#define UNSEEN "'{" MEMBER_UNSEEN ",incarnation,is_timely}'::text[]"
#define SEEN(row) "(" row ") - " UNSEEN

/* How many rules a credential has; NULL: the row is none. */
#define N_RULES(row)                                                                               \
    "CASE WHEN w.kind = 'ssh_credential'"                                                          \
    " THEN jsonb_array_length(nullif(" row " -> 'acl', 'null'::jsonb)) END"

/* 1 if the row is an enabled admin, else 0. */
#define IS_ADMIN(row)                                                                              \
    "coalesce((" row " ->> 'is_admin')::boolean AND " row " ->> 'disabled_at' IS NULL, "           \
    "false)::int"

/* clang-format off */

/* For a credential: an old event does not wake up what is superseded by now. */
#define KEEP_SUPERSEDED                                                                            \
    "CASE WHEN now.present ->> 'standing' = 'superseded' AND c.before ->> 'standing' = 'own'"      \
    " THEN '{\"standing\": \"superseded\"}' ELSE '{}' END::jsonb"

/* For each kind of module: its name in a list, the row that comes back, the row that there is.  A
 * secret cannot come back. */
#define OR_MODULE(with, NAME, table, ...) ", '" #table "'"
#define NAME_MODULE(with, NAME, table, ...) "," #table
#define SECRET_PLAIN
#define SECRET_PROVIDER " - 'client_secret_sealed'"
#define WHEN_WANTED(with, NAME, table, place, form, ...)                                           \
    " WHEN '" #table "' THEN " ROW_OF(#table) SECRET_##form
#define WHEN_PRESENT(with, NAME, table, place, form, ...)                                          \
    " WHEN '" #table "' THEN"                                                                      \
      " (SELECT to_jsonb(t)" SECRET_##form " FROM adit." #table " AS t"                            \
        " WHERE t.account_id = c.account_id" PLACE_IS_RESOURCE_##place("t", "c.resource") ")"

/* The order's events, of anybody and any time: those of $1 kind, $2 account_id, $3 resource. */
#define IN_ORDER                                                                                   \
    "k.kind IN ('account', 'principal', 'ssh_credential'" MODULES(OR_MODULE, _) ")"                \
    " AND e.event <> 'oauth_module_rekeyed'"                                                       \
    " AND ($1::text IS NULL OR k.kind = $1::text)"                                                 \
    " AND ($2::text IS NULL OR e.account_id = $2::text COLLATE \"C\")"                             \
    " AND ($3::text IS NULL OR e.resource = $3::text COLLATE \"C\")"

/* $1 kind, $2 account_id, $3 resource or NULL, $4 event, $5 after, $6 by or NULL, $7 enables,
 * $8 names of the providers.
 * API keys are left out: a revoked key stays revoked.  Sealing under another key undoes nothing.
 * A User or Bot that is disabled, or was when it was deleted, stays so unless $7: otherwise the keys
 * of somebody who left would work again.  For the same reason it gets no credential.
 * Right after a large change there are no statistics, and a nested loop over the rows of the plan is
 * quadratic.  So all that joins these rows has an "=" to hash, and PLAN_SETTINGS forbids such loops. */
static const struct pg_statement plan_statement = {
    .name = "restore_plan",
    .types = PG_TEXT PG_TEXT PG_TEXT PG_BIGINT PG_TEXT PG_TEXT PG_TEXT PG_TEXT PG_TEXT
             PG_BOOL PG_BOOL PG_BOOL PG_BOOL PG_BOOL PG_BOOL PG_SMALLINT PG_INTEGER PG_INTEGER
             PG_BIGINT PG_INTEGER,
    .sql =
        "WITH cut AS MATERIALIZED ("
            "SELECT DISTINCT ON (e.account_id, k.kind, e.resource)"
              " e.id, k.kind, e.account_id, e.resource, e.before"
            " FROM adit.audit_event AS e"
            " CROSS JOIN LATERAL (SELECT " CHANGE_KIND("e.event") ") AS k (kind)"
            " WHERE " IN_ORDER
              " AND e.id >= $4::bigint"
              " AND e.at > '1970-01-01Z'::timestamptz + $5::bigint * interval '1 us'"
              " AND ($6::text IS NULL OR " IS_BY("e") ")"
            " ORDER BY e.account_id, k.kind, e.resource, e.id"
        "), events AS MATERIALIZED ("
            "SELECT e.id, k.kind, e.account_id, e.resource, e.event,"
              " $6::text IS NOT NULL AND " IS_BY("e") " IS NOT TRUE AS by_others,"
              " e.event IN ('oauth_module_created', 'oauth_module_deleted')"
                " OR (e.event = 'oauth_module_updated'"
                  " AND coalesce('client_secret' = ANY (e.changed), true)) AS sets_secret,"
              " e.before ->> 'disabled_at' AS disabled_at"
            " FROM adit.audit_event AS e"
            " CROSS JOIN LATERAL (SELECT " CHANGE_KIND("e.event") ") AS k (kind)"
            " WHERE " IN_ORDER
              " AND e.id >= (SELECT min(c.id) FROM cut AS c)"
        "), later AS MATERIALIZED ("
            "SELECT c.account_id, c.kind, c.resource,"
              " bool_or(e.by_others AND e.id > c.id) AS by_others,"
              " NOT bool_or(e.sets_secret) AS keeps_secret,"
              " (array_agg(e.disabled_at ORDER BY e.id DESC)"
                " FILTER (WHERE e.event = 'principal_deleted'))[1] AS gone_disabled_at"
            " FROM cut AS c"
            " JOIN events AS e ON e.account_id = c.account_id AND e.kind = c.kind"
              " AND e.resource = c.resource AND e.id >= c.id"
            " GROUP BY c.account_id, c.kind, c.resource"
        "), whole AS MATERIALIZED ("
            "SELECT c.*, l.by_others, l.keeps_secret, l.gone_disabled_at, now.present,"
              " CASE WHEN c.before IS NULL THEN NULL ELSE CASE c.kind"
                " WHEN 'account' THEN " ROW_OF("account")
                " WHEN 'principal' THEN " ROW_OF("principal")
                " WHEN 'ssh_credential' THEN " ROW_OF("ssh_credential") " || " KEEP_SUPERSEDED
                MODULES(WHEN_WANTED, _) " END END AS wanted"
            " FROM cut AS c"
            " JOIN later AS l ON l.account_id = c.account_id AND l.kind = c.kind"
              " AND l.resource = c.resource"
            " CROSS JOIN LATERAL (SELECT CASE c.kind"
                " WHEN 'account' THEN"
                  " (SELECT to_jsonb(t) FROM adit.account AS t WHERE t.id = c.resource)"
                " WHEN 'principal' THEN"
                  " (SELECT to_jsonb(t) FROM adit.principal AS t"
                    " WHERE t.account_id = c.account_id AND t.id = c.resource)"
                " WHEN 'ssh_credential' THEN"
                  " (SELECT to_jsonb(t) FROM adit.ssh_credential AS t"
                    " WHERE t.account_id = c.account_id AND t.id = c.resource)"
                MODULES(WHEN_PRESENT, _)
              " END AS present) AS now"
        "), safe AS MATERIALIZED ("
            "SELECT w.kind, w.account_id, w.resource, w.id, w.present,"
              " CASE WHEN w.since IS NULL THEN w.wanted"
                " ELSE w.wanted || jsonb_build_object('disabled_at', w.since) END AS wanted,"
              " w.since IS NOT NULL AS stays_disabled, w.by_others, w.keeps_secret,"
              " CASE WHEN w.kind = 'ssh_credential' THEN w.wanted ->> 'owner_id' COLLATE \"C\" END"
                " AS owner_id,"
              " NOT $7::boolean AND w.kind = 'ssh_credential' AND w.wanted IS NOT NULL"
                " AND w.present ->> 'owner_id' IS DISTINCT FROM w.wanted ->> 'owner_id' AS gives"
            " FROM (SELECT w.*,"
                " CASE WHEN NOT $7::boolean AND w.kind = 'principal'"
                    " AND w.wanted IS NOT NULL AND w.wanted ->> 'disabled_at' IS NULL"
                  " THEN CASE WHEN w.present IS NULL THEN w.gone_disabled_at"
                    " ELSE w.present ->> 'disabled_at' END END AS since"
              " FROM whole AS w) AS w"
        ")"
        " SELECT w.kind, w.account_id, w.resource, w.id, w.present::text, w.wanted::text,"
          " " CHANGE_TEXT("shown.before", "shown.after") ","
          " CASE WHEN w.wanted IS NOT NULL AND w.kind <> 'account'"
            " AND here.id IS NULL AND a.wanted IS NULL"
            " THEN w.account_id"
            " WHEN w.owner_id IS NOT NULL AND p.id IS NULL AND o.wanted IS NULL"
            " THEN w.owner_id END,"
          " CASE WHEN w.gives AND CASE WHEN o.wanted IS NULL OR o.by_others"
              " THEN NOT (" SQL_MAY_OWN("p") ")"
            " ELSE o.wanted ->> 'disabled_at' IS NOT NULL END THEN w.owner_id END,"
          " " SEEN("w.present") " IS NOT DISTINCT FROM " SEEN("w.wanted")
            " AND (w.wanted ->> 'client_id' IS NULL OR w.keeps_secret),"
          " w.stays_disabled, w.gives, w.by_others,"
          " w.wanted ->> 'client_id' IS NOT NULL,"
          " w.keeps_secret AND w.present IS NOT NULL,"
          " (w.wanted ->> 'provider')::smallint,"
          " " N_RULES("w.wanted") ", " N_RULES("w.present") ","
          " coalesce(admins.n, 0), " IS_ADMIN("w.wanted") " - " IS_ADMIN("w.present")
        " FROM safe AS w"
        " LEFT JOIN safe AS o ON o.kind = 'principal'"
          " AND o.account_id = w.account_id AND o.resource = w.owner_id"
        " LEFT JOIN safe AS a ON a.kind = 'account' AND a.account_id = w.account_id"
        " LEFT JOIN (SELECT p.account_id, count(*) AS n FROM adit.principal AS p"
          " WHERE p.is_admin AND p.disabled_at IS NULL"
            " AND p.account_id IN (SELECT s.account_id FROM safe AS s WHERE s.kind = 'principal')"
          " GROUP BY p.account_id) AS admins ON admins.account_id = w.account_id"
        " LEFT JOIN adit.account AS here ON here.id = w.account_id"
        " LEFT JOIN adit.principal AS p ON p.account_id = w.account_id AND p.id = w.owner_id"
        " CROSS JOIN LATERAL (SELECT " CHANGE_NAMED("w.present", "$8::text[]") " AS before,"
          " " CHANGE_NAMED("w.wanted", "$8::text[]") " AS after) AS shown"
        /* What is deleted may hold what comes back: a key has limits. */
        " ORDER BY w.wanted IS NOT NULL,"
          " array_position('{account,principal,ssh_credential" MODULES(NAME_MODULE, _) "}',"
          " w.kind), w.account_id, w.resource",
};

/* $1 the table; $2 the rows, as add_restored() writes them; $3 the secret's key and $4 the sealed
 * secret, or NULL: keep those of the row.  Only oauth_module has a secret. */
static const struct pg_statement put_statement = {
    .name = "restore_put",
    .types = PG_BIGINT,
    .writes = true,
    KEY_LIMITS,
    .sql =
        "SELECT adit.put_rows($1::text,"
          " (SELECT jsonb_agg(CASE WHEN r.wanted IS NULL THEN r.row"
            " ELSE jsonb_set(r.row, '{wanted}', r.wanted - " UNSEEN
              " || CASE WHEN $1::text <> 'oauth_module' THEN '{}'"
                " WHEN r.wanted ->> 'client_id' IS NULL"
                " THEN '{\"client_secret_key_id\": null, \"client_secret_sealed\": null}'"
                " WHEN $3::text IS NULL THEN '{}'"
                " ELSE jsonb_build_object('client_secret_key_id', $3::text,"
                  " 'client_secret_sealed', $4::bytea) END) END)"
          " FROM (SELECT a.row, a.row -> 'wanted' AS wanted"
            " FROM jsonb_array_elements($2::text::jsonb) AS a (row)) AS r))",
};

/* $1 the rows, as add_restored() writes them.  A foreign key's check passes if the owner has been disabled
 * since its statement; this waits for whoever does, and sees it. */
static const struct pg_statement hold_owners_statement = {
    .name = "restore_hold_owners",
    .types = PG_TEXT,
    .sql =
        "WITH held AS MATERIALIZED ("
            "SELECT p.id, p.disabled_at FROM adit.principal AS p"
            " WHERE EXISTS (SELECT FROM jsonb_to_recordset($1::text::jsonb)"
                " AS r (wanted jsonb, gives boolean)"
              " WHERE r.gives AND r.wanted ->> 'account_id' COLLATE \"C\" = p.account_id"
                " AND r.wanted ->> 'owner_id' COLLATE \"C\" = p.id)"
            " FOR SHARE OF p"
        ") SELECT min(p.id) FROM held AS p WHERE NOT (" SQL_MAY_OWN("p") ")",
};

/* clang-format on */

bool restore_plan(struct pg *pg, const struct restore_order *order, struct pg_result **result,
                  struct error *err)
{
    struct pg_params params = {.n = 0};
    struct arena arena = {0};
    bool ok;

    pg_add_text(&params, order->kind);
    pg_add_text(&params, order->account_id);
    pg_add_text(&params, order->resource);
    pg_add_int(&params, order->event_id);
    pg_add_int(&params, order->after_us);
    pg_add_text(&params, order->by);
    pg_add_bool(&params, order->enables);
    pg_add_texts(&params, order->providers, &arena);
    ok = pg_script(pg, PLAN_SETTINGS, SETTINGS_TIMEOUT_MS, err) &&
         pg_run(pg, &plan_statement, &params, result, err);
    arena_free(&arena);
    return ok;
}

bool restore_begin(struct pg *pg, struct error *err)
{
    return pg_begin(pg, BEGIN_SQL, err);
}

/* Appends a row of the plan for adit.put_rows() and hold_owners_statement. */
static void add_restored(struct buf *rows, const struct pg_result *plan, int row)
{
    struct text present = pg_text(plan, row, RESTORE_CURRENT);
    struct text wanted = pg_text(plan, row, RESTORE_WANTED);

    buf_printf(rows, "%s{\"gives\":%s", rows->len > 0 ? "," : "[",
               pg_bool(plan, row, RESTORE_GIVES) ? "true" : "false");
    if (present.s) {
        buf_puts(rows, ",\"present\":");
        buf_add(rows, present.s, present.len);
    }
    if (wanted.s) {
        buf_puts(rows, ",\"wanted\":");
        buf_add(rows, wanted.s, wanted.len);
    }
    buf_puts(rows, "}");
}

bool restore_rows(struct pg *pg, const struct pg_result *plan, const struct restore_batch *batch,
                  const struct restore_secret *secret, bool *done, struct error *err)
{
    struct pg_params params = {.n = 0};
    struct buf rows = {0};
    struct pg_result *result = NULL;
    bool ok;

    for (int i = 0; i < batch->n; i++)
        add_restored(&rows, plan, batch->rows[i]);
    buf_puts(&rows, "]");
    pg_add_text(&params, pg_text(plan, batch->rows[0], RESTORE_KIND));
    pg_add_text(&params, buf_text(&rows));
    if (secret) {
        pg_add_text(&params, secret->key_id);
        pg_add_bytes(&params, secret->sealed.s, secret->sealed.len);
    } else {
        pg_add_null(&params);
        pg_add_null(&params);
    }
    ok = rows.failed ? error_set(err, ERR_OUT_OF_MEMORY)
                     : pg_run(pg, &put_statement, &params, &result, err);
    buf_free(&rows);
    if (ok)
        *done = pg_int(result, 0, 0) == batch->n;
    pg_result_free(result);
    return ok;
}

bool restore_hold_owners(struct pg *pg, const struct pg_result *plan,
                         const struct restore_batch *batch, char disabled[IDENT_SIZE],
                         struct error *err)
{
    struct pg_params params = {.n = 0};
    struct pg_result *result = NULL;
    struct buf rows = {0};
    bool ok;

    disabled[0] = '\0';
    if (batch->n == 0 ||
        !text_eq(pg_text(plan, batch->rows[0], RESTORE_KIND), text_of("ssh_credential")))
        return true;
    for (int i = 0; i < batch->n; i++) {
        if (pg_bool(plan, batch->rows[i], RESTORE_GIVES))
            add_restored(&rows, plan, batch->rows[i]);
    }
    buf_puts(&rows, rows.len > 0 ? "]" : "[]");
    pg_add_text(&params, buf_text(&rows));
    ok = rows.failed ? error_set(err, ERR_OUT_OF_MEMORY)
                     : pg_run(pg, &hold_owners_statement, &params, &result, err);
    if (ok && !pg_is_null(result, 0, 0))
        snprintf(disabled, IDENT_SIZE, "%s", pg_text(result, 0, 0).s);
    buf_free(&rows);
    pg_result_free(result);
    return ok;
}

/* Returns whether the row may be in a statement with the one that is first. */
static bool is_alike(const struct pg_result *plan, int first, int row)
{
    return text_eq(pg_text(plan, first, RESTORE_KIND), pg_text(plan, row, RESTORE_KIND)) &&
           pg_is_null(plan, first, RESTORE_WANTED) == pg_is_null(plan, row, RESTORE_WANTED);
}

bool restore_batch_add(struct restore_batch *batch, const struct pg_result *plan, int row)
{
    size_t len = pg_text(plan, row, RESTORE_CURRENT).len + pg_text(plan, row, RESTORE_WANTED).len;

    if (batch->n == RESTORE_BATCH_MAX || (batch->n > 0 && (!is_alike(plan, batch->rows[0], row) ||
                                                           batch->len + len > RESTORE_BATCH_BYTES)))
        return false;
    batch->rows[batch->n++] = row;
    batch->len += len;
    return true;
}
