/* SPDX-License-Identifier: MIT */
/* Tests of filters in SQL, on a real PostgreSQL. */
#include "store/executor.h"
#include "store/filter.h"

#include <check.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "store/ssh_credential_filter.h"
#include "store/tried.h"
#include "suites.h"

/* 2001-09-09T01:46:40Z, when the first credential was created. */
#define FIRST_MS (INT64_C(1000000000) * 1000)
#define HOUR_MS (INT64_C(3600) * 1000)

static const struct filter_node *parse(const char *source, const struct filter_member *members)
{
    const struct filter_node *root = NULL;

    ck_assert_msg(
        filter_parse(text_of(source), members, FIRST_MS * 1000, &tried.arena, &root, &tried.err),
        "%s: %s", source, tried.err.msg);
    return root;
}

/* ---- lists ---- */

/* Inserts a credential.  label: its public key.  id_ms: the time in its identifier.  rest: SQL of
 * owner_id, fingerprint, description, metadata and acl. */
static void have(const char *label, int64_t id_ms, int64_t created_ms, const char *rest)
{
    char id[IDENT_SIZE];
    char sql[1024];

    ident_first(id, IDENT_CREDENTIAL, id_ms);
    snprintf(sql, sizeof sql,
             "INSERT INTO adit.ssh_credential (account_id, id, public_key, key_type, created_at,"
             " owner_id, fingerprint, description, metadata, acl)"
             " SELECT '%s', '%s', '%s', 'ssh-ed25519',"
             " timestamptz '1970-01-01Z' + %lld * interval '1 ms', r.* FROM"
             " (VALUES ('%s', '%s', %s)) AS p (admin, member, r1, r2, r3, r4, r5),"
             " LATERAL (SELECT CASE r1 WHEN 'admin' THEN admin ELSE member END, r2, r3, r4,"
             " r5::text[]) AS r",
             tried.who.account[0], id, label, (long long)created_ms, tried.who.admin,
             tried.who.member, rest);
    database_run(tried.owner, sql);
}

#define F1 TRIED_FINGERPRINT("1")
#define F2 TRIED_FINGERPRINT("2")

/* e and f are untimely. */
static void have_some(void)
{
    have("a", FIRST_MS, FIRST_MS, "'admin', '" F1 "', 'edge', '', '{}'");
    have("b", FIRST_MS + HOUR_MS - 999, FIRST_MS + HOUR_MS,
         "'member', '" F1
         "', E'\\u00c9dg\\u00e9 \\U0001F600', 'a%b_c\\d''e\"f$1', '{bind:a,bind:*.b}'");
    have("c", FIRST_MS + 2 * HOUR_MS + 999, FIRST_MS + 2 * HOUR_MS,
         "'admin', '" F2 "', 'Edge', 'edge', '{bind:a}'");
    have("d", FIRST_MS + 24 * HOUR_MS, FIRST_MS + 24 * HOUR_MS + 999,
         "'member', '" F2 "', '', 'Z', '{\"\",bind:a}'");
    have("e", FIRST_MS - HOUR_MS, FIRST_MS + 2 * HOUR_MS + 500, "'admin', '" F2 "', 'e', '', '{}'");
    have("f", FIRST_MS + 48 * HOUR_MS, 0, "'admin', '" F2 "', 'f', '', '{}'");
}

/* Writes the labels of the credentials that a filter finds, newest first. */
static void list_labels(const struct store_request *request, struct ssh_credential_page page,
                        char labels[16])
{
    struct ssh_credential_list list = {0};

    tried.err = (struct error){.code = ERR_NONE};
    ck_assert_msg(store_ssh_credential_list(tried.store, request, &page, &list, &tried.err),
                  "%s %s", tried.err.msg, tried.err.cause);
    ck_assert_uint_lt(list.n, 16);
    for (size_t i = 0; i < list.n; i++)
        labels[i] = list.items[i].public_key.s[0];
    labels[list.n] = list.more ? '+' : '\0';
    labels[list.n + list.more] = '\0';
    ssh_credential_list_free(&list);
}

static void expect(const char *source, const char *wanted)
{
    struct ssh_credential_page page = tried_all;
    char labels[16];

    page.filter = parse(source, ssh_credential_filter_members);
    list_labels(&tried.admin, page, labels);
    ck_assert_msg(strcmp(labels, wanted) == 0, "%s: %s, not %s", source, labels, wanted);
}

/* The order of identifiers, newest first, is f d c b a e. */
static const struct {
    const char *filter;
    const char *found;
} cases[] = {
    {"true", "fdcbae"},
    {"false", ""},
    {"!(obj.description == 'edge')", "fdcbe"},
    /* Strings. */
    {"obj.fingerprint == '" F1 "'", "ba"},
    {"obj.fingerprint != '" F1 "'", "fdce"},
    {"obj.key_type == 'ssh-ed25519' && obj.metadata == 'Z'", "d"},
    {"obj.description == null", "d"},
    {"obj.metadata != ''", "dcb"},
    {"obj.description < obj.metadata", "dc"},
    {"obj.description == '\\u00c9dg\\u00e9 \\U0001F600'", "b"},
    {"obj.description > 'z'", "b"},
    {"obj.description >= 'e' && obj.description < 'f'", "ae"},
    {"obj.description <= 'Edge'", "dc"},
    {"obj.metadata == 'a%b_c\\\\d\\'e\"f$1'", "b"},
    {"obj.metadata.startsWith('a%b_')", "b"},
    {"obj.metadata.startsWith('a%b%')", ""},
    {"obj.metadata.contains('b_c\\\\d\\'')", "b"},
    {"obj.metadata.contains('b_d')", ""},
    {"obj.metadata.contains('$1')", "b"},
    {"obj.metadata.contains('')", "fdcbae"},
    {"obj.metadata.contains('e') && obj.metadata.endsWith('e')", "c"},
    {"obj.description.endsWith('\\u00e9 \\U0001F600')", "b"},
    {"obj.description.endsWith('longer than edge')", ""},
    {"'edges'.startsWith(obj.description) && obj.description != ''", "ae"},
    {"'an edge'.endsWith(obj.description)", "dae"},
    {"size(obj.description) == 6", "b"},
    {"size(obj.description) >= 4 && size(obj.metadata) < 1", "a"},
    /* Lists. */
    {"'bind:a' in obj.acl", "dcb"},
    {"'bind:_' in obj.acl || '{bind:a}' in obj.acl", ""},
    {"'' in obj.acl", "d"},
    {"obj.acl == null", "fae"},
    {"obj.acl != ['bind:a']", "fdbae"},
    {"obj.acl == ['bind:a', 'bind:*.b']", "b"},
    {"size(obj.acl) > 1", "db"},
    {"obj.description in ['edge', 'Edge', '\\'; --', '{', '\"', ',', '\\\\']", "ca"},
    {"obj.description in []", ""},
    /* Times, as the interface shows them. */
    {"obj.created_at == timestamp('2001-09-09T01:46:40Z')", "a"},
    {"obj.created_at == timestamp('2001-09-10T01:46:40Z')", "d"},
    {"obj.created_at != timestamp('2001-09-10T01:46:40Z')", "fcbae"},
    {"obj.created_at > timestamp('2001-09-10T01:46:40Z')", ""},
    {"obj.created_at >= timestamp(time.now).add('2h')", "dce"},
    {"obj.created_at < timestamp(time.now).subtract('1s')", "f"},
    {"obj.created_at >= timestamp('2001-09-09T02:00:00Z')"
     " && obj.created_at < timestamp('2001-09-09T04:00:00Z')",
     "cbe"},
    {"obj.created_at >= timestamp('2001-09-09T02:46:40Z')"
     " && obj.created_at < timestamp('2001-09-09T02:46:41Z')",
     "b"},
    {"obj.created_at < timestamp('1970-01-01T00:00:01Z')", "f"},
    {"obj.created_at > timestamp('0001-01-01T00:00:00Z')"
     " && obj.created_at < timestamp('9999-12-31T23:59:59Z')",
     "fdcbae"},
    {"!(obj.created_at < timestamp(time.now).add('1s')) && 'bind:a' in obj.acl", "dcb"},
    {"obj.created_at < timestamp(time.now) || obj.created_at > timestamp(time.now).add('3h')",
     "fd"},
    {"obj.created_at == obj.created_at", "fdcbae"},
};

START_TEST(found_by_a_filter)
{
    have_some();
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        expect(cases[i].filter, cases[i].found);
}
END_TEST

/* As many literals as a filter can have. */
START_TEST(longest_filters)
{
    static const char *const parts[] = {"'a' != 'b'", "obj.id.endsWith('')",
                                        "obj.created_at != timestamp('2002-01-01T00:00:00Z')"};

    have_some();
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
        /* The last has three operators, with its call and the one that joins it. */
        int n = i == 2 ? 21 : 32;
        struct buf source = {0};

        for (int j = 0; j < n; j++)
            buf_printf(&source, "%s%s", j > 0 ? " && " : "", parts[i]);
        expect(source.data, "fdcbae");
        buf_free(&source);
    }
}
END_TEST

START_TEST(pages)
{
    struct ssh_credential_page page = {.limit = 2, .most_bytes = SIZE_MAX};
    char labels[16];
    char id[IDENT_SIZE];

    have_some();
    page.filter =
        parse("obj.owner_id != '' && !(obj.description == 'Edge')", ssh_credential_filter_members);
    list_labels(&tried.reader, page, labels);
    ck_assert_str_eq(labels, "fd+");
    ident_first(id, IDENT_CREDENTIAL, FIRST_MS + 24 * HOUR_MS);
    page.before_id = text_of(id);
    list_labels(&tried.reader, page, labels);
    ck_assert_str_eq(labels, "ba+");
    ident_first(id, IDENT_CREDENTIAL, FIRST_MS + HOUR_MS - 999);
    page.before_id = text_of(id);
    list_labels(&tried.reader, page, labels);
    ck_assert_str_eq(labels, "ae");
    list_labels(&tried.other, page, labels);
    ck_assert_str_eq(labels, "");
}
END_TEST

START_TEST(unknown_key)
{
    struct ssh_credential_page page = tried_all;
    struct store_request request = tried.admin;
    struct ssh_credential_list list = {0};

    have_some();
    request.caller.digest[0] ^= 1;
    page.filter = parse("obj.id != ''", ssh_credential_filter_members);
    ck_assert(!store_ssh_credential_list(tried.store, &request, &page, &list, &tried.err));
    ck_assert_int_eq(tried.err.code, ERR_KEY_UNKNOWN);
    ssh_credential_list_free(&list);
}
END_TEST

/* ---- other members ---- */

static const struct filter_member others[] = {
    {"null_object", FILTER_OBJECT, "NULL::jsonb"},
    {"object", FILTER_OBJECT, "'{}'::jsonb"},
    {"yes", FILTER_BOOL, "c.id <> ''"},
    {"seven", FILTER_INT, "7"},
    {"slow", FILTER_STRING, "pg_catalog.pg_sleep(10)::text"},
    {.name = NULL},
};

static const struct {
    const char *filter;
    bool is_true;
} other_cases[] = {
    {"obj.null_object == null && obj.object != null", true},
    {"obj.null_object != null || obj.object == null", false},
    {"obj.yes", true},
    {"!obj.yes", false},
    {"obj.yes == true && obj.yes > false && !(obj.yes != true)", true},
    {"obj.seven == 7 && obj.seven > -9223372036854775808 && obj.seven < 9223372036854775807", true},
    {"obj.seven <= 6", false},
    {"size('\\u00c9') == 1 && 'a' < 'b' && 'Z' < 'a' && 1 <= 1", true},
};

START_TEST(members_of_every_type)
{
    struct ssh_credential_page page = tried_all;
    char labels[16];

    have("a", FIRST_MS, FIRST_MS, "'admin', '" F1 "', '', '', '{}'");
    for (size_t i = 0; i < sizeof other_cases / sizeof other_cases[0]; i++) {
        page.filter = parse(other_cases[i].filter, others);
        list_labels(&tried.admin, page, labels);
        ck_assert_msg(labels[0] == (other_cases[i].is_true ? 'a' : '\0'), "%s",
                      other_cases[i].filter);
    }
}
END_TEST

/* The server has stopped it. */
START_TEST(slow_filter)
{
    struct ssh_credential_page page = tried_all;
    struct ssh_credential_list list = {0};
    int64_t began_ms = clock_steady_ms();
    char labels[16];

    have_some();
    page.filter = parse("obj.slow == ''", others);
    ck_assert(!store_ssh_credential_list(tried.store, &tried.admin, &page, &list, &tried.err));
    ck_assert_int_eq(tried.err.code, ERR_FILTER_TOO_SLOW);
    ck_assert_str_eq(tried.err.sqlstate, "57014");
    ck_assert_ptr_nonnull(strstr(tried.err.msg, "created_at"));
    ck_assert_int_ge(clock_steady_ms() - began_ms, 2900);
    ck_assert_int_eq(database_number(tried.owner,
                                     "SELECT count(*) FROM pg_stat_activity"
                                     " WHERE state = 'active' AND usename = 'adit_tester'"),
                     0);
    /* The limit holds for that statement alone. */
    ck_assert_int_eq(database_number(tried.responder,
                                     "SELECT count(*) FROM pg_settings WHERE name IN"
                                     " ('plan_cache_mode', 'transaction_read_only')"
                                     " AND setting IN ('force_generic_plan', 'auto', 'off')"),
                     2);
    page.filter = NULL;
    list_labels(&tried.admin, page, labels);
    ck_assert_str_eq(labels, "fdcbae");
}
END_TEST

/* ---- the text of the statement ---- */

static void expect_sql(const char *source, const char *wanted, int n_params)
{
    struct pg_params params = {.n = 0};
    struct buf sql = {0};

    ck_assert(filter_write_sql(parse(source, ssh_credential_filter_members), &sql, &params,
                               &tried.arena));
    ck_assert_str_eq(sql.data, wanted);
    ck_assert_int_eq(params.n, n_params);
    buf_free(&sql);
}

START_TEST(literals_are_parameters)
{
    expect_sql("obj.id == \"'; DROP TABLE x; --\"",
               "((c.id COLLATE \"C\") = ($1::text COLLATE \"C\"))", 1);
    expect_sql("!('$1' in obj.acl) || obj.created_at < timestamp(time.now)",
               "((NOT (($1::text COLLATE \"C\") = ANY (c.acl))) OR"
               " ((c.created_at) < ($2::timestamptz)))",
               2);
    expect_sql("size(obj.acl) > 12 && obj.id.contains('x')",
               "(((cardinality((c.acl))) > ($1::bigint)) AND"
               " (0 < strpos((c.id COLLATE \"C\"), ($2::text COLLATE \"C\"))))",
               2);
}
END_TEST

START_TEST(too_many_parameters)
{
    struct pg_params params = {.n = PG_MAX_PARAMS};
    struct buf sql = {0};

    ck_assert(!filter_write_sql(parse("obj.id == ''", ssh_credential_filter_members), &sql, &params,
                                &tried.arena));
    buf_free(&sql);
}
END_TEST

/* In microseconds from FIRST_MS on; -1: none. */
static const struct {
    const char *filter;
    int64_t from, until;
} ranges[] = {
    {"true", -1, -1},
    {"obj.created_at >= timestamp(time.now)", 0, -1},
    {"obj.created_at > timestamp(time.now)", 1000000, -1},
    {"obj.created_at < timestamp(time.now)", -1, 0},
    {"timestamp(time.now).add('5s') >= obj.created_at", -1, 6000000},
    {"obj.created_at == timestamp(time.now)", 0, 1000000},
    {"obj.created_at != timestamp(time.now)", -1, -1},
    {"!(obj.created_at < timestamp(time.now))", -1, -1},
    {"obj.created_at < timestamp(time.now) || true", -1, -1},
    {"obj.id == '' && (obj.created_at < timestamp(time.now).add('9s')"
     " && obj.created_at >= timestamp(time.now).add('2s')) && obj.created_at >= timestamp(time.now)"
     " && obj.created_at < timestamp(time.now).add('8s')",
     2000000, 8000000},
};

START_TEST(ranges_of_a_time)
{
    for (size_t i = 0; i < sizeof ranges / sizeof ranges[0]; i++) {
        struct filter_range range;

        filter_find_range(parse(ranges[i].filter, ssh_credential_filter_members), "created_at",
                          &range);
        ck_assert_msg(range.has_from == (ranges[i].from >= 0) &&
                          range.has_until == (ranges[i].until >= 0),
                      "%s", ranges[i].filter);
        if (range.has_from)
            ck_assert_int_eq(range.from_us - FIRST_MS * 1000, ranges[i].from);
        if (range.has_until)
            ck_assert_int_eq(range.until_us - FIRST_MS * 1000, ranges[i].until);
    }
}
END_TEST

/* ---- the index of untimely rows ---- */

/* Identifiers that the responder makes are timely, up to the last that it may make. */
START_TEST(untimely_rows)
{
    static const struct {
        int64_t id_ms;
        int64_t created_ms;
        int n;
    } rows[] = {
        {FIRST_MS, FIRST_MS, 0},
        {FIRST_MS, FIRST_MS + 1001, 0},
        {FIRST_MS + 1001, FIRST_MS, 0},
        {FIRST_MS, FIRST_MS + 1700, 1},
        {FIRST_MS + 1700, FIRST_MS, 1},
        {INT64_C(4102444800000), INT64_C(4102444800000) + 1000, 0},
        {INT64_C(4102444800000), INT64_C(4102444800000) + 1700, 1},
        {0, 0, 0},
    };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        have("a", rows[i].id_ms, rows[i].created_ms, "'admin', '" F1 "', '', '', '{}'");
        database_run(tried.owner, "ANALYZE adit.ssh_credential");
        ck_assert_msg(database_number(tried.owner,
                                      "SELECT reltuples::bigint FROM pg_class"
                                      " WHERE relname = 'ssh_credential_untimely'") == rows[i].n,
                      "row %zu", i);
        database_run(tried.owner, "TRUNCATE adit.ssh_credential");
    }
}
END_TEST

/* What a row is taken for follows a change by hand, also one of the column itself. */
START_TEST(untimely_rows_after_a_change)
{
    static const struct {
        const char *change;
        int n;
    } changes[] = {
        {"created_at = created_at + interval '1 hour'", 1},
        {"is_timely = true", 1},
        {"created_at = created_at - interval '1 hour'", 0},
        {"is_timely = false", 0},
        {"id = 'sshcr_' || repeat('1', 27)", 1},
    };

    have("a", FIRST_MS, FIRST_MS, "'admin', '" F1 "', '', '', '{}'");
    for (size_t i = 0; i < sizeof changes / sizeof changes[0]; i++) {
        char sql[128];

        snprintf(sql, sizeof sql, "UPDATE adit.ssh_credential SET %s", changes[i].change);
        database_run(tried.owner, sql);
        ck_assert_msg(database_number(tried.owner, "SELECT count(*) FROM adit.ssh_credential"
                                                   " WHERE NOT is_timely") == changes[i].n,
                      "%s", changes[i].change);
    }
}
END_TEST

/* Returns the plan of a page under a filter, for a key that names its account or not. */
static struct pg_result *explain(const char *source, bool is_of_account)
{
    struct store_request request = tried.admin;
    struct pg_params params = {.n = 0};
    struct buf sql = {0};
    struct pg_statement statement = {.name = "explain", .types = PG_TEXT, .ad_hoc_ms = 3000};
    struct pg_result *result;

    if (!is_of_account)
        request.caller.account_id[0] = '\0';
    executor_params(&params, &request);
    buf_puts(&sql, "EXPLAIN (COSTS OFF) SELECT c.* FROM adit.ssh_credential AS c"
                   " WHERE c.account_id = " CALLER_ACCOUNT);
    ssh_credential_filter_write(parse(source, ssh_credential_filter_members), &sql, &params,
                                &tried.arena);
    buf_puts(&sql, " ORDER BY c.id DESC LIMIT 101");
    statement.sql = sql.data;
    ck_assert_msg(pg_run(tried.owner, &statement, &params, &result, &tried.err), "%s",
                  tried.err.cause);
    buf_free(&sql);
    return result;
}

/* The planner looks nowhere else. */
START_TEST(untimely_rows_are_found_by_their_index)
{
    database_run(tried.owner, "SET enable_seqscan = off");
    tried_have_many(1000, F1, "'{}'::text[]");
    /* As in most databases, most rows are timely. */
    database_run(tried.owner, "SET session_replication_role = replica;"
                              "UPDATE adit.ssh_credential SET is_timely = id !~ '7$';"
                              "SET session_replication_role = origin; ANALYZE adit.ssh_credential");
    for (int i = 0; i < 6; i++) {
        static const char *const filters[] = {
            "obj.created_at >= timestamp('2001-01-01T00:00:00Z')",
            "obj.created_at < timestamp('9001-01-01T00:00:00Z')",
            "obj.created_at == timestamp('2001-01-01T00:00:00Z')",
        };
        struct pg_result *result = explain(filters[i % 3], i < 3);
        bool is_there = false;

        for (int row = 0; row < pg_rows(result); row++) {
            struct text line = pg_text(result, row, 0);

            if (!memmem(line.s, line.len, " on ssh_credential u", 20))
                continue;
            is_there = memmem(line.s, line.len, "ssh_credential_untimely", 23);
            ck_assert_msg(is_there, "%s: %s", filters[i % 3], line.s);
        }
        ck_assert(is_there);
        pg_result_free(result);
    }
}
END_TEST

/* The account has 50 times as many rows as the planner believes. */
START_TEST(large_accounts_are_not_sorted)
{
    static const char *const filters[] = {
        "obj.created_at <= timestamp('9001-01-01T00:00:00Z') && obj.owner_id == 'x'",
        "obj.created_at == timestamp('2001-01-01T00:00:00Z')",
        "obj.owner_id == 'x' && obj.metadata.contains('y')",
    };
    const size_t n_filters = sizeof filters / sizeof filters[0];

    /* The session ends slow statements, and a busy machine is slow. */
    database_run(tried.owner, "SET statement_timeout = 0");
    database_run(tried.owner,
                 "SET session_replication_role = replica;"
                 "INSERT INTO adit.ssh_credential (account_id, id, owner_id, key_type, fingerprint,"
                 " public_key) SELECT 'a' || least(100, i / 100),"
                 " 'sshcr_' || lpad(i::text, 27, '0'), 'x', 'k', '" F1 "', 'k'"
                 " FROM generate_series(1, 20000) AS i ORDER BY random();"
                 "SET session_replication_role = origin; ANALYZE adit.ssh_credential");
    database_run(tried.owner, "RESET statement_timeout");
    for (size_t i = 0; i < 2 * n_filters; i++) {
        struct pg_result *result = explain(filters[i % n_filters], i < n_filters);

        for (int row = 0; row < pg_rows(result); row++) {
            struct text line = pg_text(result, row, 0);

            ck_assert_msg(!memmem(line.s, line.len, "Sort", 4), "%s: %s", filters[i % n_filters],
                          line.s);
        }
        pg_result_free(result);
    }
}
END_TEST

static void add_filters(Suite *suite, const char *name, SFun set_up_case)
{
    TCase *tcase = tcase_create(name);

    tcase_set_timeout(tcase, 60);
    tcase_add_checked_fixture(tcase, set_up_case, tried_tear_down);
    tcase_add_test(tcase, found_by_a_filter);
    tcase_add_test(tcase, longest_filters);
    tcase_add_test(tcase, pages);
    tcase_add_test(tcase, unknown_key);
    tcase_add_test(tcase, members_of_every_type);
    tcase_add_test(tcase, slow_filter);
    tcase_add_test(tcase, literals_are_parameters);
    tcase_add_test(tcase, too_many_parameters);
    tcase_add_test(tcase, ranges_of_a_time);
    tcase_add_test(tcase, untimely_rows);
    tcase_add_test(tcase, untimely_rows_after_a_change);
    tcase_add_test(tcase, untimely_rows_are_found_by_their_index);
    tcase_add_test(tcase, large_accounts_are_not_sorted);
    suite_add_tcase(suite, tcase);
}

Suite *store_filter_suite(void)
{
    Suite *suite = suite_create("store/filter");

    add_filters(suite, "filters", tried_set_up);
    add_filters(suite, "distributed filters", tried_set_up_distributed);
    return suite;
}
