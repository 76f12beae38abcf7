/* SPDX-License-Identifier: MIT */
/* Routes that nobody can pass, and rows of sessions that should be gone. */
#include "store/gate_review.h"

/* clang-format off */

/* $1 how many modules, $2 positions of providers with an application in the settings, $3 those of
 * providers that verify no address, $4 how many rows.
 * Every row begins with the number of modules that were looked at; one row has nothing else. */
static const struct pg_statement review_statement = {
    .name = "gate_review",
    .types = PG_BIGINT PG_TEXT PG_TEXT PG_TEXT PG_SMALLINT PG_BIGINT,
    .sql =
        "WITH m AS MATERIALIZED ("
            "SELECT account_id, edge_id, route_id, provider,"
              " CASE WHEN NOT enabled THEN NULL"
                   " WHEN provider IS NULL THEN 0"
                   " WHEN client_id IS NULL AND provider <> ALL ($2::bigint[]) THEN 1"
                   " WHEN provider = ANY ($3::bigint[])"
                     " AND cardinality(email_addresses) + cardinality(email_domains) > 0"
                     " AND cardinality(teams) + cardinality(organizations) = 0 THEN 2"
              " END::bigint AS why"
            " FROM adit.oauth_module"
            " ORDER BY account_id, edge_id, route_id"
            " LIMIT $1::bigint"
        ")"
        " SELECT seen.n, c.account_id, c.edge_id, c.route_id, c.provider, c.why"
        " FROM (SELECT count(*) AS n FROM m) AS seen"
        " LEFT JOIN ("
            "SELECT m.account_id, m.edge_id, m.route_id, m.provider, m.why"
            " FROM m"
            " WHERE m.why IS NOT NULL"
            " ORDER BY m.account_id, m.edge_id, m.route_id"
            " LIMIT $4::bigint"
        ") AS c ON true"
        " ORDER BY c.account_id, c.edge_id, c.route_id",
};

enum review_column {
    COLUMN_REVIEWED,
    COLUMN_CLOSED_ACCOUNT,
    COLUMN_CLOSED_EDGE,
    COLUMN_CLOSED_ROUTE,
    COLUMN_CLOSED_PROVIDER,
    COLUMN_WHY
};

static const struct pg_statement count_ended_statement = {
    .name = "gate_count_ended",
    .types = PG_BIGINT,
    .sql =
        "SELECT count(*) FROM ("
            "SELECT FROM adit.gate_session WHERE ends_at < now() - interval '1 hour' LIMIT 100000"
        ") AS ended",
    .distributed_sql =
        "SELECT count(*) FROM adit.gate_session WHERE ends_at < now() - interval '1 hour'",
};

/* clang-format on */

static bool read_review(const struct pg_result *result, struct arena *arena,
                        struct gate_review *review)
{
    int n = pg_rows(result);

    *review = (struct gate_review){.n_reviewed = n > 0 ? pg_int(result, 0, COLUMN_REVIEWED) : 0,
                                   .has_more = n > STORE_GATE_CLOSED_MAX};
    for (int row = 0; row < n && row < STORE_GATE_CLOSED_MAX; row++) {
        struct gate_closed *item = &review->items[review->n];

        if (pg_is_null(result, row, COLUMN_WHY))
            continue;
        if (!pg_copy(result, row, COLUMN_CLOSED_ACCOUNT, arena, &item->account_id) ||
            !pg_copy(result, row, COLUMN_CLOSED_EDGE, arena, &item->edge_id) ||
            !pg_copy(result, row, COLUMN_CLOSED_ROUTE, arena, &item->route_id))
            return false;
        item->provider = (int)pg_int(result, row, COLUMN_CLOSED_PROVIDER);
        item->why = (enum gate_closed_why)pg_int(result, row, COLUMN_WHY);
        review->n++;
    }
    return true;
}

bool store_gate_review(struct pg *pg, const bool has_application[OAUTH_N_PROVIDERS],
                       struct arena *arena, struct gate_review *review, struct error *err)
{
    int64_t applications[OAUTH_N_PROVIDERS];
    int64_t unverified[OAUTH_N_PROVIDERS];
    size_t n_applications = 0;
    size_t n_unverified = 0;
    struct pg_params params = {.n = 0};
    struct pg_result *result;
    bool ok;

    for (int position = 1; position <= OAUTH_N_PROVIDERS; position++) {
        if (has_application[position - 1])
            applications[n_applications++] = position;
        if (!identity_provider_verifies(position))
            unverified[n_unverified++] = position;
    }
    pg_add_int(&params, STORE_GATE_REVIEWED);
    pg_add_ints(&params, applications, n_applications, true, arena);
    pg_add_ints(&params, unverified, n_unverified, true, arena);
    pg_add_int(&params, STORE_GATE_CLOSED_MAX + 1);
    if (!pg_run(pg, &review_statement, &params, &result, err))
        return false;
    ok = read_review(result, arena, review) || error_set(err, ERR_OUT_OF_MEMORY);
    pg_result_free(result);
    return ok;
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
