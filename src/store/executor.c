/* SPDX-License-Identifier: MIT */
/* The executor of callers' statements. */
#include "store/executor.h"

#include <stdio.h>
#include <string.h>

#include "base/base62.h"
#include "base/clock.h"

static size_t hint_place(const struct caller *caller)
{
    return caller->digest[0] % STORE_N_HINTS;
}

static bool copy_id(char out[IDENT_MAX + 1], struct text id)
{
    if (!id.s || id.len > IDENT_MAX)
        return false;
    memcpy(out, id.s, id.len);
    out[id.len] = '\0';
    return true;
}

/* Remembers the key's account and its use, and fills in the identity for the caller. */
static void learn_identity(struct store *store, const struct store_request *request,
                           const struct pg_result *result)
{
    const struct caller *caller = &request->caller;
    struct text account_id = pg_text(result, 0, CALLER_ACCOUNT_ID);
    struct account_hint *hint = &store->hints[hint_place(caller)];

    if (copy_id(hint->account_id, account_id))
        memcpy(hint->digest, caller->digest, sizeof hint->digest);
    if (store->uses)
        key_uses_note(store->uses, account_id, pg_text(result, 0, CALLER_KEY_ID),
                      request->client_address, clock_steady_ms());
    if (!caller->identity)
        return;
    copy_id(caller->identity->account_id, account_id);
    copy_id(caller->identity->key_id, pg_text(result, 0, CALLER_KEY_ID));
}

struct text executor_account_hint(const struct store *store, const struct caller *caller)
{
    const struct account_hint *hint = &store->hints[hint_place(caller)];

    if (!hint->account_id[0] || memcmp(hint->digest, caller->digest, sizeof hint->digest) != 0)
        return (struct text){0};
    return text_of(hint->account_id);
}

void executor_params(struct pg_params *params, const struct store_request *request)
{
    params->n = 0;
    params->has_place = false;
    params->failed = false;
    pg_add_bytes(params, request->caller.digest, sizeof request->caller.digest);
    if (request->caller.account_id[0])
        pg_add_text(params, text_of(request->caller.account_id));
    else
        pg_add_null(params);
}

void executor_write_params(struct pg_params *params, const struct store_request *request)
{
    const char *id = request->operation_id;
    const char *address = request->client_address;

    executor_params(params, request);
    if (address) {
        size_t size = strlen(id) + 1 + strlen(address) + 1;
        char *both = arena_alloc(request->arena, size);

        if (both)
            snprintf(both, size, "%s %s", id, address);
        else
            params->failed = true;
        id = both;
    }
    pg_add_text(params, text_of(id));
}

void executor_add_condition(struct pg_params *params, const struct store_request *request)
{
    const struct revisions *match = &request->condition.match;
    const struct revisions *none = &request->condition.none_match;

    pg_add_ints(params, match->items, match->n, match->given, request->arena);
    pg_add_ints(params, none->items, none->n, none->given, request->arena);
}

/* Frees a result whose rows are for nobody.  Returns false with the code in *err. */
static bool drop_rows(struct pg_result **result, enum error_code code, struct error *err)
{
    pg_result_free(*result);
    *result = NULL;
    return error_set(err, code);
}

bool executor_run_for(struct store *store, const char *account_id,
                      const struct pg_statement *statement, const struct pg_params *params,
                      struct pg_result **result, struct error *err)
{
    bool ok;

    *result = NULL;
    if (!pg_turn_to(store->pg, account_id, err))
        return false;
    ok = pg_run(store->pg, statement, params, result, err);
    pg_turn_end(store->pg, ok, err);
    return ok;
}

/* ---- statements ---- */

/* Tells the driver whose write follows: by the account that the key names, or by the key. */
static void tell_caller(struct store *store, const struct pg_statement *statement,
                        const struct caller *caller)
{
    const char *account_id = caller->account_id;

    if (statement->writes)
        pg_tell_caller(store->pg, account_id[0] ? crc32_of(account_id, strlen(account_id))
                                                : crc32_of(caller->digest, sizeof caller->digest));
}

bool executor_find(struct store *store, const struct pg_statement *statement,
                   const struct store_request *request, const struct pg_params *params,
                   struct pg_result **result, struct error *err)
{
    *result = NULL;
    /* Without an account, the database would not know its place. */
    if (pg_is_by_account(store->pg) && !request->caller.account_id[0])
        return error_set(err, ERR_KEY_UNKNOWN);
    tell_caller(store, statement, &request->caller);
    if (!executor_run_for(store, request->caller.account_id, statement, params, result, err))
        return false;
    if (pg_rows(*result) == 0)
        return drop_rows(result, ERR_KEY_UNKNOWN, err);
    learn_identity(store, request, *result);
    return true;
}

enum error_code executor_forbids(const struct store_request *request, bool writes,
                                 enum key_whose whose, const struct pg_result *result)
{
    enum key_kind kind =
        key_kind_of(pg_text(result, 0, CALLER_SCOPE), pg_bool(result, 0, CALLER_READ_ONLY));

    return key_kind_forbids(kind, request->keys, writes, whose);
}

bool executor_run(struct store *store, const struct pg_statement *statement,
                  const struct store_request *request, const struct pg_params *params,
                  struct pg_result **result, struct error *err)
{
    enum error_code code;

    if (!executor_find(store, statement, request, params, result, err))
        return false;
    code = executor_forbids(request, statement->writes, KEY_WHOSE_UNKNOWN, *result);
    return code == ERR_NONE || drop_rows(result, code, err);
}

bool executor_run_quick(struct store *store, const struct pg_statement *statement,
                        const struct store_request *request, const struct pg_params *params,
                        struct pg_result **result, struct error *err)
{
    *result = NULL;
    if (pg_is_by_account(store->pg))
        return true;
    tell_caller(store, statement, &request->caller);
    if (!pg_run(store->pg, statement, params, result, err))
        return false;
    if (pg_rows(*result) > 0) {
        learn_identity(store, request, *result);
        return true;
    }
    pg_result_free(*result);
    *result = NULL;
    return true;
}

enum change_column { COLUMN_CHANGED = CALLER_N_COLUMNS };
enum delete_column { COLUMN_IS_THERE = COLUMN_CHANGED + 1 };

/* Returns the error of a statement that changed no row. */
static enum error_code missed(const struct store_request *request, bool is_there,
                              enum error_code missing)
{
    const struct precondition *condition = &request->condition;

    if (!is_there && missing != ERR_NONE)
        return missing;
    if (is_there ? precondition_given(condition) : condition->match.given)
        return ERR_PRECONDITION_FAILED;
    return missing;
}

/* How a change ended. */
enum change_end {
    CHANGE_FAILED,
    CHANGE_LATE, /* failed, and only another run can tell why: it waited for a request that deleted
                  * the row or gave it to another owner, and looked at the row as it was before */
    CHANGE_DONE
};

/* Runs it once. */
static enum change_end try_change(struct store *store, const struct executor_change *change,
                                  const struct store_request *request,
                                  const struct pg_params *params, struct pg_result **result,
                                  struct error *err)
{
    enum error_code code = ERR_NONE;
    enum error_code of_others;
    bool is_there;
    bool is_others;
    bool is_late;

    if (!executor_run(store, change->statement, request, params, result, err))
        return CHANGE_FAILED;
    is_there = pg_bool(*result, 0, change->is_there);
    is_others = pg_bool(*result, 0, change->is_there + 1);
    of_others = executor_forbids(request, true, KEY_WHOSE_OTHERS, *result);
    is_late =
        is_there && !is_others && of_others != ERR_NONE && !precondition_given(&request->condition);
    if (is_others)
        code = of_others;
    else if (pg_is_null(*result, 0, COLUMN_CHANGED))
        code = missed(request, is_there, change->missing);
    if (code == ERR_NONE)
        return CHANGE_DONE;
    (void)drop_rows(result, code, err);
    return is_late ? CHANGE_LATE : CHANGE_FAILED;
}

bool executor_run_change(struct store *store, const struct executor_change *change,
                         const struct store_request *request, const struct pg_params *params,
                         struct pg_result **result, struct error *err)
{
    enum change_end end = try_change(store, change, request, params, result, err);

    if (end == CHANGE_LATE)
        end = try_change(store, change, request, params, result, err);
    return end == CHANGE_DONE;
}

bool executor_delete(struct store *store, const struct pg_statement *statement,
                     const struct store_request *request, const struct pg_params *params,
                     enum error_code missing, struct error *err)
{
    const struct executor_change change = {statement, COLUMN_IS_THERE, missing};
    struct pg_result *result;

    if (!executor_run_change(store, &change, request, params, &result, err))
        return false;
    pg_result_free(result);
    return true;
}
