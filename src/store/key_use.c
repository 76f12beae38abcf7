/* SPDX-License-Identifier: MIT */
/* The table of uses, and the statement that stores them. */
#include "store/key_use.h"

#include <stdlib.h>
#include <string.h>

#include "base/ident.h"

/* With SLACK in the statement, what is stored is at most 5 minutes behind. */
#define INTERVAL_MS INT64_C(240000)
#define PAUSE_MS INT64_C(10000)
#define SLACK "interval '30 seconds'"

/* From this many keys on, the table is written before the interval has passed. */
#define MANY 512

/* A power of two.  A quarter stays free, so that a search ends soon. */
#define N_PLACES 1024

/* Accounts whose uses could not be written, where each is on a node of its own. */
#define MOST_FAILED 2

#define ADDRESS_SIZE 46 /* INET6_ADDRSTRLEN */

struct key_use {
    char account_id[IDENT_SIZE];
    char key_id[IDENT_SIZE]; /* "": a free place */
    char address[ADDRESS_SIZE];
    int64_t at_ms;
};

struct key_uses {
    size_t n;
    int64_t first_ms;  /* the earliest use that is noted */
    int64_t paused_ms; /* no write before this */
    struct key_use places[N_PLACES];
};

/* clang-format off */

/* $1 account_ids, $2 key_ids, $3 ages in ms, $4 addresses ('': unknown), row by row.  Where each account
 * has a place of its own, $1 is the only account.
 * Ages instead of times: the clocks of hosts differ.  Workers write in one order, so that none waits
 * for another in a circle.  A key that was deleted meanwhile is left out. */
static const struct pg_statement write_statement = {
    .name = "api_key_use_write",
    .types = PG_BIGINT,
    .writes = true,
    .is_repeatable = true,
    .sql =
        "WITH noted AS ("
            "SELECT k.account_id, k.id,"
              " pg_catalog.now() - n.age * interval '1 millisecond' AS used_at,"
              " nullif(n.address, '')::inet AS client_address"
            " FROM unnest($1::text[], $2::text[], $3::bigint[], $4::text[])"
              " AS n (account_id, id, age, address)"
            " JOIN adit.api_key AS k"
              " ON k.account_id = n.account_id COLLATE \"C\""
              " AND k.id = n.id COLLATE \"C\""
        "), written AS ("
            "INSERT INTO adit.api_key_use AS u"
              " (account_id, api_key_id, used_at, client_address)"
            " SELECT n.account_id, n.id, n.used_at, n.client_address"
            " FROM noted AS n"
            " WHERE NOT EXISTS (SELECT FROM adit.api_key_use AS e"
              " WHERE e.account_id = n.account_id"
              " AND e.api_key_id = n.id"
              " AND e.used_at > n.used_at - " SLACK ")"
            " ORDER BY n.account_id, n.id"
            " ON CONFLICT (account_id, api_key_id) DO UPDATE"
            " SET used_at = excluded.used_at,"
              " client_address = excluded.client_address"
            " WHERE u.used_at < excluded.used_at"
            " RETURNING u.api_key_id"
        ")"
        " SELECT count(*) FROM written",
};

/* clang-format on */

struct key_uses *key_uses_new(void)
{
    return calloc(1, sizeof(struct key_uses));
}

void key_uses_free(struct key_uses *uses)
{
    free(uses);
}

/* Returns the place of the key, or the free one that it may take. */
static struct key_use *place_of_key(struct key_uses *uses, struct text key_id)
{
    size_t i = text_hash(key_id) % N_PLACES;

    while (uses->places[i].key_id[0] && !text_eq(text_of(uses->places[i].key_id), key_id))
        i = (i + 1) % N_PLACES;
    return &uses->places[i];
}

static void keep_id(char out[IDENT_SIZE], struct text id)
{
    memcpy(out, id.s, id.len);
    out[id.len] = '\0';
}

void key_uses_note(struct key_uses *uses, struct text account_id, struct text key_id,
                   const char *address, int64_t at_ms)
{
    size_t address_len = address ? strlen(address) : 0;
    struct key_use *use;

    if (!key_id.len || key_id.len >= IDENT_SIZE || account_id.len >= IDENT_SIZE)
        return;
    use = place_of_key(uses, key_id);
    if (!use->key_id[0]) {
        if (uses->n == KEY_USES_MAX)
            return;
        if (uses->n == 0 || at_ms < uses->first_ms)
            uses->first_ms = at_ms;
        uses->n++;
        keep_id(use->account_id, account_id);
        keep_id(use->key_id, key_id);
    } else if (at_ms < use->at_ms) {
        return;
    }
    use->at_ms = at_ms;
    if (address_len >= sizeof use->address)
        address_len = 0;
    memcpy(use->address, address ? address : "", address_len);
    use->address[address_len] = '\0';
}

int64_t key_uses_due_ms(const struct key_uses *uses)
{
    int64_t due_ms = uses->first_ms + (uses->n < MANY ? INTERVAL_MS : 0);

    if (uses->n == 0)
        return INT64_MAX;
    return due_ms > uses->paused_ms ? due_ms : uses->paused_ms;
}

/* Moves what is noted into the arena.  Returns the first of *n uses, or NULL without memory. */
static struct key_use *take_all(struct key_uses *uses, struct arena *arena, size_t *n)
{
    struct key_use *taken = arena_array(arena, uses->n, sizeof *taken);

    *n = 0;
    if (!taken)
        return NULL;
    for (size_t i = 0; i < N_PLACES; i++) {
        if (uses->places[i].key_id[0])
            taken[(*n)++] = uses->places[i];
    }
    memset(uses->places, 0, sizeof uses->places);
    uses->n = 0;
    return taken;
}

/* Adds the four columns, or one account and three.  Returns false without memory. */
static bool add_uses(struct pg_params *params, const struct key_use *taken, size_t n, bool is_one,
                     int64_t now_ms, struct arena *arena)
{
    struct text_list columns[3];
    int64_t *ages = arena_array(arena, n, sizeof *ages);

    for (size_t i = 0; i < 3; i++) {
        columns[i] = (struct text_list){.n = n, .given = true};
        columns[i].items = arena_array(arena, n, sizeof *columns[i].items);
        if (!columns[i].items || !ages)
            return false;
    }
    for (size_t i = 0; i < n; i++) {
        columns[0].items[i] = text_of(taken[i].account_id);
        columns[1].items[i] = text_of(taken[i].key_id);
        columns[2].items[i] = text_of(taken[i].address);
        ages[i] = now_ms - taken[i].at_ms;
    }
    if (is_one)
        pg_add_text(params, text_of(taken[0].account_id));
    else
        pg_add_texts(params, columns[0], arena);
    pg_add_texts(params, columns[1], arena);
    pg_add_ints(params, ages, n, true, arena);
    pg_add_texts(params, columns[2], arena);
    return true;
}

static void note_again(struct key_uses *uses, const struct key_use *taken, size_t n)
{
    for (size_t i = 0; i < n; i++)
        key_uses_note(uses, text_of(taken[i].account_id), text_of(taken[i].key_id),
                      taken[i].address[0] ? taken[i].address : NULL, taken[i].at_ms);
}

static bool write_some(struct key_uses *uses, struct pg *pg, const struct key_use *taken, size_t n,
                       int64_t now_ms, struct arena *arena, struct error *err)
{
    struct pg_params params = {.n = 0};
    struct pg_result *result;

    if (!add_uses(&params, taken, n, pg_is_by_account(pg), now_ms, arena))
        error_set(err, ERR_OUT_OF_MEMORY);
    else if (pg_run(pg, &write_statement, &params, &result, err)) {
        pg_result_free(result);
        return true;
    }
    note_again(uses, taken, n);
    return false;
}

static int by_account(const void *a, const void *b)
{
    return strcmp(((const struct key_use *)a)->account_id, ((const struct key_use *)b)->account_id);
}

/* Two workers that wrote the same keys in different orders would wait for each other. */
static int by_account_and_key(const void *a, const void *b)
{
    int order = by_account(a, b);

    return order ? order
                 : strcmp(((const struct key_use *)a)->key_id, ((const struct key_use *)b)->key_id);
}

/* Writes account by account.  If one fails, its place may be away, so the others are written. After
 * MOST_FAILED that took their time in vain, the rest waits for the next write. */
static bool write_accounts(struct key_uses *uses, struct pg *pg, struct key_use *taken, size_t n,
                           int64_t now_ms, struct arena *arena, struct error *err)
{
    int n_failed = 0;
    size_t i;
    size_t end;

    qsort(taken, n, sizeof *taken, by_account_and_key);
    for (i = 0; i < n && n_failed < MOST_FAILED; i = end) {
        for (end = i + 1; end < n && by_account(&taken[i], &taken[end]) == 0;)
            end++;
        n_failed += !write_some(uses, pg, taken + i, end - i, now_ms, arena, err);
    }
    note_again(uses, taken + i, n - i);
    return n_failed == 0;
}

bool key_uses_write(struct key_uses *uses, struct pg *pg, int64_t now_ms, struct arena *arena,
                    struct error *err)
{
    struct key_use *taken;
    size_t n;

    uses->paused_ms = now_ms + PAUSE_MS;
    taken = take_all(uses, arena, &n);
    if (!taken)
        return error_set(err, ERR_OUT_OF_MEMORY);
    return pg_is_by_account(pg) ? write_accounts(uses, pg, taken, n, now_ms, arena, err)
                                : write_some(uses, pg, taken, n, now_ms, arena, err);
}
