/* SPDX-License-Identifier: MIT */
/* Rows of adit.gate_session. */
#include "gate/row.h"

static struct keyring_place place_of_row(const struct gate_call *call, const char *purpose,
                                         struct text id)
{
    return (struct keyring_place){.column = purpose,
                                  .account_id = call->place.account_id,
                                  .ids = {call->place.edge_id, id},
                                  .position = call->place.provider};
}

bool row_keep(struct gate_call *call, const struct row_write *row, struct text *sealed,
              struct error *err)
{
    struct gate_lane *lane = call->lane;
    struct database *database = lane->worker->database;
    struct gate_write write = {
        .row = {.id = row->id}, .before = row->before, .ends_at = row->ends_at};
    const struct keyring_place place = place_of_row(call, row->purpose, row->id);
    struct pg *pg;
    bool is_kept = false;
    bool ok;

    *sealed = (struct text){.s = NULL};
    if (!keyring_seal(lane->worker->gate->keyring, &place, row->content, &lane->arena,
                      &write.row.key_id, &write.row.sealed, err))
        return false;
    pg = database_take(database, &lane->wait, call->place.account_id, err);
    if (!pg)
        return false;
    ok = store_gate_keep(pg, call->place.account_id, &write, &is_kept, err);
    database_give(database, pg, ok, err);
    if (ok && is_kept)
        *sealed = write.row.sealed;
    return ok;
}

bool row_find_all(struct gate_call *call, struct text_list ids, const struct gate_answer **answer,
                  struct error *err)
{
    struct gate_lane *lane = call->lane;
    struct gate_question question = call->question;
    struct gate_answer *found = arena_alloc(&lane->arena, sizeof *found);
    struct database *database = lane->worker->database;
    struct pg *pg;
    bool ok;

    *answer = found;
    if (!found)
        return error_set(err, ERR_OUT_OF_MEMORY);
    question.account_id = call->place.account_id;
    question.session_ids = ids;
    pg = database_take(database, &lane->wait, call->place.account_id, err);
    if (!pg)
        return false;
    ok = store_gate_ask(pg, &question, &lane->arena, found, err);
    database_give(database, pg, ok, err);
    return ok;
}

bool row_find(struct gate_call *call, struct text id, const struct gate_row **row,
              struct error *err)
{
    const struct gate_answer *answer;

    *row = NULL;
    if (!row_find_all(call, (struct text_list){.items = &id, .n = 1, .given = true}, &answer, err))
        return false;
    if (answer->n_rows > 0)
        *row = &answer->rows[0];
    return true;
}

bool row_open(struct gate_call *call, const char *purpose, const struct gate_row *row,
              struct text *content, struct error *err)
{
    const struct keyring_place place = place_of_row(call, purpose, row->id);

    return keyring_open(call->lane->worker->gate->keyring, &place, row->key_id, row->sealed,
                        &call->lane->arena, content, err);
}
