/* SPDX-License-Identifier: MIT */
/* Routes that nobody or anyone can pass, and rows of sessions that should be gone. */
#include "store/gate_review.h"

#include "store/oauth_admission.h"

/* clang-format off */

/* $1 how many modules, $2 and $3 of OAUTH_ADMITS, $4 how many rows.
 * Every row begins with the number of modules that were looked at; one row has nothing else. */
static const struct pg_statement review_statement = {
    .name = "gate_review",
    .types = PG_BIGINT PG_TEXT PG_TEXT PG_TEXT PG_SMALLINT PG_BOOL PG_TEXTS
             PG_BIGINT PG_BIGINT PG_BIGINT PG_BIGINT,
    .sql =
        "WITH judged AS MATERIALIZED ("
            "SELECT m.account_id, m.edge_id, m.route_id,"
              " CASE " OAUTH_ADMITS("$2", "$3")
                   " WHEN 'nobody' THEN 1"
                   " WHEN 'listed' THEN CASE WHEN " OAUTH_LIST_FLAWS("$2") " THEN 2 END"
                   " WHEN 'anyone' THEN 3"
              " END AS rank"
            " FROM adit.oauth_module AS m"
            " ORDER BY m.account_id, m.edge_id, m.route_id"
            " LIMIT $1::bigint"
        "), named AS ("
            "SELECT j.account_id, j.edge_id, j.route_id, j.rank"
            " FROM judged AS j"
            " WHERE j.rank IS NOT NULL"
            " ORDER BY j.rank, j.account_id, j.edge_id, j.route_id"
            " LIMIT $4::bigint"
        ")"
        " SELECT seen.n, m.account_id, m.edge_id, m.route_id, m.provider,"
          " m.client_id IS NOT NULL, m.scopes,"
          " cardinality(m.email_addresses)::bigint, cardinality(m.email_domains)::bigint,"
          " cardinality(m.teams)::bigint, cardinality(m.organizations)::bigint"
        " FROM (SELECT count(*) AS n FROM judged) AS seen"
        " LEFT JOIN (named AS c"
          " JOIN adit.oauth_module AS m"
            " ON m.account_id = c.account_id"
            " AND m.edge_id = c.edge_id"
            " AND m.route_id = c.route_id) ON true"
        " ORDER BY c.rank, c.account_id, c.edge_id, c.route_id",
};

enum review_column {
    COLUMN_REVIEWED,
    COLUMN_NAMED_ACCOUNT,
    COLUMN_NAMED_EDGE,
    COLUMN_NAMED_ROUTE,
    COLUMN_NAMED_PROVIDER,
    COLUMN_HAS_CLIENT,
    COLUMN_NAMED_SCOPES,
    COLUMN_N_EMAIL_ADDRESSES,
    COLUMN_N_EMAIL_DOMAINS,
    COLUMN_N_TEAMS,
    COLUMN_N_ORGANIZATIONS
};

/* $1 how many modules.  A parent domain without a dot is a top-level one, whose cookies no browser
 * takes. */
static const struct pg_statement shared_cookies_statement = {
    .name = "gate_shared_cookies",
    .types = PG_BIGINT PG_TEXT PG_TEXT PG_TEXT,
    .sql =
        "WITH hosts AS MATERIALIZED ("
            "SELECT m.account_id, m.edge_id, m.route_id,"
              " lower(substr(m.edge_id, strpos(m.edge_id, '.') + 1)) AS parent,"
              " lower(left(m.cookie_prefix, 7)) IS NOT DISTINCT FROM '__host-' AS is_own"
            " FROM adit.oauth_module AS m"
            " WHERE m.enabled AND m.edge_id LIKE '%.%.%'"
            " ORDER BY m.account_id, m.edge_id, m.route_id"
            " LIMIT $1::bigint"
        "), several AS ("
            "SELECT h.parent FROM hosts AS h"
            " GROUP BY h.parent HAVING count(DISTINCT h.edge_id) > 1"
        ")"
        " SELECT count(*) OVER (), h.account_id, h.edge_id, h.route_id"
        " FROM hosts AS h JOIN several AS s ON s.parent = h.parent"
        " WHERE NOT h.is_own"
        " ORDER BY h.account_id, h.edge_id, h.route_id"
        " LIMIT 1",
};

enum shared_column { COLUMN_SHARED, COLUMN_SHARED_ACCOUNT, COLUMN_SHARED_EDGE, COLUMN_SHARED_ROUTE };

static const struct pg_statement count_ended_statement = {
    .name = "gate_count_ended",
    .types = PG_BIGINT,
    .sql =
        "SELECT count(*) FROM ("
            "SELECT FROM adit.gate_session WHERE ends_at < now() - interval '1 hour' LIMIT 100000"
        ") AS ended",
};

/* clang-format on */

static size_t entries_of(const struct pg_result *result, int row, enum review_column column)
{
    return (size_t)pg_int(result, row, (int)column);
}

/* Reads what oauth_admission_find() looks at. */
static bool read_judged(const struct pg_result *result, int row, struct arena *arena,
                        struct oauth_module *module)
{
    *module = (struct oauth_module){.enabled = true};
    if (!pg_is_null(result, row, COLUMN_NAMED_PROVIDER))
        module->provider = identity_provider_stored(pg_int(result, row, COLUMN_NAMED_PROVIDER));
    if (pg_bool(result, row, COLUMN_HAS_CLIENT))
        module->config.client_id = text_of("");
    module->config.email_addresses.n = entries_of(result, row, COLUMN_N_EMAIL_ADDRESSES);
    module->config.email_domains.n = entries_of(result, row, COLUMN_N_EMAIL_DOMAINS);
    module->config.teams.n = entries_of(result, row, COLUMN_N_TEAMS);
    module->config.organizations.n = entries_of(result, row, COLUMN_N_ORGANIZATIONS);
    return pg_texts(result, row, COLUMN_NAMED_SCOPES, arena, &module->config.scopes);
}

static bool read_review(const struct pg_result *result,
                        const enum oauth_application applications[OAUTH_N_PROVIDERS],
                        struct arena *arena, struct gate_review *review)
{
    int n = pg_rows(result);

    *review = (struct gate_review){.n_reviewed = n > 0 ? pg_int(result, 0, COLUMN_REVIEWED) : 0,
                                   .has_more = n > STORE_GATE_NAMED_MAX};
    for (int row = 0; row < n && row < STORE_GATE_NAMED_MAX; row++) {
        struct gate_reviewed *item = &review->items[review->n];
        struct oauth_module module;

        if (pg_is_null(result, row, COLUMN_NAMED_ACCOUNT))
            continue;
        if (!pg_copy(result, row, COLUMN_NAMED_ACCOUNT, arena, &item->account_id) ||
            !pg_copy(result, row, COLUMN_NAMED_EDGE, arena, &item->edge_id) ||
            !pg_copy(result, row, COLUMN_NAMED_ROUTE, arena, &item->route_id) ||
            !read_judged(result, row, arena, &module))
            return false;
        oauth_admission_find(&module,
                             module.provider > 0 ? applications[module.provider - 1]
                                                 : OAUTH_APPLICATION_UNKNOWN,
                             &item->admission);
        review->n++;
    }
    return true;
}

bool store_gate_review(struct pg *pg, const enum oauth_application applications[OAUTH_N_PROVIDERS],
                       struct arena *arena, struct gate_review *review, struct error *err)
{
    struct pg_params params = {.n = 0};
    struct pg_result *result;
    bool ok;

    pg_add_int(&params, STORE_GATE_REVIEWED);
    oauth_admission_add(&params, applications, arena);
    pg_add_int(&params, STORE_GATE_NAMED_MAX + 1);
    if (!pg_run(pg, &review_statement, &params, &result, err))
        return false;
    ok = read_review(result, applications, arena, review) || error_set(err, ERR_OUT_OF_MEMORY);
    pg_result_free(result);
    return ok;
}

bool store_gate_shared_cookies(struct pg *pg, struct arena *arena,
                               struct gate_shared_cookies *shared, struct error *err)
{
    struct pg_params params = {.n = 0};
    struct pg_result *result;
    bool ok = true;

    *shared = (struct gate_shared_cookies){.n = 0};
    pg_add_int(&params, STORE_GATE_REVIEWED);
    if (!pg_run(pg, &shared_cookies_statement, &params, &result, err))
        return false;
    if (pg_rows(result) > 0) {
        shared->n = pg_int(result, 0, COLUMN_SHARED);
        ok = pg_copy(result, 0, COLUMN_SHARED_ACCOUNT, arena, &shared->account_id) &&
             pg_copy(result, 0, COLUMN_SHARED_EDGE, arena, &shared->edge_id) &&
             pg_copy(result, 0, COLUMN_SHARED_ROUTE, arena, &shared->route_id);
    }
    pg_result_free(result);
    return ok || error_set(err, ERR_OUT_OF_MEMORY);
}

bool store_gate_count_ended(struct pg *pg, int64_t *n, struct error *err)
{
    const struct pg_params params = {.n = 0};
    struct pg_result *result;

    if (!pg_run(pg, &count_ended_statement, &params, &result, err))
        return false;
    *n = pg_int(result, 0, 0);
    pg_result_free(result);
    return true;
}
