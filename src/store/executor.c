/* SPDX-License-Identifier: MIT */
/* The executor of callers' statements. */
#include "store/executor.h"

#include <string.h>

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

/* Remembers the key's account, and fills in the identity for the caller. */
static void learn_identity(struct store *store, const struct caller *caller,
                           const struct pg_result *result)
{
    struct text account_id = pg_text(result, 0, CALLER_ACCOUNT_ID);
    struct account_hint *hint = &store->hints[hint_place(caller)];

    if (copy_id(hint->account_id, account_id))
        memcpy(hint->digest, caller->digest, sizeof hint->digest);
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
    params->failed = false;
    pg_add_bytes(params, request->caller.digest, sizeof request->caller.digest);
}

void executor_write_params(struct pg_params *params, const struct store_request *request)
{
    executor_params(params, request);
    pg_add_text(params, text_of(request->operation_id));
}

void executor_add_condition(struct pg_params *params, const struct store_request *request)
{
    const struct revisions *match = &request->condition.match;
    const struct revisions *none = &request->condition.none_match;

    pg_add_ints(params, match->items, match->n, match->given, request->arena);
    pg_add_ints(params, none->items, none->n, none->given, request->arena);
}

enum error_code executor_missed(const struct store_request *request, bool is_there,
                                enum error_code missing)
{
    const struct precondition *condition = &request->condition;

    if (!is_there && missing != ERR_NONE)
        return missing;
    if (is_there ? precondition_given(condition) : condition->match.given)
        return ERR_PRECONDITION_FAILED;
    return missing;
}

/* Frees a result whose rows are for nobody.  Returns false with the code in *err. */
static bool drop_rows(struct pg_result **result, enum error_code code, struct error *err)
{
    pg_result_free(*result);
    *result = NULL;
    return error_set(err, code);
}

bool executor_find(struct store *store, const struct pg_statement *statement,
                   const struct store_request *request, const struct pg_params *params,
                   struct pg_result **result, struct error *err)
{
    if (!pg_run(store->pg, statement, params, result, err))
        return false;
    if (pg_rows(*result) == 0)
        return drop_rows(result, ERR_KEY_UNKNOWN, err);
    learn_identity(store, &request->caller, *result);
    return true;
}

enum error_code executor_forbids(const struct store_request *request, bool writes,
                                 const struct pg_result *result)
{
    if (pg_bool(result, 0, CALLER_IS_GATEWAY) && !request->for_gateways)
        return ERR_KEY_GATEWAY;
    return writes && pg_bool(result, 0, CALLER_READ_ONLY) ? ERR_KEY_READ_ONLY : ERR_NONE;
}

bool executor_run(struct store *store, const struct pg_statement *statement,
                  const struct store_request *request, const struct pg_params *params,
                  struct pg_result **result, struct error *err)
{
    enum error_code code;

    if (!executor_find(store, statement, request, params, result, err))
        return false;
    code = executor_forbids(request, statement->writes, *result);
    return code == ERR_NONE || drop_rows(result, code, err);
}

enum delete_column { COLUMN_DELETED = CALLER_N_COLUMNS, COLUMN_IS_THERE };

bool executor_delete(struct store *store, const struct pg_statement *statement,
                     const struct store_request *request, const struct pg_params *params,
                     enum error_code missing, struct error *err)
{
    enum error_code code = ERR_NONE;
    struct pg_result *result;

    if (!executor_run(store, statement, request, params, &result, err))
        return false;
    if (pg_is_null(result, 0, COLUMN_DELETED))
        code = executor_missed(request, pg_bool(result, 0, COLUMN_IS_THERE), missing);
    pg_result_free(result);
    return code == ERR_NONE || error_set(err, code);
}
