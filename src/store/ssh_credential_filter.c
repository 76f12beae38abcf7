/* SPDX-License-Identifier: MIT */
/* Filters of SSH credentials.
 *
 * A list is in the order of identifiers, which contain the time of their creation.  So a range of
 * created_at is also a range of identifiers, and the statement reads those alone.  A row that was
 * inserted with psql, or came from elsewhere, may have another created_at than its identifier says:
 * it is untimely.  A column says so, and an index has those rows (sql/schema.sql).  Those of the
 * range widen the range of identifiers, so no row is missed. */
#include "store/ssh_credential_filter.h"

#include "base/ident.h"
#include "store/executor.h"
#include "store/ssh_credential.h"

/* An identifier's time and created_at differ by at most 1.6 s in a row that is not untimely. */
#define MARGIN_MS 2000

/* Columns of the credential c. */
/* clang-format off */
const struct filter_member ssh_credential_filter_members[] = {
    SSH_CREDENTIAL_MEMBERS(FILTER_MEMBER, "c")
    {.name = NULL},
};
/* clang-format on */

/* The numbers of parameters; 0: there is none. */
struct bounds {
    int from;
    int until;
};

static void add_identifier(struct pg_params *params, int64_t ms, struct arena *arena)
{
    char *id = arena_alloc(arena, IDENT_SIZE);

    if (!id) {
        params->failed = true;
        return;
    }
    ident_first(id, IDENT_CREDENTIAL, ms);
    pg_add_text(params, text_of(id));
}

/* Writes the first or last identifier of the range's untimely rows.  HAVING keeps the planner from
 * looking for it in the primary key, row by row: it expects one soon. */
static void write_untimely(struct buf *sql, const char *min_or_max, const struct bounds *bounds)
{
    buf_printf(sql,
               "(SELECT %s(u.id) FROM adit.ssh_credential AS u"
               " WHERE u.account_id = " CALLER_ACCOUNT
               " AND " CALLER_IN_ACCOUNT("u") " AND NOT u.is_timely",
               min_or_max);
    if (bounds->from)
        buf_printf(sql, " AND u.created_at >= $%d::timestamptz", bounds->from);
    if (bounds->until)
        buf_printf(sql, " AND u.created_at < $%d::timestamptz", bounds->until);
    buf_puts(sql, " HAVING count(*) > 0)");
}

/* least() and greatest() pass over NULL: there is no untimely row. */
void ssh_credential_filter_write(const struct filter_node *root, struct buf *sql,
                                 struct pg_params *params, struct arena *arena)
{
    struct bounds bounds = {0};
    struct filter_range range;

    filter_find_range(root, "created_at", &range);
    if (range.has_from) {
        pg_add_time(params, range.from_us);
        bounds.from = params->n;
    }
    if (range.has_until) {
        pg_add_time(params, range.until_us);
        bounds.until = params->n;
    }
    if (range.has_from) {
        add_identifier(params, range.from_us / 1000 - MARGIN_MS, arena);
        buf_printf(sql, " AND c.id >= least($%d::text COLLATE \"C\", ", params->n);
        write_untimely(sql, "min", &bounds);
        buf_puts(sql, ")");
    }
    if (range.has_until) {
        add_identifier(params, range.until_us / 1000 + MARGIN_MS, arena);
        buf_printf(sql, " AND c.id <= greatest($%d::text COLLATE \"C\", ", params->n);
        write_untimely(sql, "max", &bounds);
        buf_puts(sql, ")");
    }
    buf_puts(sql, " AND ");
    (void)!filter_write_sql(root, sql, params, arena);
}
