/* SPDX-License-Identifier: MIT */
/* Logins that have begun: their cookies, their rows, and how many there may be. */
#include "gate/begun.h"

#include <stdlib.h>
#include <string.h>

#include "gate/row.h"
#include "gate/waiting.h"

static const struct text no_text = {.s = NULL, .len = 0};

/* ---- cookies ---- */

static struct text cookie_name(const struct gate_call *call, struct text id)
{
    struct buf name = {0};

    gate_call_cookie_name(call, &name, COOKIE_STATE);
    buf_add(&name, id.s, id.len < COOKIE_STATE_ID_LEN ? id.len : COOKIE_STATE_ID_LEN);
    return gate_call_keep(call, &name);
}

/* Writes a Set-Cookie header's value. */
static struct text write_login_cookie(struct gate_call *call, struct text name, struct text value,
                                      int64_t max_age_s)
{
    struct buf out = {0};
    const struct cookie cookie = {.name = name,
                                  .value = value,
                                  .path = GATE_PATH,
                                  .max_age_s = max_age_s,
                                  .is_secure = gate_call_is_secure(call)};

    if (!name.s)
        return no_text;
    cookie_write(&out, &cookie);
    return gate_call_keep(call, &out);
}

struct text begun_removal(struct gate_call *call, const struct login_state *state)
{
    return write_login_cookie(call, cookie_name(call, text_of(state->id)), text_of(""), 0);
}

/* ---- to the provider ---- */

/* A way back is worth less than a login: if it cannot be stored, the login leads to "/". */
static void keep_way_back(struct gate_call *call, struct text way_back, struct login_state *state)
{
    const struct row_write row = {.purpose = ROW_OF_LOGIN,
                                  .id = text_of(state->id),
                                  .content = way_back,
                                  .ends_at = state->issued + LOGIN_STATE_S};
    struct error err = {.code = ERR_NONE};
    struct text sealed;

    if (way_back.len <= LOGIN_WAY_BACK_IN_COOKIE_MAX || !login_way_back_valid(way_back))
        return;
    if (!waiting_may_keep(call))
        (void)error_cause(&err, ERR_INTERNAL, "too many of this address, or in all");
    else
        state->is_in_row = row_keep(call, &row, &sealed, &err) && sealed.s;
    if (!state->is_in_row)
        gate_call_log(call, LOG_LEVEL_WARNING, "cannot keep the way back", error_reason(&err),
                      NULL);
}

bool begun_make(struct gate_call *call, struct text way_back, struct login_state *state,
                struct text *set_cookie, struct error *err)
{
    struct buf value = {0};
    bool ok;

    if (!login_state_new(state, call->now, way_back))
        return error_cause(err, ERR_INTERNAL, "there are no random numbers");
    keep_way_back(call, way_back, state);
    ok = login_state_seal(call->lane->worker->gate->keyring, &call->place, state,
                          &call->lane->arena, &value, err);
    if (ok) {
        *set_cookie = write_login_cookie(call, cookie_name(call, text_of(state->id)),
                                         buf_text(&value), LOGIN_STATE_S);
        ok = (set_cookie->s && !value.failed) || error_set(err, ERR_OUT_OF_MEMORY);
    }
    buf_free(&value);
    return ok;
}

/* ---- how many ---- */

/* Cookies that are looked at.  More do not fit into a header that web servers accept. */
#define LOOKED_AT_MAX 64

struct found {
    struct text name;
    size_t len;     /* of name, '=' and value */
    int64_t issued; /* 0: it is of no login, and goes first */
};

static int by_age(const void *a, const void *b)
{
    const struct found *one = a;
    const struct found *other = b;

    return (one->issued < other->issued) - (one->issued > other->issued);
}

static size_t find_all(struct gate_call *call, struct found found[LOOKED_AT_MAX])
{
    const struct cookie_read *cookie;
    size_t place = 0;
    size_t n = 0;

    while (n < LOOKED_AT_MAX &&
           (cookie = cookie_next_state(&call->cookies, &place, call->cookie_prefix))) {
        struct login_state state;
        struct error err = {.code = ERR_NONE};
        bool is_good = login_state_open(call->lane->worker->gate->keyring, &call->place,
                                        cookie->value, &call->lane->arena, &state, &err);

        found[n++] = (struct found){.name = cookie->name,
                                    .len = cookie->name.len + 1 + cookie->value.len,
                                    .issued = is_good ? state.issued : 0};
    }
    return n;
}

void begun_make_room(struct gate_call *call, struct text set_cookie)
{
    struct found found[LOOKED_AT_MAX];
    size_t n = find_all(call, found);
    size_t n_bytes = set_cookie.len;
    size_t n_left = 1;

    qsort(found, n, sizeof found[0], by_age);
    for (size_t i = 0; i < n; i++) {
        n_bytes += found[i].len;
        if (n_left < BEGUN_COOKIES_MAX && n_bytes <= BEGUN_BYTES_MAX)
            n_left++;
        else
            gate_call_set_cookie(call, write_login_cookie(call, found[i].name, text_of(""), 0));
    }
}

/* ---- back from the provider ---- */

/* Reads the way back of a login that has a row.  Returns false with *err if nobody knows; one that
 * is gone, or cannot be opened any more, leads to "/". */
static bool read_way_back(struct gate_call *call, struct login_state *state, struct error *err)
{
    const struct gate_row *row = NULL;
    struct text way_back;

    if (!row_find(call, text_of(state->id), &row, err))
        return false;
    if (!row || row->has_ended)
        return true;
    if (row_open(call, ROW_OF_LOGIN, row, &way_back, err)) {
        if (login_way_back_valid(way_back))
            state->way_back = way_back;
        return true;
    }
    if (err->code == ERR_OUT_OF_MEMORY)
        return false;
    (void)error_set(err, ERR_NONE);
    return true;
}

bool begun_find(struct gate_call *call, struct text id, struct login_state *state,
                struct error *err)
{
    size_t place = 0;
    struct text name = cookie_name(call, id);
    struct text value;

    while (name.s && (value = cookie_next(&call->cookies, &place, name)).s) {
        if (login_state_open(call->lane->worker->gate->keyring, &call->place, value,
                             &call->lane->arena, state, err)) {
            if (text_eq(text_of(state->id), id))
                return login_state_lasts(state, call->now) &&
                       (!state->is_in_row || read_way_back(call, state, err));
        } else if (err->code != ERR_NONE) {
            return false;
        }
    }
    return false;
}

bool begun_use(struct gate_call *call, const struct login_state *state, struct error *err)
{
    struct database *database = call->lane->worker->database;
    struct pg *pg;
    bool is_first = false;
    bool ok;

    if (!waiting_may_use(call))
        return error_cause(err, ERR_INTERNAL, "too many logins of this address in 10 minutes");
    pg = database_take(database, &call->lane->wait, call->place.account_id, err);
    if (!pg)
        return false;
    ok = store_gate_use(pg, call->place.account_id, text_of(state->id),
                        state->issued + LOGIN_STATE_S, &is_first, err);
    database_give(database, pg, ok, err);
    return ok && (is_first || error_set(err, ERR_NONE));
}
