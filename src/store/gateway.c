/* SPDX-License-Identifier: MIT */
/* The statements of gateways. */
#include "store/gateway.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/ssh_decision.h"
#include "store/key_walk.h"

/* clang-format off */

/* The account that '' names.  Its id is NULL if there is none (n is 0) or several (n is 2). */
#define SOLE_ACCOUNT \
    "WITH RECURSIVE sole AS MATERIALIZED (" \
        "SELECT CASE count(*) WHEN 1 THEN min(a.id) END AS id, count(*) AS n" \
        " FROM (SELECT id FROM adit.account ORDER BY id LIMIT 2) AS a" \
    ")"

/* How many accounts an id names. */
#define N_ACCOUNTS(id) \
    "CASE " id " WHEN '' THEN sole.n" \
    " ELSE (SELECT count(*) FROM adit.account AS a WHERE a.id = " id " COLLATE \"C\") END"

/* What a key's credentials are, in one text: it changes whenever one of them does, or comes or goes.
 */
#define DIGEST(rows)                                                                               \
    "(SELECT encode(sha256(convert_to("                                                            \
      "coalesce(string_agg(d.id || ' ' || d.revision, ' ' ORDER BY d.id), ''), 'UTF8')), 'hex')"   \
      " FROM " rows " AS d)"

#define OF_KEY "c.fingerprint = $2::text COLLATE \"C\""
#define OF_ACCOUNT "c.account_id = $1::text COLLATE \"C\""
#define OF_SOLE                                                                                    \
    "c.account_id = coalesce(nullif($1::text, ''), (SELECT sole.id FROM sole)) COLLATE \"C\""

#define WALK(of_account) KEY_WALK(of_account, "$3::bigint", "$4::bigint", "$5::bigint")

/* The query "glanced": what a glance looks at. */
#define GLANCED(of_account)                                                                        \
    "glanced AS MATERIALIZED ("                                                                    \
        "SELECT c.id, c.revision"                                                                  \
        " FROM adit.ssh_credential AS c"                                                           \
        " WHERE " OF_KEY " AND " of_account " AND " KEY_COUNTS                                     \
        " ORDER BY c.id"                                                                           \
        " LIMIT $3::bigint + 1"                                                                    \
    ")"

/* A glance shows a change of each credential that was read if it looks at all of the key, or if they
 * are the oldest. */
#define LOOK_UP_COLUMNS(are_oldest)                                                                \
    "CASE WHEN " are_oldest " OR (SELECT count(*) FROM glanced) <= $3::bigint"                     \
      " THEN " DIGEST("glanced") " END,"                                                           \
    " w.id, w.account_id, w.owner_id, CASE WHEN NOT w.is_beyond THEN w.acl END, w.is_beyond,"      \
    " w.n_rules, w.n_bytes"

#define LOOK_UP_TYPES                                                                              \
    PG_BIGINT PG_TEXT PG_TEXT PG_TEXT PG_TEXT PG_TEXTS PG_BOOL PG_BIGINT PG_BIGINT

#define LOOK_UP_ALL_COLUMNS LOOK_UP_COLUMNS("cardinality($6::text[]) = 0")

/* $1 account id, $2 fingerprint, $3 the most credentials, $4 the most rules, $5 their most bytes,
 * $6 the owners that are left out.
 * Returns a row without a credential where there is none. */
static const struct pg_statement look_up_statement = {
    .name = "gateway_look_up",
    .types = LOOK_UP_TYPES,
    .sql =
        SOLE_ACCOUNT ", " GLANCED(OF_SOLE) ", "
        KEY_TURNS(OF_KEY, OF_SOLE, "$6::text[]", "$3::bigint") ", " WALK(OF_SOLE)
        " SELECT " N_ACCOUNTS("$1::text") ", " LOOK_UP_ALL_COLUMNS
        " FROM sole"
        " LEFT JOIN walk AS w ON true"
        " ORDER BY w.is_beyond, w.id",
    /* No row: there is no such account. */
    .by_account =
        "WITH RECURSIVE " GLANCED(OF_ACCOUNT) ", "
        KEY_TURNS(OF_KEY, OF_ACCOUNT, "$6::text[]", "$3::bigint") ", " WALK(OF_ACCOUNT)
        " SELECT 1::bigint, " LOOK_UP_ALL_COLUMNS
        " FROM adit.account AS a"
        " LEFT JOIN walk AS w ON w.account_id = a.id"
        " WHERE a.id = $1::text COLLATE \"C\""
        " ORDER BY w.is_beyond, w.id",
};

/* As above, of named credentials, in the order of their size.
 * $1 account id, $2 fingerprint, $3 the most credentials, $4 the most rules, $5 their most bytes,
 * $6 credential ids. */
static const struct pg_statement look_up_named_statement = {
    .name = "gateway_look_up_named",
    .types = LOOK_UP_TYPES,
    .sql =
        "WITH RECURSIVE " GLANCED(OF_ACCOUNT) ", turns AS MATERIALIZED ("
            "SELECT array_agg(c.id ORDER BY pg_column_size(c.acl), c.id) AS ids"
            " FROM adit.ssh_credential AS c"
            " WHERE " OF_KEY " AND " OF_ACCOUNT
              " AND " KEY_COUNTS
              " AND c.id = ANY ($6::text[] COLLATE \"C\")"
        "), " WALK(OF_ACCOUNT)
        " SELECT 1::bigint, " LOOK_UP_COLUMNS("false")
        " FROM walk AS w"
        " ORDER BY w.is_beyond, w.id",
};

enum look_up_column {
    COLUMN_N_ACCOUNTS,
    COLUMN_DIGEST,
    COLUMN_ID,
    COLUMN_ACCOUNT_ID,
    COLUMN_OWNER_ID,
    COLUMN_ACL,
    COLUMN_IS_OVER,
    COLUMN_N_RULES,
    COLUMN_N_BYTES
};

#define GLANCE(account, n_accounts, with_accounts)                                                 \
    "SELECT k.number, c.n, c.digest, c.owner_id, " n_accounts                                      \
    " FROM unnest($1::text[], $2::text[]) WITH ORDINALITY AS k (account_id, fingerprint, number)"  \
    " CROSS JOIN " with_accounts                                                                   \
    " CROSS JOIN LATERAL ("                                                                        \
        "WITH few AS MATERIALIZED ("                                                               \
            "SELECT c.id, c.revision, c.owner_id, pg_column_size(c.acl) AS size"                   \
            " FROM adit.ssh_credential AS c"                                                       \
            " WHERE c.fingerprint = k.fingerprint COLLATE \"C\""                                   \
              " AND c.account_id = " account " COLLATE \"C\""                                      \
              " AND " KEY_COUNTS                                                                   \
            " ORDER BY c.id"                                                                       \
            " LIMIT $3::bigint"                                                                    \
        ")"                                                                                        \
        " SELECT (SELECT count(*) FROM few) AS n, " DIGEST("few") " AS digest,"                    \
          " (SELECT f.owner_id FROM few AS f GROUP BY f.owner_id"                                  \
            " ORDER BY sum(f.size) DESC, f.owner_id LIMIT 1) AS owner_id"                          \
    ") AS c"                                                                                       \
    " ORDER BY k.number"

/* $1 account ids, $2 fingerprints, pair by pair, $3 the most credentials that are counted.  In
 * .by_account, all ids are the same, and none is ''. */
static const struct pg_statement glance_statement = {
    .name = "gateway_glance",
    .types = PG_BIGINT PG_BIGINT PG_TEXT PG_TEXT PG_BIGINT,
    .sql = SOLE_ACCOUNT " "
        GLANCE("coalesce(nullif(k.account_id, ''), (SELECT sole.id FROM sole))",
               N_ACCOUNTS("k.account_id"), "sole"),
    .by_account =
        GLANCE("($1::text[])[1]", "named.n",
               "(SELECT count(*) AS n FROM adit.account AS a"
               " WHERE a.id = ($1::text[])[1] COLLATE \"C\") AS named"),
};

enum glance_column {
    COLUMN_NUMBER,
    COLUMN_N_CREDENTIALS,
    COLUMN_GLANCE_DIGEST,
    COLUMN_GLANCE_OWNER_ID,
    COLUMN_GLANCE_N_ACCOUNTS
};

/* A lock on the record, which "VACUUM FULL" takes, keeps logins waiting: they ask after the poll. */
#define CHANGES_LOCK_TIMEOUT "200ms"

/* $1 the snapshot of the call before, or NULL, $2 the most changes, $3 how long it waits for a lock.
 * The function needs a value of "waits", so that this limit counts for it. */
static const struct pg_statement changes_statement = {
    .name = "gateway_changes",
    .types = PG_TEXT PG_BOOL PG_TEXT PG_TEXT PG_TEXT,
    .sql =
        "SELECT c.snapshot::text, c.complete, c.event, c.account_id, c.resource"
        " FROM (SELECT set_config('lock_timeout', $3::text, true) AS lock_timeout) AS waits"
        " CROSS JOIN LATERAL adit.changes("
          "CASE WHEN waits.lock_timeout IS NOT NULL THEN $1::text::pg_snapshot END) AS c"
        " ORDER BY c.id"
        " LIMIT $2::bigint",
};

/* $1 account_id, $2 the mark of the call before, or NULL, $3 the most changes. */
static const struct pg_statement account_changes_statement = {
    .name = "gateway_account_changes",
    .types = PG_TEXT PG_BOOL PG_TEXT PG_TEXT PG_TEXT,
    .sql =
        "SELECT c.mark, c.complete, c.event, $1::text, c.resource"
        " FROM adit.account_changes($1::text, $2::text) AS c"
        " LIMIT $3::bigint",
};

static const struct pg_statement ping_statement = {
    .name = "gateway_ping",
    .types = PG_BOOL,
    .sql = "SELECT true",
};

enum changes_column {
    COLUMN_SNAPSHOT,
    COLUMN_COMPLETE,
    COLUMN_EVENT,
    COLUMN_CHANGED_ACCOUNT_ID,
    COLUMN_RESOURCE
};

#define OF_EDGES(account_id)                                                                       \
    " LEFT JOIN adit.mutual_tls_module AS m"                                                       \
      " ON m.account_id = " account_id " COLLATE \"C\""                                            \
      " AND m.edge_id = ANY ($2::text[] COLLATE \"C\")"

#define EDGES_OF_SOLE(columns)                                                                     \
    SOLE_ACCOUNT                                                                                   \
    " SELECT " N_ACCOUNTS("$1::text") ", " columns                                                 \
    " FROM sole" OF_EDGES("coalesce(nullif($1::text, ''), sole.id)")                               \
    " ORDER BY m.edge_id"

#define EDGES_OF_ACCOUNT(columns)                                                                  \
    "SELECT 1::bigint, " columns                                                                   \
    " FROM adit.account AS a" OF_EDGES("$1::text")                                                 \
    " WHERE a.id = $1::text COLLATE \"C\""                                                         \
    " ORDER BY m.edge_id"

#define REVISION_COLUMNS "m.edge_id, m.revision"
#define MODULE_COLUMNS REVISION_COLUMNS ", m.enabled, m.certificate_authority_ids"

/* $1 account_id, $2 edge ids.
 * Both return a row without a module where there is none. */
static const struct pg_statement edge_revisions_statement = {
    .name = "gateway_edge_revisions",
    .types = PG_BIGINT PG_TEXT PG_BIGINT,
    .sql = EDGES_OF_SOLE(REVISION_COLUMNS),
    .by_account = EDGES_OF_ACCOUNT(REVISION_COLUMNS),
};

static const struct pg_statement mutual_tls_statement = {
    .name = "gateway_mutual_tls",
    .types = PG_BIGINT PG_TEXT PG_BIGINT PG_BOOL PG_TEXTS,
    .sql = EDGES_OF_SOLE(MODULE_COLUMNS),
    .by_account = EDGES_OF_ACCOUNT(MODULE_COLUMNS),
};

enum mutual_tls_column {
    COLUMN_EDGE_ID = COLUMN_N_ACCOUNTS + 1,
    COLUMN_EDGE_REVISION,
    COLUMN_ENABLED,
    COLUMN_AUTHORITY_IDS
};

/* clang-format on */

/* ---- shared ---- */

/* SQL knows "the only account" as an empty text. */
static struct text account_or_empty(struct text account_id)
{
    return account_id.s ? account_id : text_of("");
}

/* Returns the number of rows; 0 also if the only row is there to tell of the account. */
static size_t count_found(const struct pg_result *result, int column)
{
    return pg_rows(result) == 0 || pg_is_null(result, 0, column) ? 0 : (size_t)pg_rows(result);
}

static int read_n_accounts(const struct pg_result *result)
{
    return pg_rows(result) == 0 ? 0 : (int)pg_int(result, 0, COLUMN_N_ACCOUNTS);
}

/* ---- credentials ---- */

static bool split_keys(struct gateway_keys keys, struct arena *arena, struct text_list *accounts,
                       struct text_list *fingerprints)
{
    accounts->items = arena_array(arena, keys.n, sizeof *accounts->items);
    fingerprints->items = arena_array(arena, keys.n, sizeof *fingerprints->items);
    if (!accounts->items || !fingerprints->items)
        return false;
    accounts->given = fingerprints->given = true;
    accounts->n = fingerprints->n = keys.n;
    for (size_t i = 0; i < keys.n; i++) {
        accounts->items[i] = keys.items[i].account_id;
        fingerprints->items[i] = keys.items[i].fingerprint;
    }
    return true;
}

static bool read_glances(const struct pg_result *result, size_t n, struct arena *arena,
                         struct gateway_glance **out)
{
    struct gateway_glance *glances = arena_array(arena, n, sizeof *glances);

    if (!glances)
        return false;
    for (size_t i = 0; i < n; i++) {
        glances[i].n = (size_t)pg_int(result, (int)i, COLUMN_N_CREDENTIALS);
        glances[i].n_accounts = (int)pg_int(result, (int)i, COLUMN_GLANCE_N_ACCOUNTS);
        if (!pg_copy(result, (int)i, COLUMN_GLANCE_DIGEST, arena, &glances[i].digest) ||
            !pg_copy(result, (int)i, COLUMN_GLANCE_OWNER_ID, arena, &glances[i].owner_id))
            return false;
    }
    *out = glances;
    return true;
}

bool store_gateway_glance(struct pg *pg, struct arena *arena, struct gateway_keys keys,
                          struct gateway_glance **out, struct error *err)
{
    struct pg_params params = {.n = 0};
    struct text_list accounts;
    struct text_list fingerprints;
    struct pg_result *result;
    bool ok;

    if (!split_keys(keys, arena, &accounts, &fingerprints))
        return error_set(err, ERR_OUT_OF_MEMORY);
    pg_add_texts(&params, accounts, arena);
    pg_add_texts(&params, fingerprints, arena);
    pg_add_int(&params, SSH_GRANTS_MAX + 1);
    if (!pg_run(pg, &glance_statement, &params, &result, err))
        return false;
    ok = (size_t)pg_rows(result) == keys.n && read_glances(result, keys.n, arena, out);
    ok = ok || error_set(err, ERR_OUT_OF_MEMORY);
    pg_result_free(result);
    return ok;
}

static bool read_grant(const struct pg_result *result, int row, struct arena *arena,
                       struct ssh_grant *out)
{
    return pg_copy(result, row, COLUMN_ID, arena, &out->id) &&
           pg_copy(result, row, COLUMN_OWNER_ID, arena, &out->owner_id) &&
           pg_texts(result, row, COLUMN_ACL, arena, &out->acl);
}

static bool read_beyond(const struct pg_result *result, int row, struct arena *arena,
                        struct ssh_beyond *out)
{
    out->n_rules = (uint64_t)pg_int(result, row, COLUMN_N_RULES);
    out->n_bytes = (uint64_t)pg_int(result, row, COLUMN_N_BYTES);
    return pg_copy(result, row, COLUMN_OWNER_ID, arena, &out->owner_id);
}

/* Of a key that is over a limit, the last row is the one that is beyond. */
static bool read_credentials(const struct pg_result *result, struct arena *arena,
                             struct gateway_credentials *out)
{
    size_t n = count_found(result, COLUMN_ID);

    if (n > 0 && (!pg_copy(result, 0, COLUMN_DIGEST, arena, &out->digest) ||
                  !pg_copy(result, 0, COLUMN_ACCOUNT_ID, arena, &out->account_id)))
        return false;
    out->is_over = n > 0 && pg_bool(result, (int)n - 1, COLUMN_IS_OVER);
    if (out->is_over && !read_beyond(result, (int)--n, arena, &out->beyond))
        return false;
    out->items = arena_array(arena, n, sizeof *out->items);
    if (!out->items)
        return false;
    for (; out->n < n; out->n++) {
        if (!read_grant(result, (int)out->n, arena, &out->items[out->n]))
            return false;
    }
    return true;
}

bool store_gateway_look_up(struct pg *pg, struct arena *arena, const struct gateway_key *key,
                           struct gateway_credentials *out, struct error *err)
{
    struct ssh_left_out owners = key->left_out;
    struct text_list left_out = {.items = owners.owner_ids, .n = owners.n, .given = true};
    bool is_named = key->credential_ids.given;
    struct pg_params params = {.n = 0};
    struct pg_result *result;
    bool ok;

    *out = (struct gateway_credentials){.n = 0};
    pg_add_text(&params, account_or_empty(key->account_id));
    pg_add_text(&params, key->fingerprint);
    pg_add_int(&params, SSH_GRANTS_MAX);
    pg_add_int(&params, key->most_rules > 0 ? (int64_t)key->most_rules : SSH_GRANT_RULES_MAX);
    pg_add_int(&params, SSH_GRANT_BYTES_MAX);
    pg_add_texts(&params, is_named ? key->credential_ids : left_out, arena);
    if (!pg_run(pg, is_named ? &look_up_named_statement : &look_up_statement, &params, &result,
                err))
        return false;
    out->n_accounts = read_n_accounts(result);
    out->beyond.most_rules = key->most_rules;
    ok = read_credentials(result, arena, out) || error_set(err, ERR_OUT_OF_MEMORY);
    pg_result_free(result);
    return ok;
}

/* ---- changes ---- */

/* A snapshot as callers keep it: the session that it is from, a space, and PostgreSQL's text. */
static bool keep_snapshot(struct text snapshot, int64_t session, struct arena *arena,
                          struct text *out)
{
    char number[24];
    int len = snprintf(number, sizeof number, "%lld ", (long long)session);
    char *kept = arena_alloc(arena, (size_t)len + snapshot.len + 1);

    if (!kept)
        return false;
    memcpy(kept, number, (size_t)len);
    memcpy(kept + len, snapshot.s, snapshot.len);
    *out = (struct text){kept, (size_t)len + snapshot.len};
    return true;
}

/* Splits it again.  Returns the session; 0 if there is none. */
static int64_t split_snapshot(struct text kept, struct text *snapshot)
{
    const char *space = kept.s ? memchr(kept.s, ' ', kept.len) : NULL;

    *snapshot = space ? text_part(kept, (size_t)(space - kept.s) + 1, kept.len) : kept;
    return space ? strtoll(kept.s, NULL, 10) : 0;
}

static bool read_changes(const struct pg_result *result, struct arena *arena,
                         struct gateway_changes *out)
{
    size_t n = out->complete ? count_found(result, COLUMN_EVENT) : 0;

    out->items = arena_array(arena, n, sizeof *out->items);
    if (!out->items)
        return false;
    for (; out->n < n; out->n++) {
        struct gateway_change *change = &out->items[out->n];
        int row = (int)out->n;

        if (!pg_copy(result, row, COLUMN_EVENT, arena, &change->event) ||
            !pg_copy(result, row, COLUMN_CHANGED_ACCOUNT_ID, arena, &change->account_id) ||
            !pg_copy(result, row, COLUMN_RESOURCE, arena, &change->resource))
            return false;
    }
    return true;
}

bool store_gateway_changes(struct pg *pg, struct arena *arena, struct text snapshot,
                           struct gateway_changes *out, struct error *err)
{
    struct pg_params params = {.n = 0};
    struct pg_result *result;
    struct text since;
    int64_t session = split_snapshot(snapshot, &since);
    bool ok;

    *out = (struct gateway_changes){.n = 0};
    pg_add_text(&params, since);
    pg_add_int(&params, GATEWAY_CHANGES_MAX + 1);
    pg_add_text(&params, text_of(CHANGES_LOCK_TIMEOUT));
    if (!pg_run(pg, &changes_statement, &params, &result, err))
        return false;
    out->complete = pg_bool(result, 0, COLUMN_COMPLETE) && session == pg_n_opened(pg);
    ok = (keep_snapshot(pg_text(result, 0, COLUMN_SNAPSHOT), pg_n_opened(pg), arena,
                        &out->snapshot) &&
          read_changes(result, arena, out)) ||
         error_set(err, ERR_OUT_OF_MEMORY);
    pg_result_free(result);
    return ok;
}

bool store_gateway_account_changes(struct pg *pg, struct arena *arena, struct text account_id,
                                   struct text mark, struct gateway_changes *out, struct error *err)
{
    struct pg_params params = {.n = 0};
    struct pg_result *result;
    bool ok;

    *out = (struct gateway_changes){.n = 0};
    pg_add_text(&params, account_id);
    pg_add_text(&params, mark);
    pg_add_int(&params, GATEWAY_CHANGES_MAX + 1);
    if (!pg_run(pg, &account_changes_statement, &params, &result, err))
        return false;
    out->complete = pg_bool(result, 0, COLUMN_COMPLETE);
    ok = (pg_copy(result, 0, COLUMN_SNAPSHOT, arena, &out->snapshot) &&
          read_changes(result, arena, out)) ||
         error_set(err, ERR_OUT_OF_MEMORY);
    pg_result_free(result);
    return ok;
}

bool store_gateway_ping(struct pg *pg, struct error *err)
{
    const struct pg_params params = {.n = 0};
    struct pg_result *result;

    if (!pg_run(pg, &ping_statement, &params, &result, err))
        return false;
    pg_result_free(result);
    return true;
}

/* ---- mutual TLS ---- */

static bool read_mutual_tls(const struct pg_result *result, int row, struct arena *arena,
                            struct gateway_edge *edge)
{
    edge->enabled = pg_bool(result, row, COLUMN_ENABLED);
    return pg_texts(result, row, COLUMN_AUTHORITY_IDS, arena, &edge->certificate_authority_ids);
}

static bool read_edges(const struct pg_result *result, bool has_modules, struct arena *arena,
                       struct gateway_edges *out)
{
    size_t n = count_found(result, COLUMN_EDGE_ID);

    out->items = arena_array(arena, n, sizeof *out->items);
    if (!out->items)
        return false;
    for (; out->n < n; out->n++) {
        struct gateway_edge *edge = &out->items[out->n];
        int row = (int)out->n;

        edge->revision = pg_int(result, row, COLUMN_EDGE_REVISION);
        if (!pg_copy(result, row, COLUMN_EDGE_ID, arena, &edge->edge_id) ||
            (has_modules && !read_mutual_tls(result, row, arena, edge)))
            return false;
    }
    return true;
}

static bool ask_for_edges(struct pg *pg, const struct pg_statement *statement, struct arena *arena,
                          struct text account_id, struct text_list edge_ids,
                          struct gateway_edges *out, struct error *err)
{
    struct pg_params params = {.n = 0};
    struct pg_result *result;
    bool ok;

    *out = (struct gateway_edges){.n = 0};
    pg_add_text(&params, account_or_empty(account_id));
    pg_add_texts(&params, edge_ids, arena);
    if (!pg_run(pg, statement, &params, &result, err))
        return false;
    out->n_accounts = read_n_accounts(result);
    ok = read_edges(result, statement == &mutual_tls_statement, arena, out) ||
         error_set(err, ERR_OUT_OF_MEMORY);
    pg_result_free(result);
    return ok;
}

bool store_gateway_edge_revisions(struct pg *pg, struct arena *arena, struct text account_id,
                                  struct text_list edge_ids, struct gateway_edges *out,
                                  struct error *err)
{
    return ask_for_edges(pg, &edge_revisions_statement, arena, account_id, edge_ids, out, err);
}

bool store_gateway_mutual_tls(struct pg *pg, struct arena *arena, struct text account_id,
                              struct text_list edge_ids, struct gateway_edges *out,
                              struct error *err)
{
    return ask_for_edges(pg, &mutual_tls_statement, arena, account_id, edge_ids, out, err);
}
