/* SPDX-License-Identifier: MIT */
/* The rows that a later try locks. */
#include "ctl/document/plan_lock.h"

#include <stdlib.h>
#include <string.h>

#include "ctl/document/plan_change.h"
#include "store/document_lock.h"
#include "store/history.h"

static struct plan_lock lock_of(const struct plan_change *change)
{
    const struct document_row *row = &change->write.row;
    const struct document_entry *entry = &row->entry;
    struct plan_lock lock = {
        .kind = entry->kind, .account_id = row->account_id, .second = text_of("")};

    switch (entry->kind) {
    case DOCUMENT_ACCOUNT:
        lock.first = row->account_id;
        break;
    case DOCUMENT_PRINCIPAL:
        lock.first = entry->of.principal.id;
        lock.leaves = change->verb == DOCUMENT_DELETE;
        break;
    case DOCUMENT_CREDENTIAL:
        lock.first = entry->of.credential.input.id;
        break;
    default:
        lock.first = entry->of.module.place.edge_id;
        if (document_of_route(entry->kind))
            lock.second = entry->of.module.place.route_id;
    }
    return lock;
}

/* By account, and in it as rows are locked: owners before what they own. */
static int lock_order(const void *a, const void *b)
{
    const struct plan_lock *x = a;
    const struct plan_lock *y = b;
    int order = text_cmp(x->account_id, y->account_id);

    if (order == 0)
        order = (int)x->kind - (int)y->kind;
    if (order == 0)
        order = y->leaves - x->leaves;
    if (order == 0)
        order = text_cmp(x->first, y->first);
    return order ? order : text_cmp(x->second, y->second);
}

static bool has_lock(const struct plan_locks *locks, const struct plan_lock *lock)
{
    return locks->n > 0 &&
           bsearch(lock, locks->rows, locks->n, sizeof *locks->rows, lock_order) != NULL;
}

/* ---- adding ---- */

static bool keep_text(struct plan_locks *locks, struct text *text)
{
    text->s = arena_copy(&locks->arena, text->s, text->len);
    return text->s != NULL;
}

/* Sorts the rows, and keeps one of each. */
static void sort_locks(struct plan_locks *locks)
{
    size_t n = 0;

    if (locks->n > 0)
        qsort(locks->rows, locks->n, sizeof *locks->rows, lock_order);
    for (size_t i = 0; i < locks->n; i++) {
        if (n == 0 || lock_order(&locks->rows[n - 1], &locks->rows[i]) != 0)
            locks->rows[n++] = locks->rows[i];
    }
    locks->n = n;
}

bool plan_locks_add(struct plan_locks *locks, const struct plan *plan)
{
    size_t n_changes = plan->n_changes + plan->n_left;
    struct plan_lock *rows = reallocarray(locks->rows, locks->n + n_changes + 1, sizeof *rows);
    size_t n_before = locks->n;

    if (!rows)
        return plan_out_of_memory();
    locks->rows = rows;
    for (size_t i = 0; i < n_changes; i++) {
        const struct plan_change *change = plan->changes[i];
        struct plan_lock lock = lock_of(change);
        struct plan_locks known = {.rows = locks->rows, .n = n_before};

        if (change->verb == DOCUMENT_CREATE || has_lock(&known, &lock))
            continue;
        if (!keep_text(locks, &lock.account_id) || !keep_text(locks, &lock.first) ||
            !keep_text(locks, &lock.second))
            return plan_out_of_memory();
        locks->rows[locks->n++] = lock;
    }
    sort_locks(locks);
    return true;
}

/* ---- locking ---- */

/* Locks the rows from the first one on that one statement can lock.  Sets *n to how many. */
static bool lock_some(const struct plan_lock *rows, size_t n_rows, struct pg *pg, size_t *n,
                      struct error *err)
{
    struct text room[2][PLAN_BATCH];
    struct document_keys keys = {.ids = {.items = room[0], .given = true},
                                 .second = {.items = room[1], .given = true}};

    for (*n = 0; *n < n_rows && *n < PLAN_BATCH; ++*n) {
        const struct plan_lock *lock = &rows[*n];

        if (!text_eq(lock->account_id, rows->account_id) || lock->kind != rows->kind ||
            lock->leaves != rows->leaves)
            break;
        room[0][*n] = lock->first;
        room[1][*n] = lock->second;
    }
    keys.ids.n = keys.second.n = *n;
    return rows->leaves ? document_lock_leavers(pg, rows->account_id, keys.ids, err)
                        : document_lock_rows(pg, rows->kind, rows->account_id, &keys, err);
}

bool plan_locks_take(const struct plan_locks *locks, struct pg *pg, struct error *err)
{
    bool ok = true;
    size_t n = 0;

    for (size_t from = 0; ok && from < locks->n; from += n)
        ok = lock_some(locks->rows + from, locks->n - from, pg, &n, err);
    return ok;
}

/* ---- what is not locked ---- */

/* Whether nobody else can write the row of a change now. */
static bool is_locked(const struct plan_locks *locks, const struct plan_change *change)
{
    const struct document_entry *entry = &change->write.row.entry;
    struct plan_lock lock = lock_of(change);
    struct plan_lock owner = {.kind = DOCUMENT_PRINCIPAL,
                              .leaves = true,
                              .account_id = lock.account_id,
                              .second = text_of("")};

    if (change->verb == DOCUMENT_CREATE || has_lock(locks, &lock))
        return true;
    if (lock.kind == DOCUMENT_PRINCIPAL && !lock.leaves) {
        lock.leaves = true;
        return has_lock(locks, &lock);
    }
    if (lock.kind != DOCUMENT_CREDENTIAL || change->verb != DOCUMENT_DELETE)
        return false;
    owner.first = entry->of.credential.input.owner_id;
    return has_lock(locks, &owner);
}

void plan_locks_heed(const struct plan_locks *locks, struct plan *plan, bool *is_whole)
{
    size_t n = plan->n_changes;
    size_t n_kept = 0;
    struct plan_lock left;

    *is_whole = true;
    for (size_t i = 0; i < n; i++) {
        struct plan_change *change = plan->changes[i];

        if (!is_locked(locks, change)) {
            *is_whole = *is_whole && change->write.row.entry.kind > DOCUMENT_PRINCIPAL;
            continue;
        }
        plan->changes[i] = plan->changes[n_kept];
        plan->changes[n_kept++] = change;
    }
    plan->n_changes = n_kept;
    plan->n_left = n - n_kept;
    if (plan->n_left == 0 || !*is_whole)
        return;
    left = lock_of(plan->changes[n_kept]);
    plan_warn(plan,
              "another session changed %s%s%s%s after the command began, and that stays; 'aditctl "
              "diff' shows what the file says of it",
              left.first.s, left.second.len > 0 ? "/" : "", left.second.s,
              plan->n_left > 1 ? " and more" : "");
}

/* ---- who was quicker ---- */

/* Lists rows of an account: what changed, and whose credentials count. */
static void list_locks(const struct plan_lock *rows, size_t n, struct arena *arena,
                       struct history_suspects *suspects)
{
    suspects->resources.items = arena_array(arena, n, sizeof *suspects->resources.items);
    suspects->owners.items = arena_array(arena, n, sizeof *suspects->owners.items);
    for (size_t i = 0; suspects->resources.items && suspects->owners.items && i < n; i++) {
        struct text resource = rows[i].first;

        if (document_of_route(rows[i].kind)) {
            struct buf path = {0};

            buf_printf(&path, "%s/%s", rows[i].first.s, rows[i].second.s);
            resource = text_of(path.failed ? NULL : arena_copy(arena, path.data, path.len));
            buf_free(&path);
        }
        if (resource.s)
            suspects->resources.items[suspects->resources.n++] = resource;
        if (rows[i].leaves)
            suspects->owners.items[suspects->owners.n++] = rows[i].first;
    }
}

void plan_locks_blame(const struct plan_locks *locks, struct pg *pg, int64_t last_ms,
                      struct buf *out)
{
    size_t n;

    for (size_t from = 0; out->len == 0 && from < locks->n; from += n) {
        struct history_suspects suspects = {.account_id = locks->rows[from].account_id,
                                            .resources = {.given = true},
                                            .owners = {.given = true}};
        struct arena arena = {0};
        struct pg_result *result = NULL;
        struct error ignored;

        for (n = 1; from + n < locks->n; n++) {
            if (!text_eq(locks->rows[from + n].account_id, suspects.account_id))
                break;
        }
        list_locks(locks->rows + from, n, &arena, &suspects);
        if (history_find_latest(pg, &suspects, last_ms, &result, &ignored) && pg_rows(result) > 0) {
            buf_printf(out, "the latest change was %s of %s, by %s", pg_text(result, 0, 0).s,
                       pg_text(result, 0, 1).s, pg_text(result, 0, 2).s);
            if (!pg_is_null(result, 0, 3))
                buf_printf(out, " with the API key %s", pg_text(result, 0, 3).s);
        }
        pg_result_free(result);
        arena_free(&arena);
    }
}

void plan_locks_free(struct plan_locks *locks)
{
    free(locks->rows);
    arena_free(&locks->arena);
}
