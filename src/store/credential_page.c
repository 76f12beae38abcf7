/* SPDX-License-Identifier: MIT */
/* The statements of pages of credentials. */
#include "store/credential_page.h"

#include "store/key_walk.h"

/* clang-format off */

#define COLUMNS "c.id, c.account_id, c.owner_id, c.fingerprint, c.acl, " KEY_COUNTS
#define TYPES PG_TEXT PG_TEXT PG_TEXT PG_TEXT PG_TEXTS PG_BOOL

/* $1 account_id or NULL, $2 and $3 account_id and id of the last credential, $4 the most rows. */
#define THE_PAGE                                                                                   \
    " ($1::text IS NULL OR c.account_id = $1::text COLLATE \"C\")"                                 \
    " AND (c.account_id, c.id) > ($2::text COLLATE \"C\", $3::text COLLATE \"C\")"                 \
    " ORDER BY c.account_id, c.id"                                                                 \
    " LIMIT $4::bigint"

static const struct pg_statement page_statement = {
    .name = "credential_page",
    .types = TYPES,
    .sql =
        "SELECT " COLUMNS
        " FROM adit.ssh_credential AS c"
        " WHERE" THE_PAGE,
};

/* $5 fingerprint. */
static const struct pg_statement key_statement = {
    .name = "credential_page_of_key",
    .types = TYPES,
    .sql =
        "SELECT " COLUMNS
        " FROM adit.ssh_credential AS c"
        " WHERE c.fingerprint = $5::text COLLATE \"C\""
          " AND" THE_PAGE,
};

/* $1 account_id. */
static const struct pg_statement has_owners_statement = {
    .name = "credential_page_has_owners",
    .types = PG_BOOL,
    .sql =
        "SELECT EXISTS (SELECT FROM adit.principal AS p"
          " WHERE p.account_id = $1::text COLLATE \"C\")",
};

/* clang-format on */

bool credential_page_read(struct pg *pg, const struct credential_page *page,
                          struct pg_result **result, struct error *err)
{
    struct text first = text_of("");
    struct pg_params params = {.n = 0};

    /* No credential before the account's is looked at. */
    if (page->account_id.s)
        first = page->account_id;
    pg_add_text(&params, page->account_id);
    pg_add_text(&params, page->after_account_id.s ? page->after_account_id : first);
    pg_add_text(&params, page->after_id.s ? page->after_id : text_of(""));
    pg_add_int(&params, CREDENTIAL_PAGE_SIZE);
    if (!page->fingerprint.s)
        return pg_run(pg, &page_statement, &params, result, err);
    pg_add_text(&params, page->fingerprint);
    return pg_run(pg, &key_statement, &params, result, err);
}

bool credential_page_has_owners(struct pg *pg, struct text account_id, bool *has_owners,
                                struct error *err)
{
    struct pg_params params = {.n = 0};
    struct pg_result *result;

    pg_add_text(&params, account_id);
    if (!pg_run(pg, &has_owners_statement, &params, &result, err))
        return false;
    *has_owners = pg_bool(result, 0, 0);
    pg_result_free(result);
    return true;
}
